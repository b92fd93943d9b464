#!/usr/bin/env bash
# Times the summits at many shapes on a GPU machine and keeps every sample, from a checkout: the table of `ncu-lab shapes`.
#
#   OUT=FOLDER tests/gpu/record_shapes.sh [WHEELS]
#
# OUT receives the log and the store, whose folder bench holds a record for each shape: copy its files into
# reports/examples/bench, then run docs/generate.py. WHEELS holds wheels of packages that the machine lacks. SHAPES names
# other shapes (N or MxNxK), STAGES other stages, PROCESSES how many processes a claim takes (3), SAMPLES how many samples
# each takes of a stage beside its reference and alone (10). The shapes that goals are set for come first. Each shape has a
# time limit, since a kernel may hang, and all together BUDGET seconds: what would begin later is left out, and said so; the
# next call with SHAPES then takes the rest. The exit code counts shapes that failed or were left out.
#
# 16384 takes 0.2 s a launch and did not end in its limit: one process, without splitk and CUTLASS, is predicted to take
# 25 s (kernels/experiments/README.md). Its record tells one process, not the lowest of three. STAGES and PROCESSES, where
# they are set, hold for it too.
set -uo pipefail
out=${OUT:?set OUT to a folder} lab=$(cd "$(dirname "$0")/../.." && pwd)
default="4096 8192 2048 1024 16384 512 64x64x16384 1536 3072 6144 256 4096x4096x64 64x4096x4096 8192x1024x2048"
read -ra shapes <<<"${SHAPES:-$default}"
read -ra stages <<<"${STAGES:-sgemm-hopper splitk wgmma mma-sync}"
budget=${BUDGET:-570} processes=${PROCESSES:-3} samples=${SAMPLES:-10}
if [ -n "${1:-}" ]; then
    python3 -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --upgrade --target /tmp/site "$1"/*.whl || exit
fi
export PYTHONPATH=/tmp/site:$lab:$lab/dashboards${PYTHONPATH:+:$PYTHONPATH} PYTHONUNBUFFERED=1 COLUMNS=150
cd "$lab" || exit
mkdir -p "$out"
failed=0
named=()
for stage in "${stages[@]}"; do named+=(--stage "$stage"); done
# Shapes that are too large for all of them.
declare -A stages_of=([16384]="sgemm-hopper wgmma") processes_of=([16384]=1) options_of=([16384]=--no-cutlass)
lab=(python3 -m ncu_lab.cli.app)

main() {
    nvidia-smi --query-gpu=name,driver_version,power.limit,clocks.max.sm,temperature.gpu,power.draw --format=csv
    timeout -k 10 200 "${lab[@]}" build "${named[@]}" || failed=$((failed + 1))
    for shape in "${shapes[@]}"; do
        IFS=x read -r m n k <<<"$shape"
        local start=$SECONDS limit=$((budget - SECONDS))
        if [ $limit -lt 20 ]; then
            echo "[left out: $shape]"
            failed=$((failed + 1))
            continue
        fi
        local own=("${named[@]}") times=${PROCESSES:-${processes_of[$shape]:-$processes}}
        if [ -z "${STAGES:-}" ] && [ -n "${stages_of[$shape]:-}" ]; then
            own=("${options_of[$shape]}")
            for stage in ${stages_of[$shape]}; do own+=(--stage "$stage"); done
        fi
        timeout -k 10 $((limit < 240 ? limit : 240)) "${lab[@]}" bench "${own[@]}" -m "$m" -n "${n:-$m}" -k "${k:-$m}" \
            --samples "$samples" --processes "$times" --fastest-reference --save --store "$out/runs"
        local code=$?
        [ $code -eq 0 ] || failed=$((failed + 1))
        echo "[$shape: exit $code, $((SECONDS - start)) s]"
    done
    "${lab[@]}" shapes --store "$out/runs"
    "${lab[@]}" shapes --store "$out/runs" --format markdown
    echo "$failed failed or were left out"
}
main 2>&1 | tee "$out/shapes.log"
exit "$(tail -1 "$out/shapes.log" | cut -d' ' -f1)"
