#!/usr/bin/env bash
# Proves, times and profiles the upper stages of the ladder on a GPU machine, from a checkout.
#
#   OUT=FOLDER tests/gpu/summit_stages.sh [WHEELS]
#
# OUT receives the log, one CSV file for each check and bench, the store of profiled runs and the sanitizer's words. WHEELS
# holds wheels of packages that the machine lacks (ncu-report). STAGES names other stages, STEPS other steps; all six stages
# at once take longer than a call may, so name three, or fewer steps. Every command has a time limit of its own, since a
# kernel may hang, and all together BUDGET seconds: what would begin later is left out. A failure does not stop the next
# command; the exit code counts failures and what was left out.
set -uo pipefail
out=${OUT:?set OUT to a folder} lab=$(cd "$(dirname "$0")/../.." && pwd)
read -ra stages <<<"${STAGES:-splitk wmma-tiled mma-sync}" # and: sgemm-hopper wgmma wgmma-fp16
budget=${BUDGET:-570}
steps=${STEPS:-check sanitize bench profile}
if [ -n "${1:-}" ]; then
    python3 -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --upgrade --target /tmp/site "$1"/*.whl || exit
fi
export PYTHONPATH=/tmp/site:$lab:$lab/dashboards${PYTHONPATH:+:$PYTHONPATH} PYTHONUNBUFFERED=1 COLUMNS=150
cd "$lab" || exit
mkdir -p "$out"
failed=0
named=()
for stage in "${stages[@]}"; do named+=(--stage "$stage"); done
step() { # SECONDS FILE COMMAND…: runs a command, its stdout into a file of OUT as well, and tells how it ended.
    local limit=$1 file=$out/$2 start=$SECONDS
    shift 2
    echo "\$ $*"
    if [ $((limit = limit < budget - start ? limit : budget - start)) -lt 5 ]; then
        echo "[left out: $start of $budget s are over]"
        failed=$((failed + 1))
        return
    fi
    timeout -k 10 "$limit" "$@" | tee "$file"
    local code=$?
    [ $code -eq 0 ] || failed=$((failed + 1))
    echo "[exit $code, $((SECONDS - start)) s]"
}
lab=(python3 -m ncu_lab.cli.app)
sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)

main() {
    nvidia-smi --query-gpu=name,driver_version,power.limit,clocks.max.sm --format=csv
    step 120 build.txt "${lab[@]}" build "${named[@]}"
    for what in $steps; do "$what"; done
    echo "$failed steps failed"
}
check() {
    for stage in "${stages[@]}"; do
        step 180 "check-$stage.csv" "${lab[@]}" check --stage "$stage" --size 1000 --format csv
        step 60 "check-$stage-long.csv" "${lab[@]}" check --stage "$stage" -m 64 -n 64 -k 16384 --quick --format csv
    done
}
sanitize() { # Small, but of several tiles, slices and K steps: whole ones for the fast path, and a shape that no tile fits.
    for stage in "${stages[@]}"; do
        for shape in "384 512 256" "391 517 203"; do
            read -r m n k <<<"$shape"
            local request=$out/request-$stage-$m.json
            python3 tests/gpu/write_request.py "$stage" "$m" "$n" "$k" "$request" || continue
            for tool in memcheck racecheck initcheck synccheck; do
                step 100 "sanitize-$stage-$m-$tool.txt" "$sanitizer" --tool "$tool" --error-exitcode 9 \
                    python3 -m ncu_lab.gpu.target "$request"
            done
        done
    done
}
bench() {
    for size in 256 512 1024 2048 4096 8192; do
        step 120 "bench-$size.csv" "${lab[@]}" bench "${named[@]}" --size "$size" --samples 20 --format csv
    done
    for shape in "64 64 16384" "4096 4096 64" "64 4096 4096" "8192 1024 2048"; do
        read -r m n k <<<"$shape"
        step 60 "bench-$m-$n-$k.csv" "${lab[@]}" bench "${named[@]}" -m "$m" -n "$n" -k "$k" --samples 20 --format csv
    done
}
profile() {
    step 300 profile.txt "${lab[@]}" profile "${named[@]}" --size 4096 --store "$out/runs"
}
main 2>&1 | tee "$out/summit.log"
exit "$(tail -1 "$out/summit.log" | cut -d' ' -f1)"
