# Needs git, make and a Python of at least 3.11; everything else goes into .venv.

PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11 python; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= auto
# Processes that tests run in; a file's tests stay together, for they may share a server or an environment.
PARALLEL := -n $(WORKERS) --dist loadfile

.PHONY: demo test test-fast lint gate clean

demo: $(VENV)/.installed  ## Plant violations in a copy of a small project and see the gate turn red
	cd fixtures/demo && $(abspath $(BIN))/concurrency-gate prove

test: $(VENV)/.installed-dev  ## All tests, also the heavy ones
	$(BIN)/python -m pytest $(PARALLEL) -m "heavy or not heavy" --timeout 900

test-fast: $(VENV)/.installed-dev
	$(BIN)/python -m pytest $(PARALLEL)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

gate: $(VENV)/.installed  ## The gate, on itself
	$(BIN)/concurrency-gate check

clean:
	rm -rf .venv .venv-* build dist *.egg-info .concurrency-gate-cache

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "concurrency-gate needs Python 3.11 or later; none was found" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/.installed
