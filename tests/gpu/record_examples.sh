#!/usr/bin/env bash
# Records the bundled example runs on a GPU machine, by the product itself, from a clean checkout.
#
#   record_examples.sh BUNDLE OUT [WHEELS]
#
# BUNDLE is a git bundle of the commit to record (git bundle create lab.bundle main); it is cloned into a neutral
# folder, so that no path of the machine enters the runs. OUT receives the store, packed, and the log.
# WHEELS holds wheels of packages the machine lacks (ncu-report, nvidia-cutlass). TUNE names the sizes that tiles are
# searched for first, since autotuned is built with what was found (1024 4096); where it is empty, the searches that are
# bundled stand for them.
set -uo pipefail
bundle=$(realpath "$1") out=$(realpath "$2") wheels=${3:+$(realpath "$3")}
lab=/tmp/ncu-lab
rm -rf "$lab" /tmp/site && git clone -q "$bundle" "$lab" -b main || exit
if [ -n "${wheels:-}" ]; then
    python3 -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --upgrade --target /tmp/site "$wheels"/*.whl || exit
fi
export PYTHONPATH=/tmp/site:$lab:$lab/dashboards${PYTHONPATH:+:$PYTHONPATH} PYTHONUNBUFFERED=1 COLUMNS=150
cd "$lab" || exit
lab() { python3 -m ncu_lab.cli.app "$@"; }
step() { # Runs one command, tells how long it took and how it ended; a failure does not stop the next.
    echo "\$ ncu-lab ${*}"
    local start=$SECONDS
    lab "$@"
    echo "[exit $?, $((SECONDS - start)) s]"
    # After each command: what is recorded is not lost where a later one outlasts the machine.
    tar -C reports -cf - --exclude=examples --exclude=README.md --exclude='./.?*' . | gzip -1 >"$out/runs.tmp" &&
        mv "$out/runs.tmp" "$out/runs.tar.gz"
}
{
    nvidia-smi --query-gpu=name,driver_version,power.limit,clocks.max.sm --format=csv
    step doctor
    [ -n "${TUNE-1024 4096}" ] || cp -r reports/examples/tuning reports/
    for size in ${TUNE-1024 4096}; do step tune --stage autotuned --size "$size"; done
    # The newest run is what is shown when nothing else is asked for: 4096.
    step profile --all --size 1024 --drop-report
    step profile --all --size 4096 --drop-report
    step profile --name cupy-three-launches --nvtx step/ --keep-report -- python3 tests/gpu/three_launches.py
    step runs
    step ladder --size 4096
} 2>&1 | tee "$out/record.log"
du -sh reports/*/ "$out"/*
