# Every target works from a bare clone: it needs Python 3.11+, pip, make and git, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SCALE ?= S
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PROJECTS := pyproject.toml hermes_store/pyproject.toml
RUNNABLE := $(VENV)/.runnable
READY := $(VENV)/.ready

.PHONY: help demo test test-peer bench bench-browser pictures fmt check clean

help:
	@echo "make demo       open the browser on generated sample data"
	@echo "make test       lint, types, architecture and tests"
	@echo "make check      lint and types only"
	@echo "make test-peer  the tests that run against the real hermes-agent"
	@echo "make bench      measure, side by side with the real hermes-agent"
	@echo "make bench-browser  measure the browser alone, on 100,000 sessions"
	@echo "make pictures   take the pictures of the README from the real program"
	@echo "make fmt        format the code"

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; set PYTHON=python3.12 or so")'
	$(PYTHON) -m venv $(VENV)

# The demo needs the program alone; linters and test tools would make a first look take minutes.
$(RUNNABLE): $(PROJECTS) hermes_store/version.py | $(VENV)/bin/python
	$(PIP) --editable ./hermes_store --editable '.[chat]'
	@touch $(RUNNABLE)

$(READY): $(PROJECTS) hermes_store/version.py | $(VENV)/bin/python
	$(PIP) --editable ./hermes_store --editable '.[dev]'
	@touch $(RUNNABLE) $(READY)

demo: $(RUNNABLE)
	$(BIN)/hermes sessions browse --demo

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: check
	$(BIN)/pytest --numprocesses auto --dist loadgroup --quiet

test-peer: $(READY)
	$(BIN)/pytest -m peer --quiet

bench: $(READY)
	$(BIN)/python -m bench --scale $(SCALE)

bench-browser: $(READY)
	$(BIN)/python -m bench.browser

pictures: $(READY)
	$(BIN)/python docs/pictures/make.py

fmt: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
