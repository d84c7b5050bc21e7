#!/bin/sh
# Regenerates the Python code next to the .proto files.
#
# It uses the oldest supported generator, because newer generated code refuses older runtimes. The generator pins an
# old protobuf, so it has a separate virtual environment.
set -eu
cd "$(dirname "$0")"
generator=../.venv-protos
if [ ! -x "$generator/bin/protoc-gen-mypy" ]; then
    python3 -m venv "$generator"
    "$generator/bin/pip" install --quiet grpcio-tools==1.75.1 mypy-protobuf==3.6.0 setuptools==80.9.0
fi
PATH="$PWD/$generator/bin:$PATH"
python write_tables.py
python -m grpc_tools.protoc -I. --python_out=. --mypy_out=quiet:. envwire/v1/*.proto envwire/admin/v1/*.proto envwire/farm/v1/*.proto \
    envwire/observe/v1/*.proto
python -m grpc_tools.protoc -I. --grpc_python_out=. --mypy_grpc_out=quiet:. envwire/v1/environment.proto envwire/admin/v1/admin.proto \
    envwire/farm/v1/farm.proto envwire/observe/v1/observe.proto
