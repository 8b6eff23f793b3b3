# Two commands for people: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
RUNTIME_STAMP := $(VENV)/.installed-runtime
BESIDE := $(VENV)/beside.log
WAITING := tests/browser tests/engines tests/serving tests/docs/test_package.py

.PHONY: demo test waiting docs bench versions lint types plain format clean

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	tools/install.sh $(BIN)/python dev
	touch $(STAMP)

# The demo needs no development tools.
$(RUNTIME_STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	tools/install.sh $(BIN)/python words
	touch $(RUNTIME_STAMP)

# make demo TEXT="fracture of left femur, initial encounter"
demo: $(RUNTIME_STAMP)
	$(BIN)/taxolearn demo $(if $(TEXT),--text "$(TEXT)")

# bytecode is kept, whatever the shell says: dozens of processes would compile the same packages again
unexport PYTHONDONTWRITEBYTECODE

# one thread of linear algebra per worker: more wait for each other
test: export OPENBLAS_NUM_THREADS = 1
# What computes runs on both cores; beside it run types, plain kernels, and the tests that mostly wait for others.
test: $(STAMP) lint
	@$(MAKE) --no-print-directory types plain waiting > $(BESIDE) 2>&1 & beside=$$!; trap 'kill $$beside' INT TERM; \
	$(BIN)/python -m pytest -p no:cacheprovider -n 2 --dist worksteal --doctest-modules src tests $(WAITING:%=--ignore=%); computed=$$?; \
	wait $$beside; waited=$$?; cat $(BESIDE); exit $$((computed + waited))

# tests of a cluster, a browser and a server, and of the package, whose types are known by then
waiting: $(STAMP)
	$(BIN)/python -m pytest $(WAITING)

# the kernels as plain Python: what the compiler would hide is seen here
plain: $(STAMP)
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest tests/kernels

# The documentation site, strictly: a warning or a broken link is an error. Open docs/_build/index.html.
docs: $(STAMP)
	tools/install.sh $(BIN)/python docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs docs/_build

# make bench DATA=folder: taxolearn beside its peers; docs/benchmarks.md and its plots are made of the results
bench: $(STAMP)
	@test -n "$(DATA)" || { echo "make bench needs the folder of the data sets: make bench DATA=folder"; exit 2; }
	tools/install.sh $(BIN)/python bench
	$(BIN)/python benchmarks/peers/run.py $(DATA) --install $(BENCH)
	$(BIN)/python benchmarks/peers/page.py

# the lowest and the newest versions of what is depended on
versions:
	$(PYTHON) tools/check_versions.py

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .peers .versions docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis
