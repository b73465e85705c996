#!/bin/bash
# One environment for the simulated server and one a peer, under $BENCH_HOME (default: evolve-bench in the temp folder).
# setup.sh [server|openevolve|gepa|shinka ...]   all without arguments
set -u
H=${BENCH_HOME:-${TMPDIR:-/tmp}/evolve-bench}
mkdir -p "$H/venvs" "$H/logs"
mk() { n=$1; shift; [ -x "$H/venvs/$n/bin/python" ] || python3 -m venv "$H/venvs/$n"; "$H/venvs/$n/bin/pip" install -q --disable-pip-version-check "$@" > "$H/logs/pip_$n.log" 2>&1; echo "$n exit $?"; }
peer() {
  case $1 in
    server) mk server aiohttp uvloop psutil ;;
    openevolve) mk openevolve openevolve ;;
    gepa) mk gepa gepa litellm ;;
    shinka) mk shinka shinka-evolve ;;
    *) echo "no system $1"; exit 2 ;;
  esac
}
for name in "${@:-server openevolve gepa shinka}"; do for each in $name; do peer "$each"; done; done
