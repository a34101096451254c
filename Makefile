# Every target sets up what it needs: `make test` works right after a clone.
#   PYTHON=python3.13   another interpreter        VENV=.venv-3.13   another place for it
#   JOBS=8              tests that run at once     ARGS='-k purge'   more arguments for the tool

PYTHON ?= python3
VENV := .venv
JOBS := 2
ARGS :=

BIN := $(VENV)/bin
READY := $(VENV)/ready
WARM := $(VENV)/warm
LOG := $(VENV)/setup.log
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check --no-input
UV := uv==0.13.7

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all browser bench figures lint golden docs lock clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | \
	  while IFS="$$(printf '\t')" read -r target what; do printf '  %-10s %s\n' "$$target" "$$what"; done

setup: $(WARM) ## Make .venv with all that the other targets need (they do it by themselves)
	@echo '$(VENV) is ready'

demo: $(WARM) ## Show what Penstock does, in a minute or two
	@$(BIN)/python examples/demo.py $(ARGS)

test: $(READY) ## Run the tests, but for the slow ones
	@$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup $(ARGS)

test-all: $(READY) ## Run all tests, with many more random cases
	@HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -m '' $(ARGS)

browser: ## Install the browser with which the page is tested; without one these tests are skipped
	@command -v chromium chromium-browser google-chrome google-chrome-stable || { \
	  command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] && apt-get update && apt-get install --yes chromium; } || { \
	  echo 'install Chromium, as in: sudo apt install chromium; or name one: PENSTOCK_CHROMIUM=/path/to/chromium' >&2; exit 1; }

bench: $(READY) ## Run the benchmarks one after the other
	@set -e; for script in bench/bench_*.py; do \
	  [ -e "$$script" ] || { echo 'no benchmarks yet'; exit 0; }; \
	  echo "$$script"; $(BIN)/python "$$script" $(ARGS); done

figures: $(READY) ## Draw the thesis's figures into docs/figures (ARGS='6.10 6.12' only some)
	@$(BIN)/python bench/figures $(ARGS)

lint: $(READY) ## Check format, style and types
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy

golden: $(READY) ## Rewrite all expected plans, messages and JSON of the tests; read the diff
	@PENSTOCK_GOLDEN=rewrite $(BIN)/python -m pytest tests/algebra tests/cli tests/docs/test_api_page.py tests/elimination tests/examples tests/refusals tests/register/test_golden.py tests/register/test_plans_golden.py tests/sql $(ARGS)

docs: $(READY) ## Build the documentation into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet $(ARGS)
	@echo 'open site/index.html'

lock: $(READY) ## Pin requirements/dev.in into dev.txt (ARGS=--upgrade takes newer versions)
	@$(PIP) install $(UV)
	@$(BIN)/uv pip compile requirements/dev.in --output-file requirements/dev.txt --quiet --universal \
	  --python-version 3.11 --generate-hashes --no-emit-index-url --custom-compile-command 'make lock' $(ARGS)

clean: ## Remove all that make made, .venv too
	@rm -rf $(VENV) site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

define CHECK_PYTHON
import sys
if not (3, 11) <= sys.version_info[:2] <= (3, 13):
    sys.exit(f"Penstock needs Python 3.11 to 3.13, but $(PYTHON) is {sys.version.split()[0]}: "
             "install one of them and name it, as in: make setup PYTHON=python3.13")
try:
    import ensurepip, venv
except ImportError:
    sys.exit("$(PYTHON) lacks venv or ensurepip: install them, as in: "
             f"apt install python3.{sys.version_info[1]}-venv")
endef
export CHECK_PYTHON

# Made last, so that a set-up that failed or was stopped starts again.
$(READY): requirements/dev.txt pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo 'no $(PYTHON) here: install Python 3.11 to 3.13' >&2; exit 1; }
	@$(PYTHON) -c "$$CHECK_PYTHON"
	@echo 'setting up $(VENV) (once, about a minute)'
	@rm -f $@
	@$(BIN)/python -c 'import pip' 2>/dev/null || $(PYTHON) -m venv --clear $(VENV)
	@{ $(PIP) install --require-hashes -r requirements/dev.txt && \
	  $(PIP) install --no-deps --no-build-isolation --editable . ; \
	} >$(LOG) 2>&1 || { cat $(LOG) >&2; echo 'set-up failed; the log is $(LOG)' >&2; exit 1; }
	@touch $@

# Kernels that were compiled are found by all processes; without this the first query of a kind waits for its own.
$(WARM): $(READY)
	@echo 'compiling kernels (once, a minute or less)'
	@$(BIN)/penstock warm --quiet
	@touch $@
