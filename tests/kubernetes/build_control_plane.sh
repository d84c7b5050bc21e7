#!/bin/bash
# Builds the API server, the controllers and the scheduler of Kubernetes from their Go modules, unless they are there.
# Usage: build_control_plane.sh FOLDER
set -euo pipefail
folder=$1
version=1.36.3
programs=(kube-apiserver kube-controller-manager kube-scheduler)
command -v etcd >/dev/null || apt-get install --yes --no-install-recommends etcd-server
mkdir -p "$folder"
[[ ! -x $folder/kube-scheduler ]] || exit 0
command -v go >/dev/null || { echo 'go is not installed: it builds the control plane'; exit 1; }
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
target=$(realpath "$folder")
cd "$work"
export CGO_ENABLED=0 GOFLAGS=-mod=mod
module=$(go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
# Its go.mod takes the libraries from folders of its repository; their modules have the same code.
{
    printf 'module control-plane\n\nrequire k8s.io/kubernetes v%s\n\nreplace (\n' "$version"
    sed -n "s|^\t\(k8s.io/[a-z-]*\) => ./staging/.*|\t\1 => \1 v0.${version#*.}|p" "$module/go.mod"
    printf ')\n'
} >go.mod
printf 'package tools\n\nimport (\n' >tools.go
printf '\t_ "k8s.io/kubernetes/cmd/%s/app"\n' "${programs[@]}" >>tools.go
printf ')\n' >>tools.go
go mod tidy -e 2>/dev/null
for program in "${programs[@]}"; do
    go build -ldflags '-s -w' -o "$target/$program" "k8s.io/kubernetes/cmd/$program"
done
