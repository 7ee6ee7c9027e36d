# Every target makes what it needs: a virtual environment in .venv, and in it toolpick and the
# packages of one dependency group. Another place or Python: make test VENV=.venv312 PYTHON=python3.12

VENV ?= .venv
BIN := $(VENV)/bin
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore $(BIN)/python -m pip install -qq
ARGS ?=

export PYTHONUTF8 := 1

.PHONY: help demo test check format bench conformance clean

help:
	@echo "make demo         mount real servers and play three turns through a real client"
	@echo "make test         run all tests with coverage; ARGS=... goes to pytest"
	@echo "make check        formatting, lint, types"
	@echo "make format       mend what can be mended of these"
	@echo "make bench        measure speed against the floor, write the table"
	@echo "make conformance  run the official conformance suite, where npm can be had"
	@echo "make clean        remove everything that the other targets made"

demo: $(VENV)/demo.stamp
	@PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python benchmarks/demo.py $(ARGS)

test: $(VENV)/test.stamp
	@$(BIN)/python -m tests.clients.install
	@rm -f .coverage .coverage.*
	$(BIN)/coverage run -m pytest $(ARGS)
# Processes that tests kill leave halves of data files, which are of no use to anybody.
	@$(BIN)/python -W ignore -m coverage combine -q
	@rm -f .coverage.*
	@$(BIN)/coverage report $(if $(ARGS),--fail-under=0)

check: $(VENV)/test.stamp
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy

format: $(VENV)/test.stamp
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/test.stamp
	$(BIN)/python benchmarks/gateway/bench.py $(ARGS)

conformance: $(VENV)/test.stamp
	$(BIN)/python benchmarks/conformance.py $(ARGS)

clean:
	rm -rf $(VENV) lab build dist .coverage .coverage.* htmlcov
	rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find gateway selectors tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# The newest Python that toolpick supports and that really runs: a name on PATH may be a shim
# without a Python behind it, and some systems have venv without pip.
$(BIN)/python:
	@for name in $(or $(PYTHON),python3.13 python3.12 python3.11 python3); do \
	  if "$$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' \
	      >/dev/null 2>&1; then \
	    echo "making $(VENV) with $$("$$name" --version)"; \
	    "$$name" -m venv --clear $(VENV) && exit; \
	    exit 1; \
	  fi; \
	done; \
	echo "toolpick needs Python 3.11 or newer, with venv; set PYTHON to one" >&2; exit 1

$(VENV)/%.stamp: pyproject.toml | $(BIN)/python
	@echo "installing toolpick and the group '$*' into $(VENV)"
	@$(PIP) 'pip>=25.1'
	@$(PIP) --editable . --group $*
	@touch $@
