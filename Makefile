# One door to everything; each target works from a bare clone and needs only Python 3.11+ and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
# e.g. make demo ARGS="--quick --seed 1"; make test ARGS="tests/world_models -x"
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help install demo test lint format bench clean

help: ## show this list
	@echo "make TARGET [ARGS=...] [PYTHON=python3.12]"
	@sed -nE 's/^([a-z]+):[^#]*## (.*)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 12

$(INSTALLED): pyproject.toml setup.cfg constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "wmrl needs Python 3.11 or newer; choose one with: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11"; exit 1; }
	@echo "==> creating $(VENV) and installing wmrl into it (once; PyTorch makes this a large download)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) \
		|| { echo "python -m venv failed: on Debian and Ubuntu, install python3-venv"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

install: $(INSTALLED) ## create .venv with the package and its development tools

demo: $(INSTALLED) ## train against the sandbox, the world model and its corrections; write wmrl-report.html
	$(BIN)/wmrl demo $(ARGS)

test: $(INSTALLED) ## run the tests; the whole suite also fails under 90 % line coverage of either package
ifeq ($(ARGS),)
	$(BIN)/python -m pytest --cov
	@for package in world_models wmrl_env; do \
		echo "==> coverage of $$package"; \
		$(BIN)/python -m coverage report --format=total --include="$$package/*" || exit 1; \
	done
else
	$(BIN)/python -m pytest $(ARGS)
endif

lint: $(INSTALLED) ## check style, formatting and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(INSTALLED) ## mend style and formatting
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(INSTALLED) ## run every benchmark; results go to benchmarks/results
	@for script in benchmarks/[a-z]*.py; do \
		echo "==> $$script $(ARGS)"; $(BIN)/python $$script $(ARGS) || exit 1; \
	done

clean: ## remove .venv and all that tools have left
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.* htmlcov
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
