#!/usr/bin/env bash
# Installs what building and testing the C++ library needs, as root on Debian or Ubuntu; elsewhere says what is missing.
set -euo pipefail

packages=(cmake g++ ninja-build pkg-config libgrpc++-dev libgtest-dev libprotobuf-dev libssl-dev protobuf-compiler
    protobuf-compiler-grpc clang-format clang-tidy)

present() { command -v "$1" >/dev/null; }

if present cmake && present ninja && present protoc && present clang-format && present clang-tidy &&
    pkg-config --exists grpc++ protobuf openssl 2>/dev/null && [[ -e /usr/include/gtest/gtest.h ]]; then
    exit 0
fi
if [[ $EUID != 0 ]] || ! present apt-get; then
    echo "missing for the C++ library: ${packages[*]}" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq || true # a list that cannot be had may not be needed
apt-get install -qq --yes --no-install-recommends "${packages[@]}" >/dev/null
