# The commands of a checkout. Nothing but Python 3.11+ and make is needed; what else is wanted goes into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp
UV_COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"
BENCH ?=
export PYTHONSAFEPATH := 1

.PHONY: help setup demo test quick test-node test-guest lint format crds bench dashboards schema docs wheel sbom lock control-plane search soak replicas occurrences spark clean

help: ## say what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

setup: $(STAMP) ## make .venv from the hashed locks

$(STAMP): pyproject.toml requirements-bootstrap.lock requirements-dev.lock
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Treadle needs Python 3.11 or newer, this is " + sys.version)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-bootstrap.lock
	$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements-bootstrap.lock requirements-dev.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	touch $(STAMP)

demo: setup ## the embedded API server, a cluster of pretended nodes and a page to watch it
	$(BIN)/treadle demo

lint: setup ## style, types, import contracts, generated files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/codespell
	$(BIN)/treadle crds --check
	$(BIN)/treadle metrics --check
	$(BIN)/python charts/dashboards.py --check
	$(BIN)/python charts/schema.py --check

format: setup ## apply the formatter
	$(BIN)/ruff check --fix --quiet . || true
	$(BIN)/ruff format .

quick: setup ## the tiers that need no control plane
	$(BIN)/python -m pytest -m "not cluster"

test: setup lint ## every test; the cluster tier where there is a Go toolchain
	$(BIN)/python -m pytest -q -m "not cluster" -n 2
	$(BIN)/python tests/cluster/control_plane.py build-if-possible
	@if $(BIN)/python tests/cluster/control_plane.py ready; then $(BIN)/python -m pytest -q -m "cluster and not soak and not spark and not node" -n 2 --dist loadfile; fi
	$(MAKE) --no-print-directory test-node

test-node: setup ## the tests on a real kubelet, in namespaces of its own; they need root and Go, and say where they skip (TREADLE_NODE_TESTS)
	$(BIN)/python tests/node_tier/binaries.py build-if-possible
	$(BIN)/python -m pytest -q -m node tests/node_tier

test-guest: setup ## the tests on a real kubelet in a guest with cgroup v2, which QEMU runs (root, apt-get, 16 GiB of memory); ARGS are pytest's
	$(BIN)/python tests/node_tier/binaries.py build-if-possible
	$(BIN)/python tests/node_tier/guest.py $(ARGS)

search: setup ## the properties with 20 times as many examples, new ones (TREADLE_SEARCH)
	TREADLE_SEARCH=$${TREADLE_SEARCH:-20} $(BIN)/python -m pytest -q -n 2 tests/core tests/kube/test_accounting.py

soak: control-plane ## half an hour of churn and a fault every second on a real control plane (TREADLE_SOAK_SECONDS, TREADLE_SOAK_SEED)
	$(BIN)/python -m pytest -q -m soak tests/cluster/test_soak.py -s

replicas: control-plane ## ten minutes of 5,000 pods and two replicas that are killed, stopped and cut off at random (TREADLE_REPLICAS_SECONDS, _SEED, _PODS, _DISCIPLINE)
	$(BIN)/python -m pytest -q -m soak tests/cluster/test_replicas.py -s

occurrences: control-plane ## 24 occurrences of a reservation under a flood of other work and faults, under both disciplines (half an hour)
	$(BIN)/python -m pytest -q -m soak tests/cluster/test_occurrences.py -s

spark: control-plane ## Spark's own spark-submit on a real control plane, and a whole job on a real kubelet; needs Java, and downloads Spark
	$(BIN)/python tests/node_tier/binaries.py build-if-possible
	$(BIN)/uv pip install --quiet --python $(BIN)/python --target .spark --require-hashes -r tests/cluster/tools/spark.lock
	TREADLE_SPARK=.spark $(BIN)/python -m pytest -q -m spark tests/cluster/test_spark_submit.py tests/node_tier/test_spark.py -s

control-plane: setup ## build etcd, kube-apiserver and friends into the cache
	$(BIN)/python tests/cluster/control_plane.py build

bench: setup ## one JSON line for each benchmark; BENCH=cluster for one
	$(BIN)/python tests/bench/run.py $(BENCH)

crds: setup ## write crds/ from the models
	$(BIN)/treadle crds --write

dashboards: setup ## write the dashboards of the chart
	$(BIN)/python charts/dashboards.py --write

schema: setup ## write the schema of the chart's values
	$(BIN)/python charts/schema.py --write

docs: setup ## the documentation as a site, in build/site
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/site

wheel: setup ## the wheel, in dist; the same source gives the same bytes (SOURCE_DATE_EPOCH)
	$(BIN)/python -m hatchling build --target wheel --directory dist

sbom: setup ## what a release is made of, in dist as CycloneDX (SOURCE_DATE_EPOCH)
	$(BIN)/python release/sbom.py dist/treadle.cdx.json

lock: setup ## compile the locks again
	$(UV_COMPILE) -o requirements-bootstrap.lock requirements-bootstrap.in
	$(UV_COMPILE) -o tests/cluster/tools/spark.lock tests/cluster/tools/spark.in
	$(UV_COMPILE) -o requirements.lock pyproject.toml
	$(UV_COMPILE) --extra solver -o requirements-solver.lock -c requirements.lock pyproject.toml
	$(UV_COMPILE) --group dev -o requirements-dev.lock -c requirements.lock pyproject.toml requirements-build.in

clean: ## remove what setup made
	rm -rf $(VENV)
