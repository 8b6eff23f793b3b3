#!/bin/sh
# install.sh PYTHON EXTRAS: this checkout, editable, with its extras, into the environment of PYTHON.
# uv takes seconds where pip takes a minute. pip does it where it was told to look elsewhere, which uv would not know,
# and where uv does not succeed.
set -eu
cd "$(dirname "$0")/.."
python=$1 extras=$2
# --no-compile: what is imported is compiled then; most of it never is
pip="$python -m pip install --quiet --disable-pip-version-check --no-compile"

by_uv() {
    if "$python" -m pip config list | grep -q '\.index-url='; then return 1; fi
    $pip uv 2>/dev/null && "$python" -m uv pip install --quiet --python "$python" -e ".[$extras]"
}

by_uv || $pip -e ".[$extras]"
