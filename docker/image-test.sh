#!/usr/bin/env bash
# Builds the images, runs them, and tests them. Starts its own Docker engine if none is running.
#
# Needs bash 5 and either a running engine or root on Debian. Removes everything that it made at the end, except packages.
# Options are environment variables: PYTHON, an interpreter that has envwire (default .venv/bin/python).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=${PYTHON:-.venv/bin/python}
dockerfile=docker/server.Dockerfile
version=$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
revision=$(git rev-parse HEAD)
name=envwire-test-$$ # of the image, the container, the network and the compose project
work=$(mktemp -d)
engine=              # process of an engine of our own
compose=()
file=compose         # of docker/, that Compose runs
rows=()
current="setting up"

fail() {
    echo "image-test: $*" >&2
    exit 1
}

# check NAME COMMAND...: runs one check and records its duration; a failure ends the script.
check() {
    local start=${EPOCHREALTIME/[.,]/}
    current=$1
    echo "== $current"
    "${@:2}"
    rows+=("$(printf '%-68s ok %8d ms' "$current" $(((${EPOCHREALTIME/[.,]/} - start) / 1000)))")
    current=
}

# limit SECONDS COMMAND...: ends a command that takes too long. In the foreground, so that Ctrl-C reaches it.
limit() { timeout --foreground --kill-after 10 "$@"; }

# wait_for SECONDS COMMAND...: repeats a command until it succeeds.
wait_for() {
    local deadline=$((SECONDS + $1))
    until "${@:2}"; do
        ((SECONDS < deadline)) || fail "$1 s passed before: ${*:2}"
        sleep 0.2
    done
}

# --- Cleanup: prints the table and the output of a failure, and removes everything else.

finish() {
    local status=$?
    trap - EXIT
    set +e
    [[ -z $current ]] || show_failure
    printf '%s\n' "" "${rows[@]}"
    [[ -z $current ]] || printf '%-68s FAILED\n' "$current"
    remove_containers
    [[ -z $engine ]] || stop_engine
    unmount
    rm -rf --one-file-system "$work"
    exit "$status"
}

show_failure() {
    echo "== the end of what the containers and the engine said" >&2
    limit 10 docker logs --tail 40 "$name" >&2
    limit 10 docker logs --tail 40 "$name-once" >&2
    tail -n 20 "$work"/*.log >&2
}

remove_containers() {
    if engine_answers; then
        [[ ${#compose[@]} == 0 ]] || in_compose down --timeout 5
        limit 60 docker rm --force "$name" "$name-once"
        limit 60 docker network rm "$name"
        limit 60 docker image rm --force "$name" "$name-gl" "$name-derived" "$name-proxy" "$name-base"
    fi >/dev/null 2>&1
}

stop_engine() {
    kill "$engine"
    limit 30 tail --pid="$engine" -f /dev/null || kill -9 "$engine"
}

# Unmounts what an interrupted debootstrap or a killed engine left mounted, so that deleting does not reach through it.
unmount() {
    awk -v top="$work/" 'index($2, top) == 1 {print $2}' /proc/mounts | sort -r | xargs -r -n 1 umount --lazy
}

trap finish EXIT
trap 'exit 130' INT TERM

# --- The engine.

engine_answers() { limit 10 docker version --format '{{.Server.Version}}' >/dev/null 2>&1; }

find_engine() {
    engine_answers && return
    may_install || fail "no Docker engine answers; start one, or run this as root on Debian, where it starts its own"
    command -v dockerd >/dev/null || install docker.io
    engine_answers || start_engine
}

may_install() { [[ $EUID == 0 ]] && command -v apt-get >/dev/null; }

install() {
    echo "installing $*"
    export DEBIAN_FRONTEND=noninteractive
    limit 300 apt-get update >"$work/apt.log" 2>&1 || true # a list that cannot be had may not be needed
    limit 900 apt-get install --yes --no-install-recommends "$@" >>"$work/apt.log" 2>&1 ||
        fail "apt-get cannot install $*"
}

# Without firewall rules and a default bridge, the engine needs only root, and does not change the host's network.
start_engine() {
    setsid dockerd --data-root "$work/data" --exec-root "$work/exec" --pidfile "$work/docker.pid" \
        --host "unix://$work/docker.sock" --iptables=false --ip6tables=false --bridge=none \
        >"$work/engine.log" 2>&1 &
    engine=$!
    export DOCKER_HOST=unix://$work/docker.sock
    wait_for 60 engine_answers
}

# --- The base image: pulled, or made of Debian packages if no registry is reachable.

find_base() {
    base=$(sed -n 's/^ARG BASE=//p' "$dockerfile")
    limit 30 docker image inspect "$base" >/dev/null 2>&1 && return
    limit 300 docker pull --quiet "$base" 2>"$work/pull.log" && return
    may_install || fail "cannot pull $base: $(<"$work/pull.log")"
    make_base "${base##*-}"
    base=$name-base
}

make_base() {
    local release=$1 root=$work/root mirror
    # shellcheck disable=SC2016 # apt-get expands it
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' | head -n 1)
    [[ -n $mirror ]] || fail "apt's sources name no Debian mirror to make a base image from"
    echo "cannot pull $base; making a stand-in of Debian $release"
    command -v debootstrap >/dev/null || install debootstrap
    limit 900 debootstrap --variant=minbase \
        --include=python3,python3-venv,python3-pip,ca-certificates "$release" "$root" "$mirror" \
        >"$work/debootstrap.log" || fail "debootstrap cannot make Debian $release"
    ln -sf python3 "$root/usr/bin/python"
    rm -f "$root"/usr/lib/python3.*/EXTERNALLY-MANAGED # in the real image, pip may install
    cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/" # authorities that only this machine knows
    tar -C "$root" -c . | limit 300 docker import --change 'CMD ["python3"]' - "$name-base" >/dev/null
    rm -rf "$root"
}

# --- The image.

build() {
    local index
    index=$("$python" -m pip config list | sed -n "s/^[^.]*\.index-url='\(http.*\)'$/\1/p" | tail -n 1)
    docker buildx version >/dev/null 2>&1 || export DOCKER_BUILDKIT=0
    # The host's network: an engine without firewall rules has no other access to the network.
    limit 900 docker build --network host --force-rm --file "$dockerfile" --tag "$1" "${@:2}" \
        --build-arg "BASE=$base" --build-arg VERSION="$version" --build-arg REVISION="$revision" \
        ${index:+--build-arg "PIP_INDEX_URL=$index"} . >"$work/build.log" 2>&1
    echo "$(($(docker image inspect --format '{{.Size}}' "$1") / 1000000)) MB"
}

build_proxy() {
    local dockerfile=docker/proxy.Dockerfile
    build "$name-proxy"
}

is_labelled() {
    local labels
    labels=$(docker image inspect --format '{{json .Config.Labels}}' "$name")
    [[ $labels == *"image.revision\":\"$revision\""* && $labels == *"image.version\":\"$version\""* ]] ||
        fail "the labels are $labels"
}

# --- Images that build on it.

# Serves MiniGrid from an image that `envwire image` built.
derived() {
    limit 900 "$python" -m envwire image minigrid --ids 'MiniGrid-Empty-5x5-v0' --from "$name" --build "$name-derived" \
        >"$work/derived.log" 2>&1
    serve_once "$name-derived" MiniGrid-Empty-5x5-v0
}

# Draws a frame of MuJoCo with OpenGL, in software.
drawn() {
    build "$name-gl" --target gl
    limit 900 "$python" -m envwire image mujoco 'gymnasium[mujoco]' --ids HalfCheetah-v5 --from "$name-gl" \
        --build "$name-derived" >"$work/derived.log" 2>&1
    serve_once "$name-derived" HalfCheetah-v5 --render
}

# serve_once IMAGE ID [--render]: runs a container and drives the environment from inside.
serve_once() {
    docker run --detach --name "$name-once" --read-only --tmpfs /tmp --cap-drop ALL "$1" >/dev/null
    wait_for 60 docker exec "$name-once" envwire-healthy
    limit 120 docker exec -i "$name-once" python - "${@:2}" <docker/drive_once.py
    docker rm --force "$name-once" >/dev/null
}

# --- One container, as users run it: on its own network, published on loopback.

run() {
    docker network create "$name" >/dev/null
    docker run --detach --name "$name" --network "$name" --publish 127.0.0.1::50051 \
        --memory 512m --cpus 1 --pids-limit 256 --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges \
        --health-interval 1s "$name" >/dev/null
    wait_for 60 is_healthy
}

start_again() {
    docker start "$name" >/dev/null
    wait_for 60 is_healthy
}

is_healthy() { [[ $(inspect State.Health.Status) == healthy ]]; }
inspect() { limit 30 docker inspect --format "{{.$1}}" "$name"; }
within() { limit 30 docker exec -i "$name" "$@"; }

is_unprivileged() { [[ $(within id -u) == 10001 ]]; }

drive() {
    local target
    target=$(docker port "$name" 50051/tcp | head -n 1)
    limit 60 "$python" docker/image_client.py "$1" "$target" "$name"
}

drain() {
    drive drain
    ended_well
}

stop_idle() {
    limit 30 docker stop "$name" >/dev/null
    ended_well
}

ended_well() {
    local status
    status=$(inspect State.ExitCode)
    [[ $status == 0 ]] || fail "the server ended with status $status"
}

# Leaves an orphaned process, as a simulator may do, and waits until no process is a zombie.
reaps() {
    within python - <<'PY'
import os, pathlib, time

reading, writing = os.pipe()
if os.fork() == 0:
    if (orphan := os.fork()) == 0:
        os._exit(0)
    os.write(writing, str(orphan).encode())
    os._exit(0)
os.wait()
orphan = pathlib.Path("/proc", os.read(reading, 20).decode())
states = lambda: [stat.read_text().rpartition(")")[2].split()[0] for stat in pathlib.Path("/proc").glob("[0-9]*/stat")]
deadline = time.monotonic() + 5
while orphan.exists() or "Z" in states():
    assert time.monotonic() < deadline, f"process states {states()}"
    time.sleep(0.05)
PY
}

# --- Compose: two servers and a demo client.

find_compose() {
    if docker compose version >/dev/null 2>&1; then
        compose=(docker compose)
    elif command -v docker-compose >/dev/null || { may_install && install docker-compose; }; then
        compose=(docker-compose)
    fi
}

in_compose() {
    ENVWIRE_IMAGE=$name ENVWIRE_PROXY_IMAGE=$name-proxy limit 300 "${compose[@]}" --project-name "$name" --file "docker/$file.yaml" "$@"
}

compose_up() { in_compose up --no-build --exit-code-from demo; }

compose_ended_well() {
    local statuses
    statuses=$(in_compose ps --all --quiet | xargs docker inspect --format '{{.State.ExitCode}}' | xargs)
    [[ $statuses == "0 0 0" ]] || fail "the containers ended with $statuses"
    in_compose down --timeout 5
}

# --- Compose: a farm of four servers and a gateway, with and without certificates and tokens.

farm_up() {
    file=$1
    in_compose up --no-build --detach --wait "${@:2}"
}

farm_down() { in_compose down --volumes --timeout 5; }

# farm_drive TARGET [OPTION...]: drives the farm from a container of its network, by the names that resolve there.
farm_drive() {
    limit 60 docker run --rm --network "${name}_default" --volume "$PWD/docker/farm_client.py:/srv/envwire/farm_client.py:ro" "${@:2}" \
        --entrypoint python "$name" /srv/envwire/farm_client.py "$1"
}

check "a Docker engine answers" find_engine
check "a base image is there" find_base
check "the image builds" build "$name"
check "labels say version and revision" is_labelled
check "healthy by the image's own check, read-only, no capabilities" run
check "an agent outside takes 100 steps" drive steps
check "the server's user is 10001" is_unprivileged
check "kill -9 of a session: typed error for its client, others go on" drive crash
check "orphans are reaped, no zombies" reaps
check "docker stop lets an episode end and refuses new ones; status 0" drain
check "it starts again" start_again
check "docker stop of an idle server; status 0" stop_idle
check "envwire image: a package's environments in an image of their own" derived
check "OpenGL: MuJoCo draws without a display" drawn
find_compose
if ((${#compose[@]})); then
    check "compose: two healthy servers, the demo client ends with 0" compose_up
    check "compose: all containers ended with 0" compose_ended_well
    check "farm: a gateway and four servers" farm_up farm gateway server
    check "farm: 32 environments over all servers" farm_drive gateway:50050
    farm_down
    check "the image of the proxy builds" build_proxy
    check "farm with TLS and tokens" farm_up farm-tls proxy gateway server-a server-b server-c server-d
    for target in gateway proxy; do
        check "farm with TLS and tokens: 32 environments by the $target, strangers refused" \
            farm_drive "$target:50050" --volume "${name}_agent:/etc/envwire:ro" --env ENVWIRE_CA=/etc/envwire/ca.pem
    done
    farm_down
else
    rows+=("compose: not here, not checked")
fi
