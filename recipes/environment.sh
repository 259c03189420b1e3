#!/usr/bin/env bash
# The environment of the recipes. `source recipes/environment.sh` makes and activates it; running this file only makes it.
#
# It makes .venv in the root of the repository and puts it first on PATH. A second call finds it finished and is quick.
#   PYTHON      the Python to make it from, 3.10 to 3.13            default: the one in VENV, else python3
#   VENV        the folder of the environment                       default: .venv in the root of the repository
#   TORCH_SPEC  the torch to install, if there is none yet          default: torch==2.13.0, the tested release
#   WITH_TESTS  if not empty: also install the packages of the tests. ALIBERT_TRANSFORMERS_4 becomes a folder with
#               transformers 4.57, which some tests put on PYTHONPATH
#   ALIBERT_ENVIRONMENT  if not empty: make no environment, because the Python that is first on PATH has everything.
#               `alibert quickstart` sets it, and so do recipes that were installed from a wheel
# A torch that is already in VENV stays, so a user with a GPU can install another build there first.

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
[ -f "$ROOT/setup.py" ] || ALIBERT_ENVIRONMENT=wheel
VENV="${VENV:-$ROOT/.venv}"
[ "${VENV:0:1}" = / ] || VENV="$PWD/$VENV"
PYTHON="${PYTHON:-$([ -x "$VENV/bin/pip" ] && echo "$VENV/bin/python" || echo python3)}"
TORCH_SPEC="${TORCH_SPEC:-torch==2.13.0}"

refuse() {
    echo "error: $1" >&2
    return 2  # not exit: a sourced file would close its user's shell
}

# Start with Python's own venv and pip, so that nothing but Python is needed.
make_venv() {
    command -v "$PYTHON" >/dev/null || refuse "$PYTHON: no such command; name a Python 3.10 to 3.13 with PYTHON=..."
    "$PYTHON" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' ||
        refuse "$PYTHON is $("$PYTHON" --version 2>&1), but Python 3.10 to 3.13 is needed; name one with PYTHON=..."
    "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null ||
        refuse "$PYTHON has no venv module; install your system's package for it, for example python3-venv."
    "$PYTHON" -m venv "$VENV"
}

# Check that the environment has the Python that PYTHON names.
check_python() {
    local minor='import sys; print("%d.%d" % sys.version_info[:2])'
    [ "$("$PYTHON" -c "$minor")" = "$("$VENV/bin/python" -c "$minor")" ] ||
        refuse "$VENV was made with $("$VENV/bin/python" --version), not with $PYTHON; give another VENV=... or remove it."
}

# fairseq is compiled while it is installed.
check_compiler() {
    command -v "${CXX:-c++}" >/dev/null || command -v g++ >/dev/null ||
        refuse "no C++ compiler, which fairseq needs; install one, for example the package g++."
    local header
    header="$("$VENV/bin/python" -c 'import sysconfig; print(sysconfig.get_path("include") + "/Python.h")')"
    [ -f "$header" ] || refuse "no $header, which fairseq needs; install your Python's headers, for example python3-dev."
}

version_of() {
    "$VENV/bin/python" -c 'import importlib.metadata as m, sys; print(m.version(sys.argv[1]))' "$1"
}

has() {
    version_of "$1" >/dev/null 2>&1
}

# pip installs torch, because it knows the user's package sources. uv installs the rest: pip >= 24.1 rejects fairseq.
install_packages() {
    local python="$VENV/bin/python" extras="fairseq${WITH_TESTS:+,test}"
    has fairseq || check_compiler
    has uv || "$python" -m pip install --quiet --disable-pip-version-check uv
    if ! has torch; then  # pip would compile its bytecode on one core; here it is compiled on all, beside uv
        "$python" -m pip install --no-compile --disable-pip-version-check "$TORCH_SPEC"
        "$python" -m compileall -q -j 0 "$("$python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')" &
    fi
    # uv does not read pip's configuration, where a mirror of PyPI may be named.
    local index="${PIP_INDEX_URL:-$("$python" -m pip config get global.index-url 2>/dev/null || true)}"
    [ -z "$index" ] || export UV_DEFAULT_INDEX="${UV_DEFAULT_INDEX:-$index}"
    local keep="$VENV/constraints.txt"
    echo "torch==$(version_of torch)" >"$keep"
    # transformers 5 runs no model on an older torch, and does not say so in its metadata.
    case "$(version_of torch)" in 2.[45].*) echo "transformers<5" >>"$keep" ;; esac
    # In the root, uv reads in pyproject.toml which requirements of fairseq to leave out. Bytecode is compiled here:
    # where Python cannot write it, each process would compile again, and Python 3.12 would warn of fairseq's strings.
    (cd "$ROOT" && "$python" -m uv pip install --python "$python" --constraints "$keep" --compile-bytecode \
        --reinstall-package alibert-fairseq --editable ".[$extras]")
    wait  # for the bytecode of torch
}

# Install transformers 4.57, and the packages that differ from the environment's, in a separate folder.
install_transformers_4() {
    "$VENV/bin/python" -m uv pip install --python "$VENV/bin/python" --target "$1" --no-deps --compile-bytecode \
        "transformers==4.57.6" "huggingface-hub>=0.34,<1" "tokenizers>=0.22,<0.23" "requests<3" "urllib3<3" "idna<4" \
        "charset-normalizer<4" certifi
}

# Print a checksum of the files that define the environment. When it changes, the environment is updated.
fingerprint() {
    (cd "$ROOT" && cat setup.py pyproject.toml fairseq_compat/import_hook.py recipes/environment.sh && pwd) | cksum
}

if [ -n "${ALIBERT_ENVIRONMENT:-}" ]; then
    [ "${BASH_SOURCE[0]}" != "$0" ] || exit 0
    return 0
fi
STAMP="$VENV/made-from${WITH_TESTS:+-with-tests}"
if [ "${BASH_SOURCE[0]}" = "$0" ]; then
    set -euo pipefail
    if [ -x "$VENV/bin/pip" ]; then check_python; else make_venv; fi  # pip is the last thing that venv makes
    install_packages
    [ -z "${WITH_TESTS:-}" ] || install_transformers_4 "$VENV/transformers-4"
    fingerprint >"$STAMP"
    exit
fi

[ ! -x "$VENV/bin/pip" ] || check_python || return
if [ "$(cat "$STAMP" 2>/dev/null)" != "$(fingerprint)" ]; then
    # In another process, so that the first failure stops it, whatever the options of the caller's shell.
    PYTHON="$PYTHON" VENV="$VENV" TORCH_SPEC="$TORCH_SPEC" WITH_TESTS="${WITH_TESTS:-}" bash "${BASH_SOURCE[0]}" || return
fi
export VIRTUAL_ENV="$VENV" PATH="$VENV/bin:$PATH"
[ -z "${WITH_TESTS:-}" ] || export ALIBERT_TRANSFORMERS_4="$VENV/transformers-4"
