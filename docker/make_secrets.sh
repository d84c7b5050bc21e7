#!/bin/bash
# Makes certificates for hosts, and tokens for a client and for servers, in a directory, unless they exist.
# Usage: make_secrets.sh DIR HOST...
set -euo pipefail
directory=$1
shift
[[ ! -e $directory/tokens ]] || exit 0

envwire certs "$directory" "${@/#/--host=}" >/dev/null 2>&1
install -d "$directory/client"
cp "$directory/ca.pem" "$directory/client"

# token NAME FILE SCOPE...: adds a token for NAME to the accepted tokens, and writes the token to FILE.
token() {
    envwire token "$1" "${@:3}" >"$directory/made" 2>/dev/null
    head -1 "$directory/made" >"$directory/$2"
    tail -1 "$directory/made" >>"$directory/accepted"
    rm "$directory/made"
}
umask 077
cat "$directory/server.pem" "$directory/server-key.pem" >"$directory/proxy.pem"
token agent client/token --scope play --scope observe
token server join-token --scope join
mv "$directory/accepted" "$directory/tokens"
# Servers run as this user; no other user may read the files.
chown -R 10001:10001 "$directory"
