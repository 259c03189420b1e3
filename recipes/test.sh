#!/usr/bin/env bash
usage="usage: bash recipes/test.sh [options for pytest]

Make the environment (recipes/environment.sh), then run ruff and all tests except the campaigns."
set -euo pipefail
case " $* " in *" --help "*|*" -h "*) echo "$usage"; exit 0 ;; esac
cd "$(dirname "${BASH_SOURCE[0]}")/.."
WITH_TESTS=yes
source recipes/environment.sh

ruff check .
ruff format --check .
# Types are checked beside the tests. Some tests wait, so there are two processes more than cores.
# Each has one thread. tests/conftest.py says which process runs what, and puts the long files first.
python -m mypy &
types=$!
unset PYTHONDONTWRITEBYTECODE  # containers often set it: each process would compile the project and the tests again
cores=$(env -u OMP_NUM_THREADS nproc)  # nproc is 1 with one thread
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"
python -m pytest -q --numprocesses "$((cores + 2))" --no-loadscope-reorder tests --ignore=tests/campaigns "$@"
wait "$types"
