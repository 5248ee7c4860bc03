# Every target works in a fresh clone and needs only Python 3.11+, pip, make and git.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SCALE ?= S
ENGINE ?= sqlite
ROUNDS ?= 1000
SEED ?= 1
CORPUS ?= $(or $(TMPDIR),/tmp)/hermes-bench-corpus
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PROJECTS := pyproject.toml hermes_store/pyproject.toml
RUNNABLE := $(VENV)/.runnable
READY := $(VENV)/.ready
# One more than there are cores: many tests wait for a terminal, a lock or a disk.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')

.PHONY: help demo demo-postgres test test-peer campaign bench bench-search bench-browser pictures recordings fmt check clean

help:
	@echo "make demo           open the browser on sample conversations"
	@echo "make demo-postgres  the same on a throw-away PostgreSQL server"
	@echo "make test           run linter, type checker and all tests"
	@echo "make check          run linter and type checker only"
	@echo "make test-peer      run the tests against the real hermes-agent"
	@echo "make campaign       kill, starve and mislead workers for ROUNDS rounds; nothing may be lost"
	@echo "make bench          run the benchmarks side by side with the real hermes-agent"
	@echo "make bench-search   benchmark search alone, cold and warm, on real text (SCALE=S or M)"
	@echo "make bench ENGINE=postgres  benchmark PostgreSQL beside SQLite (SCALE=S or M)"
	@echo "make bench-browser  benchmark the browser alone, on 100,000 sessions"
	@echo "make pictures       take the pictures and the film for README and docs"
	@echo "make recordings     record walks through the browser as asciinema files"
	@echo "make fmt            format the code and apply ruff's fixes"
	@echo "make clean          remove .venv and caches"

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; try PYTHON=python3.12")'
	@echo "Setting up $(VENV), about half a minute the first time …"
	@$(PYTHON) -m venv $(VENV)

# The demo needs the program alone: neither the development tools nor the chat's client.
$(RUNNABLE): $(PROJECTS) hermes_store/version.py | $(VENV)/bin/python
	@$(PIP) --editable ./hermes_store --editable .
	@touch $(RUNNABLE)

$(READY): $(PROJECTS) hermes_store/version.py | $(VENV)/bin/python
	@echo "Installing the program and its development tools, about a minute …"
	@$(PIP) --editable ./hermes_store --editable '.[dev]'
	@touch $(RUNNABLE) $(READY)

demo: $(RUNNABLE)
	@$(BIN)/hermes sessions browse --demo || [ $$? -eq 130 ]  # Ctrl+C is a way to leave

demo-postgres: $(READY)
	@$(BIN)/python examples/postgres_demo.py || [ $$? -eq 130 ]

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: check
	$(BIN)/pytest --numprocesses $(WORKERS) --dist loadgroup --quiet

test-peer: $(READY)
	$(BIN)/pytest -m peer --quiet

campaign: $(READY)
	$(BIN)/python -m tests.campaign --rounds $(ROUNDS) --seed $(SEED)

bench: $(READY)
	$(BIN)/python -m bench --scale $(SCALE) --corpus $(CORPUS) --engine $(ENGINE)

bench-search: $(READY)
	$(BIN)/python -m bench.search --scale $(SCALE) --seed $(SEED) --folder $(CORPUS)

bench-browser: $(READY)
	$(BIN)/python -m bench.browser

pictures: $(READY)
	$(BIN)/python docs/pictures/make.py
	$(BIN)/python docs/pictures/record.py

recordings: $(READY)
	rm -rf recordings
	HERMES_RECORD=recordings $(BIN)/pytest --quiet tests/e2e/test_walks.py

fmt: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
