# Joinery: `make` lists the targets. Each does its own set-up; only Python 3.11+ and a JDK 17+ must be there.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

# Compiled modules are kept also where the environment says otherwise: else each of the hundreds of
# commands that tests start would compile them anew.
export PYTHONDONTWRITEBYTECODE :=

# Choose another interpreter with `make setup PYTHON=/path/to/python3.12`.
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3.14 python3; do \
	"$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& command -v "$$python" && break; done)
BIN := .venv/bin
READY := .venv/.ready
JAVA_BIN := $(if $(JAVA_HOME),$(JAVA_HOME)/bin/,)
PYTEST := $(BIN)/python -m pytest
N ?= 3000
CHANGES ?= 10000000
# How many processes run tests at once. Each starts a Spark session and servers of its own (about
# 4 GB in all) and waits for them a third of its time, hence one more than two cores, or two more
# where there is the memory.
MEMORY_KB := $(shell { sed -nE 's/^MemAvailable: +([0-9]+) kB/\1/p' /proc/meminfo; \
	awk '/^[0-9]/ {printf "%d\n", $$1 / 1024}' /sys/fs/cgroup/memory.max; } 2>/dev/null | sort -n | head -n1)
WORKERS ?= $(shell [ "$(or $(MEMORY_KB),0)" -ge 18000000 ] && echo 4 || echo 3)
# Whole files to a process, so that its session and servers are shared (those of rare servers go to
# the same, tests/conftest.py), and in the order of the folders: files of one long test come
# early, and the thousands of short ones fill the end.
SHARED := --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder
# What fails beside others on a busy machine is tried twice more, and the summary shows how it failed
# at first. What hangs fails by its name, not all with the limit of the whole, and is not tried again.
PATIENCE := --reruns 2 --timeout 1200 --rerun-except 'Timeout \(>'
KERNEL_SOURCES := $(shell find kernel/src -type f)
SEED ?=
TESTS ?= tests/unit tests/plans tests/conformance tests/oracle -m "not spark and not services and not exhaustive"

help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  \033[1m%-14s\033[0m %s\n", $$1, $$2}'

setup: $(READY) kernel classes ## Create .venv with the locked dependencies, build the kernel
	@$(if $(filter setup,$(MAKECMDGOALS)),echo "Ready. Next: source .venv/bin/activate",:)

$(READY): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Joinery needs Python 3.11 or newer with venv and pip (Debian: apt install python3-venv), or name one: make setup PYTHON=/path/to/python3" >&2; exit 2; }
	@test -x $(BIN)/python || "$(PYTHON)" -m venv .venv
	@echo "Installing the dependencies of requirements.lock into .venv (about a minute the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable .
	@touch $@

kernel: $(READY) jdk
	@$(BIN)/python -m joinery.spark.jar >/dev/null

classes: kernel
	@$(BIN)/python -m joinery.cli.class_archive

jdk:
	@version=$$($(JAVA_BIN)javac -version 2>&1 | sed -nE 's/^javac ([0-9]+).*/\1/p'); \
	[[ $${version:-0} -ge 17 ]] || { echo "Joinery needs a JDK 17 or newer: javac was $${version:-not found} (Debian: apt install openjdk-17-jdk-headless), or set JAVA_HOME" >&2; exit 2; }

demo: setup ## Watch UserProfile documents appear and change
	@$(BIN)/joinery demo

demo-real: setup ## The same straight from PostgreSQL into OpenSearch, started for it: make demo-real [ARGS=--kafka]
	@$(BIN)/joinery demo --real $(ARGS)

coffee-shop: setup ## The first example of streams: make coffee-shop [ARGS="--real"]
	@$(BIN)/python -m examples.coffee_shop $(ARGS)

social-network: setup ## The second example of streams: make social-network [ARGS="--real"]
	@$(BIN)/python -m examples.social_network $(ARGS)

web-traffic: setup ## Page views in a browser, corrected as stragglers come: make web-traffic [ARGS="--real"]
	@$(BIN)/python -m examples.web_traffic $(ARGS)

timeline: setup ## Timelines in a browser while people follow, post and delete: make timeline [ARGS="--real"]
	@$(BIN)/python -m examples.timeline $(ARGS)

alerts: setup ## Saved searches over listings in a browser, yours too: make alerts [ARGS="--real"]
	@$(BIN)/python -m examples.alerts $(ARGS)

fraud: setup ## Stolen cards, guessed passwords and hot machines in a browser: make fraud [ARGS="--real"]
	@$(BIN)/python -m examples.fraud $(ARGS)

bank: setup ## A bank folded from its log in a browser, a wrong view mended: make bank [ARGS="--real"]
	@$(BIN)/python -m examples.bank $(ARGS)

# A JVM of two minutes does without the second compiler at an eighth less.
JUNIT := JDK_JAVA_OPTIONS=-XX:TieredStopAtLevel=1 $(BIN)/python -m joinery.spark.jar --test

test: setup ## Run every test: the kernel's JUnit tests, then pytest
	@$(JUNIT)
	@$(PYTEST) $(SHARED) $(PATIENCE) --durations=25 --durations-min=5

# JUnit, where Java has changed since its tests last passed here.
kernel/build/.tested: $(KERNEL_SOURCES) $(READY)
	@$(JUNIT)
	@touch $@

check: setup kernel/build/.tested ## Lint, types, import contracts, unit tests: about a minute, one more after a change of Java
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(PYTEST) --collect-only -q tests >/dev/null || $(PYTEST) --collect-only -q tests
	@$(PYTEST) -q --numprocesses $(WORKERS) tests/unit tests/architecture

coverage: setup ## Show how much of the code tests run, without Spark and servers: make coverage [TESTS=tests]
	@mkdir -p build
	@$(PYTEST) -q $(SHARED) --cov --cov-report=json:build/coverage.json $(TESTS)
	@$(BIN)/python tests/covered.py build/coverage.json

format: $(READY) ## Format the Python sources, apply safe fixes
	@$(BIN)/ruff check --fix --quiet || true
	@$(BIN)/ruff format

golden: setup ## Rewrite the golden texts of tests/plans and the reference, then show what changed
	@JOINERY_GOLDEN=write $(PYTEST) -q tests/plans tests/unit/project || true
	@git --no-pager diff --stat -- tests/plans docs/project_file.md

oracle: setup ## Compare N random projects with the reference: make oracle N=3000 [SEED=17]
	@JOINERY_ORACLE=$(N) JOINERY_ORACLE_SEED=$(SEED) $(PYTEST) -q tests/oracle

exhaustive: setup ## The seeds, variants and kills that make test leaves out: every solution on Spark, all random projects
	@JDK_JAVA_OPTIONS="-Dseeds.times=5 -Drows=1500" $(BIN)/python -m joinery.spark.jar --test
	@$(PYTEST) $(SHARED) -m exhaustive tests

time: setup ## Run aggregates in eight settings (batches, kills, partitions); what they hold must be the same
	@$(PYTEST) --numprocesses $(WORKERS) --durations=10 -m time tests/time

chaos: setup ## Kill, suspend and damage real runs, and compare their documents
	@$(PYTEST) --numprocesses $(WORKERS) -m chaos tests

versions: setup ## Capture from PostgreSQL 15, 16 and 17, too
	@$(PYTEST) -m versions tests/services

churn: setup ## Insert and delete over 100,000 live rows; state must stay flat: make churn [CHANGES=1000000]
	@JOINERY_CHURN=$(CHANGES) $(PYTEST) -s -m churn tests/churn

bench: setup ## Measure in turns with a commit and peers: make bench [ROWS="kafka once"] [BASE=64b2a0d] [ROUNDS=3] [PROFILE=1]
	@$(BIN)/python -m bench.compare.run $(if $(ROWS),--rows "$(ROWS)") $(if $(SIDES),--sides "$(SIDES)") \
		$(if $(BASE),--base $(BASE)) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(SET),--set "$(SET)") \
		$(if $(PROFILE),--profile) $(ARGS)

nexmark: setup ## Nexmark's queries beside Flink, Spark and DuckDB: make nexmark [EVENTS=100000] [QUERIES=q5,q9] [SIDES=ours,flink]
	@$(BIN)/python -m bench.nexmark.run $(if $(EVENTS),--events $(EVENTS)) \
		$(if $(QUERIES),--queries $(QUERIES)) $(if $(SIDES),--sides $(SIDES)) $(ARGS)

flink-patterns: setup ## Random patterns in Flink SQL beside a plain matcher: make flink-patterns [ARGS="--patterns 20 --seed 7"]
	@$(BIN)/python -m tests.oracle.flink_patterns $(ARGS)

fleet: setup ## A hundred products over forty relations, in one group and in ten: make fleet [CHANGES=200000] [ARGS="--groups 1"]
	@$(BIN)/python -m bench.fleet.run $(if $(filter command line environment,$(origin CHANGES)),--changes $(CHANGES)) $(ARGS)

docs: setup ## Refresh the pages that are generated from the code
	@$(BIN)/python docs/generate.py

wheel: setup ## Build a wheel that carries the kernel into dist/
	@$(BIN)/python -m joinery.spark.jar --into kernel/build/wheel
	@$(BIN)/python -m pip wheel --quiet --no-build-isolation --no-deps --wheel-dir dist .
	@ls dist/*.whl

clean: ## Remove what is built, keep .venv
	@rm -rf build dist kernel/build src/joinery/_kernel .mypy_cache .ruff_cache .pytest_cache

.PHONY: help setup kernel classes jdk demo demo-real coffee-shop social-network web-traffic timeline alerts fraud bank test check coverage format golden oracle exhaustive time chaos versions churn bench nexmark flink-patterns fleet docs wheel clean
