#!/bin/bash
# Succeeds if the server or the gateway in this container takes new sessions. Requests its HTTP port, with TLS if it has
# a certificate. Does not use Python, because each start of Python takes half a second of processor time.
set -euo pipefail
port=${ENVWIRE_HTTP_PORT:?}
request='GET /readyz HTTP/1.1\r\n\r\n'

plain() { exec 3<>"/dev/tcp/127.0.0.1/$port" && printf '%b' "$request" >&3 && read -r -t 3 line <&3; }

# The certificate is not verified, because this is the container's own port.
tls() { line=$(printf '%b' "$request" | timeout 3 openssl s_client -quiet -connect "127.0.0.1:$port" 2>/dev/null); }

plain 2>/dev/null || tls
[[ $line == "HTTP/1.1 200 "* ]]
