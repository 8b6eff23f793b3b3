# Two commands for people: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
RUNTIME_STAMP := $(VENV)/.installed-runtime

.PHONY: demo test docs bench versions lint types plain format clean

# --no-compile: what is imported is compiled then; most of it never is
$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e '.[dev]'
	touch $(STAMP)

# The demo needs no development tools.
$(RUNTIME_STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e '.[words]'
	touch $(RUNTIME_STAMP)

# make demo TEXT="fracture of left femur, initial encounter"
demo: $(RUNTIME_STAMP)
	$(BIN)/taxolearn demo $(if $(TEXT),--text "$(TEXT)")

# bytecode is kept, whatever the shell says: dozens of processes would compile the same packages again
unexport PYTHONDONTWRITEBYTECODE

# one thread of linear algebra per worker: more wait for each other
test: export OPENBLAS_NUM_THREADS = 1
test: $(STAMP)
	$(MAKE) --no-print-directory --output-sync=target -j 2 lint types plain
	$(BIN)/python -m pytest -n 2 --dist worksteal --doctest-modules src tests

# the kernels as plain Python: what the compiler would hide is seen here
plain: $(STAMP)
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest tests/kernels

# The documentation site, strictly: a warning or a broken link is an error. Open docs/_build/index.html.
docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e '.[docs]'
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs docs/_build

# make bench DATA=folder: taxolearn beside its peers; docs/benchmarks.md and its plots are made of the results
bench: $(STAMP)
	@test -n "$(DATA)" || { echo "make bench needs the folder of the data sets: make bench DATA=folder"; exit 2; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e '.[bench]'
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
