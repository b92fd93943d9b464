#!/usr/bin/env bash
# The proof of the ladder on a GPU machine, from a checkout: every stage under `check --all --sanitize`, then every mutant.
#
#   OUT=FOLDER tests/gpu/prove.sh [WHEELS]
#
# OUT receives the logs and tables. WHEELS holds wheels of packages that the machine lacks (ncu-report). STEPS names the
# steps (stages mutants: together they may take longer than one call; give one then), MUTANTS the mutants, SIZE that of the
# checks. Every program has a time limit of its own, since a mutant may hang, and each step BUDGET seconds. Exits with the
# number of mutants that nothing caught, and one more where the stages were not all proven.
set -uo pipefail
out=${OUT:?set OUT to a folder} lab=$(cd "$(dirname "$0")/../.." && pwd)
steps=${STEPS:-stages mutants} budget=${BUDGET:-550} size=${SIZE:-2048}
read -ra named <<<"${MUTANTS:-}"
if [ -n "${1:-}" ]; then
    python3 -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --upgrade --target /tmp/site "$1"/*.whl || exit
fi
export PYTHONPATH=/tmp/site:$lab:$lab/dashboards${PYTHONPATH:+:$PYTHONPATH} PYTHONUNBUFFERED=1 COLUMNS=150 BUDGET=$budget
export NCU_LAB_STORE=$out/runs
cd "$lab" || exit
mkdir -p "$out"
failed=0

stages() {
    local start=$SECONDS
    timeout -k 10 "$budget" python3 -m ncu_lab.cli.app check --all --sanitize --size "$size"
    local code=$?
    [ $code -eq 0 ] || failed=$((failed + 1))
    echo "[stages: exit $code, $((SECONDS - start)) s]"
}
mutants() {
    local start=$SECONDS
    timeout -k 10 $((budget + 30)) python3 tests/gpu/prove_mutants.py "$out/mutants.csv" ${named[@]+"${named[@]}"}
    local code=$?
    failed=$((failed + code))
    echo "[mutants: exit $code, $((SECONDS - start)) s]"
}
main() {
    nvidia-smi --query-gpu=name,driver_version,power.limit,clocks.max.sm --format=csv
    for step in $steps; do "$step"; done
    echo "$failed not proven"
}
main 2>&1 | tee "$out/prove.log"
exit "$(tail -1 "$out/prove.log" | cut -d' ' -f1)"
