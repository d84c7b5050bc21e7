#!/bin/sh
# Installs stable-baselines3 with a CPU build of torch: install_sb3.sh PIP
set -eu
pip=$1
# A plain `pip install torch` may download gigabytes of GPU libraries; a CPU build is enough, if one is available.
"$pip" install --quiet 'torch==2.13.0' || "$pip" install --quiet torch
"$pip" install --quiet 'stable-baselines3>=2.9,<3' 'gymnasium[classic-control]' rich tqdm
