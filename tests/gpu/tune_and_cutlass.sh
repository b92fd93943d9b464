#!/usr/bin/env bash
# Searches tiles, measures autotuned with what was found, and CUTLASS beside cuBLAS, on a GPU machine, by the product.
#
#   tune_and_cutlass.sh BUNDLE OUT [WHEELS]
#
# BUNDLE is a git bundle of the commit to run (git bundle create lab.bundle main); it is cloned into a neutral folder. OUT
# receives the store, its folder tuning too, packed; a file for the data of each step; and the log. WHEELS holds wheels of
# packages that the machine lacks: ncu-report, and nvidia-cutlass (6.4 MB; pip download --no-deps), without which the steps
# of CUTLASS fail. What begins after BUDGET seconds (420) is left out; STEPS names other steps than all three. The exit code
# counts what failed or was left out.
set -uo pipefail
bundle=$(realpath "$1") out=$(realpath "$2") wheels=${3:+$(realpath "$3")}
lab=/tmp/ncu-lab budget=${BUDGET:-420}
rm -rf "$lab" /tmp/site && git clone -q "$bundle" "$lab" -b main || exit
if [ -n "${wheels:-}" ]; then
    python3 -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --upgrade --target /tmp/site "$wheels"/*.whl || exit
fi
export PYTHONPATH=/tmp/site:$lab:$lab/dashboards${PYTHONPATH:+:$PYTHONPATH} PYTHONUNBUFFERED=1 COLUMNS=150 NCU_LAB_STORE=$lab/reports
cd "$lab" || exit
mkdir -p "$out"
failed=0
step() { # SECONDS FILE ARGUMENTS…: runs a command of ours, its stdout into a file of OUT too, and tells how it ended.
    local limit=$1 file=$out/$2 start=$SECONDS
    shift 2
    echo "\$ ncu-lab $*"
    if [ $((limit = limit < budget - start ? limit : budget - start)) -lt 5 ]; then
        echo "[left out: $start of $budget s are over]"
        failed=$((failed + 1))
        return
    fi
    timeout -k 10 "$limit" python3 -m ncu_lab.cli.app "$@" | tee "$file"
    local code=$?
    [ $code -eq 0 ] || failed=$((failed + 1))
    echo "[exit $code, $((SECONDS - start)) s]"
}
tune() { # Tiles of the first are in the cache for the second. A search that the limit interrupts is kept, and goes on.
    step 150 tune-4096.json tune --stage autotuned --size 4096 --format json
    step 60 tune-1024.json tune --stage autotuned --size 1024 --format json
    step 10 searches.txt tune
}
autotuned() {
    step 60 bench-4096.csv bench --stage vectorized --stage autotuned --size 4096 --samples 20 --format csv
    step 30 bench-1024.csv bench --stage vectorized --stage autotuned --size 1024 --samples 20 --format csv
    step 60 check-4096.csv check --stage autotuned --size 4096 --format csv
    step 90 profile.txt profile --stage vectorized --stage autotuned --size 4096 --drop-report
    step 20 expectations.txt ladder --size 4096 --expectations
}
cutlass() {
    step 120 check-cutlass.csv check --stage cutlass-fp32 --stage cutlass-bf16 --size 1024 --format csv
    for size in 1024 4096 8192; do
        step 60 "bench-cutlass-$size.csv" bench --stage cutlass-fp32 --stage cutlass-bf16 --size $size --samples 20 --format csv
    done
    step 90 profile-cutlass.txt profile --stage cutlass-fp32 --stage cutlass-bf16 --size 4096 --drop-report
}
main() {
    nvidia-smi --query-gpu=name,driver_version,power.limit,clocks.max.sm --format=csv
    for what in ${STEPS:-tune autotuned cutlass}; do "$what"; done
    step 20 ladder.txt ladder --size 4096
    echo "$failed steps failed"
}
main 2>&1 | tee "$out/tune_and_cutlass.log"
tar -C reports -cf - --exclude=examples --exclude=README.md --exclude='./.?*' . | gzip -9 >"$out/runs.tar.gz"
du -sh reports/*/ "$out"/*
exit "$(tail -1 "$out/tune_and_cutlass.log" | cut -d' ' -f1)"
