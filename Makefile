# Everything a person does with this tree. `make` alone tells what there is.
# Set-up is done by each target that needs it, and takes no time when nothing changed.

ifndef PYTHON
PYTHON := $(shell for candidate in python3 python3.13 python3.12 python3.11; do \
	"$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& command -v "$$candidate" && break; done)
endif
VENV := .venv/bin
# More arguments for the program behind a target: make test ARGS="tests/frame -k lock"
ARGS ?=
# SCRIPT=1 runs the demo unattended: exit 0 only if all it promises really happened.
SCRIPT ?=

# Sandboxes need root. Somebody who is not root is asked by sudo, if there is one.
ROOT := $(if $(filter 0,$(shell id -u)),,$(shell command -v sudo))
KEPT := PERLICA_MODEL_BASE_URL,PERLICA_MODEL_NAME,PERLICA_MODEL_KEY_FILE
AS_ROOT := $(if $(ROOT),$(ROOT) --preserve-env=$(KEPT))

.DEFAULT_GOAL := help
.PHONY: help setup setup-run python demo test test-long check fix bench figures mutants doctor gate gate-full lock clean

help: ## what there is (this list)
	@echo "Perlica: an assistant for one trusted QQ group."
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "On a fresh machine begin with: make demo"

python:
	@test -n "$(PYTHON)" || { \
	echo "Perlica needs Python 3.11 or newer, and none was found."; \
	echo "Debian 12, Ubuntu 24.04: apt-get install python3   (or: make PYTHON=/path/to/python3.11 ...)"; \
	exit 1; }

setup: python ## install all that is needed: system packages, .venv, the native part
	@$(PYTHON) -m tools.setup --for test

setup-run: python
	@$(PYTHON) -m tools.setup --for run

demo: setup-run ## set up and run the whole service with stand-ins (SCRIPT=1: unattended)
	@$(AS_ROOT) $(VENV)/python -m perlica.app.demo $(if $(SCRIPT),--script) $(ARGS)

test: setup ## set up and run all tests; writes build/evidence.json (as root: all of them)
	@$(VENV)/python -m pytest $(ARGS)

test-long: setup ## the same without samples: every round, every point at which something is killed
	@$(VENV)/python -m pytest --long $(ARGS)

check: setup ## formatting, lint, types, import contracts, C warnings, the rules of CONTRIBUTING.md
	@$(VENV)/python -m tools.check $(ARGS)

fix: setup ## repair what the linter can repair, and format
	@$(VENV)/ruff check --quiet --fix-only .
	@$(VENV)/ruff format .

bench: setup ## measure; prints a table and writes build/bench.json
	@$(VENV)/python -m benchmarks $(ARGS)

figures: setup ## what the tree is like: places of a tool, circles, sizes (ARGS="--against REV")
	@$(VENV)/python -m tools.figures $(ARGS)

mutants: setup ## make small changes and count what the tests notice (hours; ARGS="--rooms domain --sample 40")
	@$(VENV)/python -m tools.mutants $(ARGS)

doctor: setup-run ## say what is wrong on this machine and what to do about it (ARGS="--lang en")
	@worst=0; for program in perlica sandboxd; do \
	echo "== $$program"; \
	$(VENV)/$$program doctor $(if $(findstring --lang,$(ARGS)),,--lang zh) $(ARGS) || { code=$$?; [ $$code -gt $$worst ] && worst=$$code; }; \
	done; exit $$worst

gate: setup-run ## check a real node for persistent root file systems (as root, about 4 minutes)
	@$(AS_ROOT) $(VENV)/python -m gate --reports build/gate $(ARGS)

gate-full: setup-run ## the same with 200 power cuts; writes the report that switches sandboxes on
	@$(AS_ROOT) $(VENV)/python -m gate --full --reports gate/reports $(ARGS)

lock: setup ## resolve the dependencies anew and write tools/requirements/*.txt
	@$(VENV)/python -m tools.lock $(ARGS)

clean: ## delete what was built and cached; keeps .venv and the demo's state
	@rm -rf build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	@rm -rf perlica.egg-info sandboxd/_*.so
	@find perlica actors sandboxd benchmarks tools tests -name __pycache__ -type d -prune -exec rm -rf {} +
