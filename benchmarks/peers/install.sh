#!/bin/sh
# Installs each peer of the benchmark into its own virtual environment: install.sh PYTHON [NAME...]
# If a peer cannot be installed, the reason is written to a file next to it, and the others continue.
set -eu
python=$1
shift
venvs=.venv-peers
mkdir -p "$venvs"

packages() {
	case $1 in
	dm_env_rpc) echo dm-env-rpc numpy ;;
	openenv) echo openenv numpy uvicorn ;;
	# It requires an old protobuf, with which the newest dm-env-rpc cannot be imported.
	remote_gym) echo remote-gym 'dm-env-rpc<1.1.7' ;;
	envpool) echo envpool gymnasium ;;
	plot) echo matplotlib ;;
	*) echo "no such peer: $1" >&2 && exit 1 ;;
	esac
}

# Extracts the error message from a line, for the table.
reason() {
	{ grep -i error "$1" || cat "$1"; } | tail -n 1 | cut -c 1-200
}

for name in ${*:-dm_env_rpc openenv remote_gym envpool plot}; do
	venv=$venvs/$name
	[ -x "$venv/bin/python" ] && continue
	wanted=$(packages "$name")
	echo "installing $wanted"
	rm -rf "$venvs/new" "$venv.failed"
	log=$venvs/$name.log
	# shellcheck disable=SC2086 # the packages are words
	if "$python" -m venv "$venvs/new" >"$log" 2>&1 &&
		timeout 600 "$venvs/new/bin/pip" install --quiet --disable-pip-version-check $wanted >>"$log" 2>&1; then
		mv "$venvs/new" "$venv"
	else
		reason "$log" | tee "$venv.failed"
	fi
done
rm -rf "$venvs/new"
