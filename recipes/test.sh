#!/usr/bin/env bash
# The environment, ruff, and the tests but the campaigns:  bash recipes/test.sh [options for pytest]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
WITH_TESTS=yes
source recipes/environment.sh

ruff check .
ruff format --check .
python -m pytest -q tests --ignore=tests/campaigns "$@"
