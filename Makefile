# make demo   set everything up and see the method work
# make test   set everything up and run all tests
# make fuzz   search for texts that break something, for SECONDS (default: 300); failures become tests
# make check  what every change must pass: format, lint, types, tests with larger samples of files

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
SECONDS ?= 300
DEMO := .cache/demo
# Pins what is installed, and what builds it.
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test fuzz check lint format bench clean

demo: $(READY)
	$(BIN)/python examples/demo.py $(DEMO)

test: $(READY)
	$(BIN)/python -m pytest -n auto --dist loadfile

check: export RARENAME_THOROUGH := 1
check: lint test

fuzz: $(READY)
	$(BIN)/python tests/fuzzing.py --seconds $(SECONDS)

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)
	$(BIN)/python benchmarks/parse_python.py
	$(BIN)/python benchmarks/prepare.py
	$(BIN)/python benchmarks/anonymize.py
	$(BIN)/python benchmarks/train_step.py
	$(BIN)/python benchmarks/check.py
	$(BIN)/python benchmarks/completion.py

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "rarename needs Python 3.11 or newer; choose one: make PYTHON=python3.12 …")'
	@echo "installing into .venv; this takes one to three minutes"
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $(READY)

clean:
	rm -rf .venv .cache build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
