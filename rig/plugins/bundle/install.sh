#!/bin/sh
# Install rig from the folder that this file lies in: sh install.sh. It needs a Python, and nothing else: no network,
# no compiler. PYTHON=/path/to/python3 sh install.sh chooses one.
case $0 in
*/*) here=${0%/*} ;;
*) here=. ;;
esac
found=
for python in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
    if "$python" -I -c '' 2>/dev/null; then
        found=${found:-$python}
        if "$python" -I "$here/install.py" --suits 2>/dev/null; then
            exec "$python" -I "$here/install.py"
        fi
    fi
done
if [ -z "$found" ]; then
    echo "install: there is no Python; name one: PYTHON=/path/to/python3 sh install.sh" >&2
    exit 2
fi
exec "$found" -I "$here/install.py"
