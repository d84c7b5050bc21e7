#!/bin/bash
# Makes certificates and tokens for trying a farm out, unless they exist. Each service, the agents and the operator get a
# directory with the files that they need, and no others. The CA's key exists only while this runs.
# Usage: make_secrets.sh DIR SERVER...
set -euo pipefail
umask 077
directory=$1
servers=("${@:2}")
[[ ! -e $directory/gateway/tokens ]] || exit 0
work=$(mktemp -d) # in memory: see farm-tls.yaml
trap 'rm -r "$work"' EXIT

# certificate NAME: makes server.pem and server-key.pem for the host NAME.
certificate() { envwire certs "$work/$1" --ca "$work/ca" --host "$1" >/dev/null 2>&1; }

# token NAME OPTION...: makes a token, and its line for the token file.
token() {
    local made
    made=$(envwire token "$1" "${@:2}" 2>/dev/null)
    echo "${made%$'\n'*}" >"$work/$1.token"
    echo "${made#*$'\n'}" >"$work/$1.line"
}

# give NAME FILE...: puts files into the directory of NAME, which only the user of the images reads, and ca.pem.
give() {
    mkdir -p "$directory/$1"
    cp "$work/ca/ca.pem" "${@:2}" "$directory/$1"
    chown -R 10001:10001 "$directory/$1"
}

envwire certs "$work/ca" >/dev/null 2>&1
token agent --scope play --scope observe
token operator --scope observe --scope admin
for name in proxy gateway "${servers[@]}"; do
    certificate "$name"
done
for name in "${servers[@]}"; do
    token "$name" --scope join --server "$name:50051" --address "$name:50051"
    # For agents whose Makes the gateway relays, with their token.
    cp "$work/agent.line" "$work/$name/tokens"
    cp "$work/$name.token" "$work/$name/join-token"
    give "$name" "$work/$name"/{server.pem,server-key.pem,tokens,join-token}
done

cat "$work/proxy"/{server.pem,server-key.pem} >"$work/proxy/proxy.pem"
give proxy "$work/proxy/proxy.pem"
for name in agent operator; do
    mkdir "$work/$name"
    cp "$work/$name.token" "$work/$name/token"
    give "$name" "$work/$name/token"
done
# The file that says that all others are there.
cat "$work"/*.line >"$work/gateway/tokens"
give gateway "$work/gateway"/{server.pem,server-key.pem,tokens}
