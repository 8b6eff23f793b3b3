# Two commands for people: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
RUNTIME_STAMP := $(VENV)/.installed-runtime

.PHONY: demo test lint types plain format clean

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

# one thread of linear algebra per worker: more wait for each other
test: export OPENBLAS_NUM_THREADS = 1
test: $(STAMP)
	$(MAKE) --no-print-directory --output-sync=target -j 2 lint types plain
	$(BIN)/python -m pytest -n 2 --dist worksteal --doctest-modules src tests

# the kernels as plain Python: what the compiler would hide is seen here
plain: $(STAMP)
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest tests/kernels

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
