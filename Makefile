# Each target creates the virtual environment that it needs; `make help` lists the targets.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
ZOO    := .venv-pettingzoo
GUESTS := .venv-guests
PACKAGE := .venv-package
OPENENV := .venv-openenv
LEROBOT := .venv-lerobot
RECIPES := .venv-recipes
ENVPOOL := .venv-envpool
TORCH := .venv-torch
RAY := .venv-ray
OTEL := .venv-otel
DOCS := .venv-docs
GROUPS := .venv-groups
FAULTS ?= 10000
FUZZ_SECONDS ?= 120
MAKES ?= 5000
STEP_SECONDS ?= 150
LABELS = --build-arg VERSION=$(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml) --build-arg REVISION=$(shell git rev-parse HEAD)
# Number of tests that run at once: `auto` is two for each processor, because most tests wait for other processes.
AT_ONCE ?= auto
PARALLEL = --at-once $(AT_ONCE)
# Compiled modules are kept, wherever make runs: a server's processes would compile all packages at each start.
export PYTHONDONTWRITEBYTECODE =

.DEFAULT_GOAL := help
# All targets that are not files.
.PHONY: $(shell sed -n 's/^\([a-z0-9-]*\):.*/\1/p' $(firstword $(MAKEFILE_LIST)))

help: ## Show this list.
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

# What stands beside the core: distributions of their own.
BESIDE := farm conformance dashboard integrations/openenv
PROJECTS := pyproject.toml $(BESIDE:%=%/pyproject.toml)

# A stamp file for each set of packages: an install runs again when pyproject.toml changes.
$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip

$(VENV)/.runtime: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --editable '.[server]'
	@touch $@

$(VENV)/.dev: $(PROJECTS) | $(VENV)/bin/python
	$(BIN)/pip install --quiet --editable '.[server,gymnasium]' $(BESIDE:%=--editable %) --group dev
	@touch $@ $(VENV)/.runtime

demo: $(VENV)/.runtime ## Train an agent on a remote CartPole and film it.
	$(BIN)/python examples/demo.py

test: $(VENV)/.dev ## Test every behaviour once, with real servers (5 minutes on two cores; AT_ONCE=1: one test at a time).
	$(BIN)/python -m pytest $(PARALLEL) -m 'not (slow or long)'

test-all: test test-rest test-languages ## Test everything: also all combinations, attacks, faults, farms and other languages (20 minutes on two cores).

test-rest: $(VENV)/.dev ## What `make test-all` runs after `make test`, and before `make test-languages`.
	EXAMPLES=all $(BIN)/python -m pytest $(PARALLEL) -m '(slow or hypothesis) and not long' --ignore=tests/languages

test-languages: $(VENV)/.dev ## Test the libraries in other languages with Python, those that are built (make build-cpp build-typescript).
	$(BIN)/python -m pytest $(PARALLEL) tests/languages

test-mutants: $(VENV)/.dev ## Change the core at random, 300 times, and list the changes that no test notices (an hour on two cores).
	$(BIN)/python -m tests.mutation

test-lowest: ## Run the tests with the oldest supported versions (PYTHON=python3.10 make test-lowest).
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/pip install --quiet --upgrade pip
	.venv-lowest/bin/pip install --quiet --editable '.[server,gymnasium]' $(BESIDE:%=--editable %) --group test --constraint tests/lowest.txt
	GRPC_CLIENT_CHANNEL_BACKUP_POLL_INTERVAL_MS=100 .venv-lowest/bin/python -m pytest $(PARALLEL)

$(GUESTS)/.ready: pyproject.toml
	$(PYTHON) -m venv $(GUESTS)
	$(GUESTS)/bin/pip install --quiet --upgrade pip
	$(GUESTS)/bin/pip install --quiet --editable '.[server,gymnasium]' --group test \
		'gymnasium[classic-control,toy-text,box2d,mujoco]' ale-py minigrid opencv-python-headless
	@touch $@

$(GROUPS)/.ready:
	$(PYTHON) -m venv $(GROUPS)/legacy
	$(GROUPS)/legacy/bin/pip install --quiet numpy==1.26.4 gymnasium==0.29.1 protobuf==6.31.1
	$(PYTHON) -m venv $(GROUPS)/protobuf5
	$(GROUPS)/protobuf5/bin/pip install --quiet numpy==1.26.4 protobuf==5.29.5
	@touch $@

test-groups: $(VENV)/.dev $(GROUPS)/.ready ## Serve groups whose interpreters have conflicting packages (Python 3.10 to 3.12; installs them).
	$(BIN)/python -m pytest -m long tests/groups

test-guests: $(GUESTS)/.ready ## Compare remote environments of six families with local ones (installs simulators).
	$(GUESTS)/bin/python -m pytest tests/guests

test-agents: $(VENV)/.dev ## Train PPO, DQN and SAC locally and remotely: the weights must be identical (installs torch).
	examples/install_sb3.sh $(BIN)/pip
	$(BIN)/python -m pytest tests/agents

$(ZOO)/.ready: pyproject.toml
	$(PYTHON) -m venv $(ZOO)
	$(ZOO)/bin/pip install --quiet --upgrade pip
	$(ZOO)/bin/pip install --quiet --editable '.[server,pettingzoo]' 'pettingzoo[butterfly,classic,sisl]' --group test
	@touch $@

test-pettingzoo: $(ZOO)/.ready ## Run PettingZoo's own tests on remote environments (installs its games).
	$(ZOO)/bin/python -m pytest tests/pettingzoo

$(PACKAGE)/.ready:
	$(PYTHON) -m venv $(PACKAGE)
	$(PACKAGE)/bin/pip install --quiet --upgrade pip
	$(PACKAGE)/bin/pip install --quiet build 'hatchling>=1.24' 'hatch-fancy-pypi-readme>=24.1' pytest pytest-timeout
	@touch $@

test-package: $(PACKAGE)/.ready ## Build the sdists and the wheels, and test them outside the checkout: client only, server, farm.
	$(PACKAGE)/bin/python -m pytest --confcutdir=tests/package tests/package

test-newcomer: ## Walk the paths of newcomers in a fresh copy, by the commands of the pages: student (installs torch), operator, author (ARGS=operator).
	$(PYTHON) -m tests.newcomer.run $(ARGS)

$(OPENENV)/.ready: pyproject.toml integrations/openenv/pyproject.toml
	$(PYTHON) -m venv $(OPENENV)
	$(OPENENV)/bin/pip install --quiet --upgrade pip
	$(OPENENV)/bin/pip install --quiet --editable '.[server]' --editable integrations/openenv --group test 'openenv>=0.10'
	@touch $@

test-openenv: $(OPENENV)/.ready ## Drive the bridge with OpenEnv's own client and validator (installs them).
	$(OPENENV)/bin/python -m pytest tests/openenv

$(LEROBOT)/.ready: pyproject.toml integrations/lerobot/pyproject.toml
	$(PYTHON) -m venv $(LEROBOT)
	$(LEROBOT)/bin/pip install --quiet 'lerobot[dataset,evaluation]>=0.6.1,<0.7' gym-pusht pytest pytest-timeout
	$(LEROBOT)/bin/pip install --quiet --editable '.[server,gymnasium]' --editable integrations/lerobot
	@touch $@

test-lerobot: $(LEROBOT)/.ready ## Evaluate with LeRobot, locally and remotely (PYTHON=python3.12; installs 6 GB).
	$(LEROBOT)/bin/python -m pytest tests/lerobot

TYPESCRIPT := client/typescript

$(TYPESCRIPT)/node_modules/.ready: $(TYPESCRIPT)/package-lock.json
	@command -v npm >/dev/null || { echo 'npm is not installed: the TypeScript library needs Node.js 20.8 or newer'; exit 1; }
	npm ci --prefix $(TYPESCRIPT) --ignore-scripts --no-audit --no-fund
	@touch $@

protos-typescript: $(TYPESCRIPT)/node_modules/.ready ## Regenerate the TypeScript code of the protos.
	npm run --prefix $(TYPESCRIPT) generate

build-typescript: protos-typescript
	npm run --prefix $(TYPESCRIPT) pretest

check-typescript: build-typescript
	git diff --exit-code -- $(TYPESCRIPT)/src/gen
	npm run --prefix $(TYPESCRIPT) lint
	npm test --prefix $(TYPESCRIPT) --ignore-scripts

test-typescript: $(VENV)/.dev check-typescript ## Check the TypeScript library: generated code, style, types, its own tests and tests with Python (installs npm packages).
	$(BIN)/python -m pytest -m 'long or not long' tests/languages -k typescript

CPP := client/cpp

build-cpp:
	$(CPP)/install_tools.sh
	cmake -S $(CPP) -B $(CPP)/build -G Ninja
	cmake --build $(CPP)/build

check-cpp: build-cpp
	git ls-files '$(CPP)/*.cc' '$(CPP)/*.h' '$(CPP)/*.hpp' | xargs clang-format --dry-run --Werror
	ctest --test-dir $(CPP)/build --output-on-failure

test-cpp: $(VENV)/.dev check-cpp ## Check the C++ library: format, its own tests and tests with Python (installs gRPC and tools on Debian).
	$(BIN)/python -m pytest -m 'long or not long' tests/languages -k "cpp or c_header"

lint-cpp: build-cpp ## Check the C++ library with clang-tidy (takes minutes).
	git ls-files '$(CPP)/src/*.cc' '$(CPP)/examples/*.cc' '$(CPP)/benchmarks/*.cc' | xargs -n 3 -P 2 clang-tidy -quiet -p $(CPP)/build

test-faults: $(VENV)/.dev ## Inject faults into processes, networks and disks, then soak: FAULTS random kills and cuts (networks need root).
	$(BIN)/python -m pytest -m 'long or not long' tests/faults
	for transport in unary stream direct-tcp direct-unix; do \
		$(BIN)/python -m tests.faults.soak --faults $$(($(FAULTS) / 4 + 1)) --transport $$transport || exit; \
	done
	for transport in stream direct-tcp; do \
		$(BIN)/python -m tests.faults.soak --faults $$(($(FAULTS) / 4 + 1)) --transport $$transport --window 4 || exit; \
		$(BIN)/python -m tests.faults.soak --faults $$(($(FAULTS) / 10 + 1)) --transport $$transport --tls || exit; \
		$(BIN)/python -m tests.faults.soak --faults $$(($(FAULTS) / 10 + 1)) --transport $$transport --packed 4 || exit; \
	done
	for transport in unary stream; do \
		$(BIN)/python -m tests.faults.soak --faults $$(($(FAULTS) / 10 + 1)) --transport $$transport --public || exit; \
	done
	$(BIN)/python -m tests.faults.soak_network --faults $$(($(FAULTS) / 4 + 1)) --outages 2

test-adversary: $(VENV)/.dev ## Attack servers from outside, including long attacks: lists, memory, processes, other clients.
	$(BIN)/python -m pytest -m 'long or not long' tests/adversary

test-conformance: $(VENV)/.dev ## Check the Python server against every sentence of the protocol, and servers with seeded defects.
	$(BIN)/python -m pytest -m 'long or not long' tests/conformance

support: $(VENV)/.dev $(TYPESCRIPT)/node_modules/.ready build-cpp ## Run the conformance suites on all libraries, and write docs/support.md.
	npm run --prefix $(TYPESCRIPT) pretest
	$(BIN)/python -m tests.conformance.support

endurance: $(VENV)/.dev ## Make and close MAKES environments, then step for STEP_SECONDS, with one and with eight per process: nothing may grow.
	$(BIN)/python -m tests.adversary.endurance --makes $(MAKES) --seconds $(STEP_SECONDS)
	$(BIN)/python -m tests.adversary.endurance --makes $(MAKES) --seconds $(STEP_SECONDS) --packed

farm-test: $(VENV)/.dev ## Kill, stop and restart servers and gateways of a farm, as processes (farm-test-containers: as containers).
	$(BIN)/python -m pytest -m 'long or not long' tests/farm

PAGE := tests/page

$(PAGE)/node_modules/.ready: $(PAGE)/package-lock.json
	$(PAGE)/install_chromium.sh
	npm ci --no-audit --no-fund --prefix $(PAGE)
	@touch $@

test-page: $(VENV)/.dev $(PAGE)/node_modules/.ready ## Drive the live page in Chromium (installs it on Debian); PICTURES=docs/images saves screenshots there.
	$(BIN)/python -m pytest -m 'long or not long' -rP $(PAGE)

farm-test-containers: $(VENV)/.dev ## Train through containers that are killed, paused and stopped; one DNS name for many; a farm on demand (needs `make image`).
	$(BIN)/pip install --quiet 'docker>=7'
	$(BIN)/python -m pytest -m 'long or not long' tests/containers

$(RAY)/.ready: pyproject.toml farm/pyproject.toml
	$(PYTHON) -m venv $(RAY)
	$(RAY)/bin/pip install --quiet --upgrade pip
	$(RAY)/bin/pip install --quiet --editable '.[ray,gymnasium]' --editable farm --group test
	@touch $@

test-ray: $(RAY)/.ready ## Remove nodes of a Ray cluster in the middle of training (installs Ray).
	$(RAY)/bin/python -m pytest -p no:unraisableexception tests/ray

$(OTEL)/.ready: pyproject.toml
	$(PYTHON) -m venv $(OTEL)
	$(OTEL)/bin/pip install --quiet --upgrade pip
	$(OTEL)/bin/pip install --quiet --editable '.[otel,gymnasium]' --group test
	@touch $@

test-otel: $(OTEL)/.ready ## Trace requests with OpenTelemetry, in memory and through a collector (installs its SDK).
	$(OTEL)/bin/python -m pytest tests/otel

# The API server, the controllers and the scheduler of Kubernetes, built once; CONTROL_PLANE names a folder that has them.
CONTROL_PLANE ?= out/control-plane

test-kubernetes: $(VENV)/.dev ## Validate the Kubernetes manifests, and run groups as pods on a real control plane (builds it with Go, which takes a quarter of an hour; installs etcd on Debian).
	$(BIN)/pip install --quiet 'kubernetes-validate>=1.30'
	$(BIN)/kubernetes-validate --strict $(filter-out %/kustomization.yaml,$(wildcard docker/kubernetes/*.yaml docker/kubernetes/on-demand/*.yaml))
	tests/kubernetes/build_control_plane.sh $(CONTROL_PLANE)
	ENVWIRE_CONTROL_PLANE=$(CONTROL_PLANE) $(BIN)/python -m pytest -m 'long or not long' tests/kubernetes

fuzz: $(VENV)/.dev ## Send random input to all code that reads a peer's bytes, for FUZZ_SECONDS.
	$(BIN)/python -W ignore -m tests.fuzz.fuzz --seconds $(FUZZ_SECONDS)
	if $(BIN)/pip install --quiet atheris; then \
		$(BIN)/python -W ignore -m tests.fuzz.guided --seconds $(FUZZ_SECONDS); \
	else \
		echo 'atheris is not built for this platform: no fuzzing guided by coverage'; \
	fi

lint: $(VENV)/.dev ## Check style, types, imports, protos and Dockerfiles.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pyright
	$(BIN)/lint-imports
	cd protos && ../$(BIN)/buf lint && ../$(BIN)/buf format --diff --exit-code
	$(BIN)/hadolint docker/*.Dockerfile

format: $(VENV)/.dev ## Format the code.
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	cd protos && ../$(BIN)/buf format --write

protos: ## Regenerate the Python code of the protos, and the tables of error reasons.
	protos/generate.sh

check-protos: protos ## Regenerate and fail on a difference.
	git diff --exit-code -- protos docs/protocol.md $(TYPESCRIPT)/src/reasons.ts $(CPP)/src/reasons.h
	@test -z "$$(git status --porcelain -- protos)"

vectors: $(VENV)/.dev ## Regenerate the golden vectors of protos/vectors.
	$(BIN)/python -m tests.vectors

bench: $(VENV)/.dev ## Measure a step: local, in process, unary and stream, compared with bare gRPC.
	$(BIN)/python benchmarks/step.py

bench-device: ## Measure steps of environments on a GPU, with their arrays there and not, and faults (torch and cuda-bindings; small and in host memory without a GPU).
	python3 -m benchmarks.device

test-cuda: ## Test arrays on a GPU with the packages of `python3` (needs a GPU, cuda-bindings, and torch, JAX or CuPy; skips otherwise).
	python3 -m pytest tests/device/test_cuda.py -rs

bench-wide-area: $(VENV)/.dev ## Measure steps and chunks over a path with a round trip of 50 ms, beside what is possible.
	$(BIN)/python -m benchmarks.wide_area

bench-startup: $(VENV)/.dev ## Measure imports, the command line, and how long a server takes until it is ready.
	$(BIN)/python benchmarks/startup.py

bench-warm: $(VENV)/.dev ## Measure a Make with and without an environment made ahead.
	$(BIN)/python -m benchmarks.warm

bench-cores: $(VENV)/.dev ## Measure layouts of vectors, clients at once, and Makes, by the processors of this machine.
	$(BIN)/python -m benchmarks.cores

bench-codec: $(VENV)/.dev ## Measure each layer of the codec: steps with it and without it.
	$(BIN)/python benchmarks/codec_layers.py

bench-peers: $(VENV)/.dev ## Compare with raw TCP, grpcio, other projects and vector environments (installs them; ARGS=--quick).
	benchmarks/peers/install.sh $(PYTHON)
	$(BIN)/python -m benchmarks.peers --json out/peers.json --plot out/peers.svg $(ARGS)

walks: $(VENV)/.dev ## Count the files and functions that one step passes through.
	$(BIN)/python -m benchmarks.walks

example-sb3: $(VENV)/.dev ## Train PPO of stable-baselines3 on a remote CartPole (installs torch).
	examples/install_sb3.sh $(BIN)/pip
	$(BIN)/python examples/sb3_ppo.py

$(RECIPES)/.ready: pyproject.toml
	$(PYTHON) -m venv $(RECIPES)
	$(RECIPES)/bin/pip install --quiet --editable '.[server,gymnasium,pettingzoo]' \
		'minari[create,hdf5]>=0.5.4' 'supersuit>=3.11' 'pettingzoo[butterfly]>=1.27'
	@touch $@

examples: $(RECIPES)/.ready ## Run the examples for asyncio, inference ahead and JPEG, and the recipes that need no torch: Minari, recordings, SuperSuit, TRL's environment.
	$(RECIPES)/bin/python examples/aio_many_envs.py
	$(RECIPES)/bin/python examples/infer_ahead.py
	$(RECIPES)/bin/python examples/jpeg_camera.py
	for recipe in minari_dataset recorded_dataset pettingzoo_supersuit trl_environment; do \
		$(RECIPES)/bin/python examples/recipes/$$recipe.py || exit; \
	done

$(ENVPOOL)/.ready: pyproject.toml
	$(PYTHON) -m venv $(ENVPOOL)
	$(ENVPOOL)/bin/pip install --quiet --editable '.[server,gymnasium]' envpool
	@touch $@

example-envpool: $(ENVPOOL)/.ready ## EnvPool's CartPole as a native vector, beside EnvPool in one's own process (installs 750 MB).
	$(ENVPOOL)/bin/python examples/recipes/envpool_vector.py

$(TORCH)/.ready: pyproject.toml examples/install_sb3.sh
	$(PYTHON) -m venv $(TORCH)
	$(TORCH)/bin/pip install --quiet --editable '.[server,gymnasium]'
	examples/install_sb3.sh $(TORCH)/bin/pip
	$(TORCH)/bin/pip install --quiet ale-py opencv-python-headless 'torchrl>=0.14' 'tianshou>=2' 'skrl>=2' \
		'ray[rllib]>=2.60' tyro tensorboard
	@touch $@

example-atari: $(TORCH)/.ready ## PPO of stable-baselines3 on a remote Breakout (this and the next six targets share an environment of 6 GB).
	$(TORCH)/bin/python examples/recipes/atari.py

example-cleanrl: $(TORCH)/.ready ## CleanRL's ppo.py, unchanged: CLEANRL=path/to/cleanrl/ppo.py.
	$(TORCH)/bin/python examples/recipes/cleanrl_ppo.py $(CLEANRL)

example-torchrl: $(TORCH)/.ready ## TorchRL: one environment, a vector, its collector.
	$(TORCH)/bin/python examples/recipes/torchrl_rollouts.py

example-tianshou: $(TORCH)/.ready ## A DQN of Tianshou collects and learns.
	$(TORCH)/bin/python examples/recipes/tianshou_dqn.py

example-skrl: $(TORCH)/.ready ## skrl's wrapper around one and around a vector.
	$(TORCH)/bin/python examples/recipes/skrl_random.py

example-device: $(TORCH)/.ready ## PPO in torch on CartPoles in torch, on a GPU if there is one, and the same without a server: equal weights.
	$(TORCH)/bin/python -m examples.recipes.device_ppo

example-rllib: $(TORCH)/.ready ## PPO of RLlib with two runners.
	$(TORCH)/bin/python examples/recipes/rllib_ppo.py

example-node: $(VENV)/.runtime ## Drive an environment from Node.js with stock @grpc/grpc-js.
	$(BIN)/python examples/node/run.py

example-go: $(VENV)/.dev ## Drive an environment from Go with stock grpc-go (downloads modules).
	$(BIN)/python examples/stock_grpc.py go

example-java: $(VENV)/.dev ## Drive an environment from Java with stock grpc-java (downloads from Maven Central).
	$(BIN)/python examples/stock_grpc.py java

example-rust: $(VENV)/.dev ## Drive an environment from Rust with tonic (downloads crates).
	$(BIN)/python examples/stock_grpc.py rust

test-examples: $(VENV)/.dev ## Run the examples in other languages: Node, Go, Java, Rust; those whose tools are missing are skipped.
	$(BIN)/python -m pytest -rs -m 'long or not long' tests/languages/test_examples.py

image: ## Build the container images envwire-server, envwire-server-gl and envwire-proxy, labelled with version and revision.
	docker build --network host --file docker/server.Dockerfile --tag envwire-server $(LABELS) .
	docker build --network host --file docker/server.Dockerfile --tag envwire-server-gl --target gl $(LABELS) .
	docker build --network host --file docker/proxy.Dockerfile --tag envwire-proxy $(LABELS) .

image-test: $(VENV)/.runtime ## Build and run the Docker images (starts a Docker engine if none is running).
	docker/image-test.sh

$(DOCS)/.ready:
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/pip install --quiet 'mkdocs>=1.6,<2' 'mkdocs-material>=9.7,<10'
	@touch $@

docs: $(DOCS)/.ready ## Build the documentation site in out/site; a broken link between pages fails.
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict

clean: ## Remove everything that the other targets create.
	rm -rf $(VENV) .venv-lowest $(ZOO) $(GUESTS) $(PACKAGE) $(OPENENV) $(LEROBOT) $(RECIPES) $(ENVPOOL) $(TORCH) $(RAY) $(OTEL) $(DOCS) $(GROUPS) .venv-protos .venv-peers out examples/node/node_modules examples/go/build examples/go/envwire \
		examples/java/target examples/rust/target $(CPP)/build \
		$(TYPESCRIPT)/node_modules $(TYPESCRIPT)/dist $(TYPESCRIPT)/build
