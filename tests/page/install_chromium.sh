#!/usr/bin/env bash
# Installs what the page's test needs, as root on Debian or Ubuntu; elsewhere says what is missing.
set -euo pipefail

present() { command -v "$1" >/dev/null; }

if present node && [[ -x ${CHROMIUM:-/usr/bin/chromium} ]]; then
    exit 0
fi
if [[ $EUID != 0 ]] || ! present apt-get; then
    echo "missing for the page's test: node, npm, and chromium or CHROMIUM=path" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq || true # a list that cannot be had may not be needed
packages=(chromium fonts-dejavu-core)
present node || packages+=(nodejs npm)
apt-get install -qq --yes --no-install-recommends "${packages[@]}" >/dev/null
