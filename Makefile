# Two commands do all the set-up: `make serve` and `make test`. `make help` lists the rest.
# The first Python that is new enough.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV   := .venv
BIN    := $(VENV)/bin
TSC    := $(VENV)/node/node_modules/.bin/tsc
UV     := $(shell command -v uv 2>/dev/null)

.DEFAULT_GOAL := help
.PHONY: help serve test lint types page-types layers check rest warm browser unit test-agents bench screenshots format clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-11s %s\n", $$1, $$2}'

# A stamp per set of extras: installing again happens only when pyproject.toml changes.
$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Serai needs Python 3.11 or newer: set PYTHON=/path/to/python"; exit 1; }
ifdef UV
	$(UV) venv --quiet --python $(PYTHON) $(VENV)
else
	$(PYTHON) -m venv $(VENV)
endif

define install
	$(if $(UV),$(UV) pip install --quiet --python $(BIN)/python,$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check) --editable '$(1)'
	@touch $@
endef

$(VENV)/.core: pyproject.toml | $(BIN)/python
	$(call install,.)

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(call install,.[dev])
	@touch $(VENV)/.core

serve: $(VENV)/.core ## set up and start the host
	$(BIN)/serai serve

# The types take one processor for as long as many tests take the other one.
test: $(VENV)/.dev ## set up, then lint, types, layers and tests
	@$(MAKE) --no-print-directory --jobs 3 types rest

rest: lint page-types layers warm browser
	@$(MAKE) --no-print-directory unit

check: lint types page-types layers

lint: $(VENV)/.dev ## ruff
	$(BIN)/ruff check
	$(BIN)/ruff format --check

# With room for what is young its garbage is looked for less often: a tenth of the time.
types: export NODE_OPTIONS := --max-semi-space-size=64

types: $(VENV)/.dev ## basedpyright, strict
	$(BIN)/basedpyright

page-types: ## tsc, strict, over the modules of the page
	@if command -v npm >/dev/null; then \
		test -x $(TSC) || npm install --silent --no-fund --no-audit --prefix $(VENV)/node typescript@7.0.2; \
		$(TSC) --project src/serai/web/page/tsconfig.json; \
	else echo "SKIPPED: the types of the page, for there is no npm"; fi

layers: $(VENV)/.dev ## imports point down only
	$(BIN)/lint-imports

# Compiled once, beside the types, and not by each worker and each program that the tests start.
warm unit: export PYTHONDONTWRITEBYTECODE :=

warm: $(VENV)/.dev
	@$(BIN)/python -m compileall -q src
	@$(BIN)/pytest --collect-only -q >/dev/null

# The tests of the page run in Debian's Chromium, or in one that is there.
browser:
	@command -v chromium chromium-browser google-chrome >/dev/null || { \
		test "$$(id -u)" = 0 && command -v apt-get >/dev/null && \
		{ apt-get install -qq -y chromium || { apt-get update -qq && apt-get install -qq -y chromium; }; } >/dev/null; \
	} || echo "SKIPPED: the tests of the page in a browser, for there is no Chromium and it cannot be installed"

unit: $(VENV)/.dev ## the tests alone
	$(BIN)/pytest --numprocesses auto --maxprocesses 4 --dist worksteal

test-agents: $(VENV)/.dev ## real agents from npm, on a real host without a network
	$(BIN)/python tests/real/run.py

bench: $(VENV)/.dev ## ratios against a peer or a limit; writes bench/results.json
	$(BIN)/python bench/run.py

screenshots: $(VENV)/.dev browser ## the pictures of the README, from the real page
	$(BIN)/python tools/screenshots.py

format: $(VENV)/.dev ## format the code
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean: ## remove what was built
	rm -rf $(VENV) dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
