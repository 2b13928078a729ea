# Needs make, git and Python 3.11 or later. All else goes into .venv, and what the tests borrow into .peers.
# PYTHON=/path/to/python3 chooses the interpreter; ARGS=... is passed on by demo, test, bench and chaos.

VENV   := .venv
PYTHON_IN_VENV := $(VENV)/bin/python
STAMP  := $(VENV)/.complete

# A checkout that was moved, or whose interpreter is gone, has a .venv that leads elsewhere: its stamp does not count.
ifneq ($(shell test -x $(PYTHON_IN_VENV) && cat $(STAMP) 2>/dev/null),$(CURDIR))
.PHONY: $(STAMP)
endif

.PHONY: help
help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r target text; do \
	    printf '  make %-7s %s\n' "$$target" "$$text"; done

.PHONY: venv
venv: $(STAMP)  ## make .venv with Pepsi and all that its tests, checks and benchmarks need

# A name on PATH proves nothing (version managers leave stand-ins there), so each candidate is asked for its version.
$(STAMP): setup.cfg
	@for python in $(PYTHON) python3.13 python3.12 python3.11 python3; do \
	    "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	        && exec "$$python" scripts/venv.py $(VENV); \
	done; \
	echo 'Pepsi needs Python 3.11 or later, and none was found as python3.13, python3.12, python3.11 or python3.' >&2; \
	echo 'Install one, or name it: make PYTHON=/path/to/python3' >&2; \
	exit 1

.PHONY: demo
demo: $(STAMP)  ## run Pepsi with a private database and send sample mail through it (ARGS=--stay keeps it up)
	@$(VENV)/bin/pepsi demo $(ARGS)

.PHONY: peers
peers: $(STAMP)  ## fetch the SMTP programs and sample mails that some tests use
	@$(PYTHON_IN_VENV) -m tests.peers

.PHONY: test
test: peers  ## run the tests (ARGS goes to pytest)
	@$(PYTHON_IN_VENV) -bb -W error -m pytest $(ARGS)

# All four run, whichever fails: one round shows everything that is to be mended.
.PHONY: lint
lint: $(STAMP)  ## check style, types and import contracts
	@status=0; \
	$(VENV)/bin/ruff check --quiet . || status=1; \
	$(VENV)/bin/ruff format --quiet --check . || status=1; \
	$(VENV)/bin/mypy --no-error-summary || status=1; \
	$(VENV)/bin/lint-imports --no-cache --no-logo || status=1; \
	exit $$status

.PHONY: bench
bench: $(STAMP)  ## measure (ARGS names the benchmarks; all by default)
	@$(PYTHON_IN_VENV) -m benchmarks $(or $(ARGS),all)

.PHONY: chaos
chaos: $(STAMP)  ## put mail through while things are killed, cut and suspended (ARGS="--seed 7 --seconds 3600")
	@$(PYTHON_IN_VENV) -bb -m tests.chaos $(ARGS)

.PHONY: clean
clean:  ## remove all that make made
	rm -rf $(VENV) $(VENV).lock .peers build dist *.egg-info .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find pepsi tests benchmarks twisted -name __pycache__ -prune -exec rm -rf {} +
	rm -f twisted/plugins/dropin.cache
