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
# A process a core with one thread each; a file of tests to one process, because its tests share what they train.
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"
# Files in the order of their names, which has long ones first and many short ones last. By the number of their tests,
# pytest-xdist's own order, the longest file of all, which has one, would begin last, and a single process end with it.
python -m pytest -q --numprocesses auto --dist loadfile --no-loadscope-reorder tests --ignore=tests/campaigns "$@"
