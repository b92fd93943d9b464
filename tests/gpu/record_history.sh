#!/usr/bin/env bash
# Records the runs of the demonstration history on a GPU machine, by the product itself, from a clean checkout.
#
#   record_history.sh BUNDLE OUT [WHEELS]
#
# BUNDLE is a git bundle of the commit to record with (git bundle create lab.bundle main); it is cloned into a neutral
# folder, and the repository of tests/history_repo.py made beside it. OUT receives history.tar.gz: `commits/`, one run
# of each commit of its main line, and `noise/`, the same build in PROCESSES processes (10), none where it is 0; and the
# log. WHEELS holds wheels of packages the machine lacks (ncu-report). Run it on another occasion with COMMITS=0 for
# noise alone. What begins after BUDGET seconds (420) is left out; the exit code counts what failed.
set -uo pipefail
bundle=$(realpath "$1") out=$(realpath "$2") wheels=${3:+$(realpath "$3")}
lab=/tmp/ncu-lab demo=/tmp/gram store=/tmp/history
budget=${BUDGET:-420} processes=${PROCESSES:-10} commits=${COMMITS:-1}
rm -rf "$lab" "$demo" "$store" /tmp/site && git clone -q "$bundle" "$lab" -b main || exit
if [ -n "${wheels:-}" ]; then
    python3 -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --upgrade --target /tmp/site "$wheels"/*.whl || exit
fi
export PYTHONPATH=/tmp/site:$lab:$lab/dashboards${PYTHONPATH:+:$PYTHONPATH} PYTHONUNBUFFERED=1 COLUMNS=150
python3 "$lab/tests/history_repo.py" "$demo" && cd "$demo" || exit
mkdir -p "$store/commits" "$store/noise"
failed=0
step() { # Runs one command, tells how long it took and how it ended; a failure does not stop the next.
    local start=$SECONDS
    echo "\$ ncu-lab ${*}"
    if ((SECONDS > budget)); then
        echo "[left out: $SECONDS s are over]"
        failed=$((failed + 1))
        return
    fi
    python3 -m ncu_lab.cli.app "$@"
    local code=$?
    [ $code -eq 0 ] || failed=$((failed + 1))
    echo "[exit $code, $((SECONDS - start)) s]"
}
# Counters alone: no tables per instruction, which are what makes a run large.
counters=()
for section in SpeedOfLight MemoryWorkloadAnalysis MemoryWorkloadAnalysis_Tables WarpStateStats SchedulerStats \
    InstructionStats Occupancy LaunchStats; do
    counters+=(--section "$section")
done
main() {
    nvidia-smi --query-gpu=name,uuid,driver_version,power.limit,clocks.max.sm --format=csv | sed 's/GPU-[0-9a-f-]*\(.\{4\}\),/…\1,/'
    export NCU_LAB_STORE=$store/commits
    step doctor
    if [ "$commits" = 1 ]; then
        step profile --rev begin..main --stage gram --stage product --size 2048 --samples 10 --no-reference \
            --drop-report
        # Once more: everything is in the store, so that nothing is built or profiled.
        step profile --rev begin..main --stage gram --stage product --size 2048 --samples 10 --no-reference \
            --drop-report
        step runs
    fi
    export NCU_LAB_STORE=$store/noise
    for ((process = 0; process < processes; process++)); do
        step profile --rev main --again --stage gram --size 2048 --samples 10 --no-reference --drop-report \
            "${counters[@]}"
    done
    git status --short
    git worktree list
    echo "$failed steps failed"
}
main 2>&1 | tee "$out/history.log"
tar -C "$store" --exclude='.*' -cf - commits noise | gzip -9 >"$out/history.tar.gz"
du -sh "$store"/*/*/ "$out"/*
exit "$(tail -1 "$out/history.log" | cut -d' ' -f1)"
