#!/usr/bin/env bash
# Installs the tools for building and testing the C++ library, as root on Debian or Ubuntu. Elsewhere lists missing ones.
set -euo pipefail

# Debian's packages, each with a command that succeeds where it is installed.
missing=()
need() { "${@:2}" >/dev/null 2>&1 || missing+=("$1"); }
look() {
    missing=()
    need cmake command -v cmake
    need g++ command -v c++
    need ninja-build command -v ninja
    need pkg-config command -v pkg-config
    need libgrpc++-dev pkg-config --exists grpc++
    need libgtest-dev test -e /usr/include/gtest/gtest.h
    need libprotobuf-dev pkg-config --exists protobuf
    need libssl-dev pkg-config --exists openssl
    need protobuf-compiler command -v protoc
    need protobuf-compiler-grpc command -v grpc_cpp_plugin # its CMake files name it
    need clang-format command -v clang-format
    need clang-tidy command -v clang-tidy
    [[ ${#missing[@]} = 0 ]]
}
install() {
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq || true # a list that cannot be had may not be needed
    apt-get install -qq --yes --no-install-recommends "${missing[@]}" >/dev/null
}

look && exit
if [[ $EUID = 0 ]] && command -v apt-get >/dev/null && install && look; then exit; fi
echo "missing for the C++ library: ${missing[*]}" >&2
exit 1
