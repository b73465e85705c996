# `make demo` and `make test` set up what they need in $(VENV); nothing else is touched.
VENV ?= .venv
DEMO ?= demo-campaign
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: demo test lint torture bench clean help

help:
	@echo "make demo   run a small campaign from nothing to a proven result"
	@echo "make test   run the tests"
	@echo "make lint   style, types and the rule between the packages"
	@echo "make bench  what a candidate costs"

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; install it or give PYTHON=/path/to/python"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(INSTALLED)-demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[examples]"
	@touch $@

$(INSTALLED)-test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[examples,test,dev]"
	@touch $@ $(INSTALLED)-demo

demo: $(INSTALLED)-demo
	$(BIN)/evolve demo --folder $(DEMO)

test: $(INSTALLED)-test
	$(BIN)/python -m pytest -n auto --dist worksteal

lint: $(INSTALLED)-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

torture: $(INSTALLED)-test
	EVOLVE_TORTURE=1 $(BIN)/python -m pytest -n auto --dist worksteal -m slow tests

bench: $(INSTALLED)-test
	$(BIN)/python benchmarks/overhead.py

clean:
	rm -rf $(VENV) $(DEMO) build dist .coverage* .pytest_cache .mypy_cache .ruff_cache .hypothesis
