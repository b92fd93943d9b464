#!/usr/bin/env bash
# Records what ncu says when it fails, on a GPU machine: the words in tests/data/ncu that name a step of it.
#
#   record_failures.sh [OUT]      (OUT: a folder, by default $OUT)
#
# Needs nvcc and ncu. Works in a neutral folder, so that no path of the machine enters the words. Each step that gave
# words we use is a `step` in tests/data/ncu/scenarios.toml. OUT receives failures.tar.gz: of each STEP.console (all of
# the console), STEP.log (ncu's log, where one was asked for), and exit-codes.txt with the exit code and the command.
# Takes less than a minute of GPU time; a step that hangs is ended after 8 s.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath "${1:-${OUT:?give the folder for the results}}") || exit
work=/tmp/failures
ulimit -c 0
rm -rf "$work" && mkdir -p "$work/tmp" && cp "$here/failures.cu" "$work" && cd "$work" || exit
nvcc -std=c++17 -O1 -arch=native -o failures failures.cu || exit
export TMPDIR=$work/tmp
one="--clock-control none --section LaunchStats"
counters="--clock-control none --section SpeedOfLight"

record() { # STEP command…: the console and the exit code of one command
    local step=$1 start=$SECONDS
    shift
    timeout -k 2 8 "$@" >"$step.console" 2>&1 </dev/null
    printf '%s\t%d\t%s\n' "$step" $? "$*" >>exit-codes.txt
    echo "$step: $((SECONDS - start)) s, $(grep -c '==ERROR==' "$step.console") errors"
}
profile() { # STEP ncu-arguments…: with a log file apart, as ncu-lab runs it; the console tells what went there instead
    local step=$1
    shift
    record "$step" ncu --log-file "$step.log" "$@"
}
# shellcheck disable=SC2086  # options are meant to be split
{
    ncu --version >version.txt
    # What is asked for.
    profile bad-option $one --no-such-option ./failures
    profile old-option $one --output x ./failures
    profile bad-section --section NoSuchSection ./failures
    profile bad-metric $one --metrics no_such_metric.sum ./failures
    profile regex-metric $one --metrics 'regex:^no_such_metric.*' ./failures
    profile mangled-filter $one -k _Z5scalePfi ./failures
    profile demangled-filter $one -k 'regex:scale\(float' ./failures
    profile base-filter $one --kernel-name-base demangled -k scale ./failures
    profile bad-nvtx $one --nvtx --nvtx-include 'nothing/' ./failures
    # The program and its kernels.
    profile illegal-address $counters ./failures illegal
    profile trap $counters ./failures trap
    profile kernel-fault $one -k scale ./failures illegal
    record muddled ncu $counters ./failures muddled
    profile out-of-memory $one ./failures greedy
    profile program-killed $one ./failures killed
    profile program-fails $one ./failures fails
    record unended-line ncu $one ./failures unended
    profile wrapper $one --target-processes application-only bash -c './failures'
    record hang ncu $one --log-file hang.log -k waits_for_another -o hang.ncu-rep -f ./failures hang
    for end in TERM INT; do
        # A shell lets what it starts in the background ignore an interrupt; env undoes that.
        [ $end = TERM ] && step=ncu-ended || step=interrupted
        setsid env --default-signal=INT ncu $one --log-file $step.log -o ended.ncu-rep -f ./failures hang \
            >$step.console 2>&1 &
        group=$!
        sleep 4
        kill -$end $group
        sleep 3
        kill -KILL -- -$group 2>/dev/null
        wait $group
        printf '%s\t%d\tkill -%s of ncu … ./failures hang\n' $step $? $end >>exit-codes.txt
    done
    # What the machine lacks.
    profile no-gpu $one ./failures blind
    chmod -R a+rX . && mkdir -m 1777 home locked
    nobody="setpriv --reuid=65534 --regid=65534 --clear-groups env"
    record unreadable-home $nobody HOME=/root TMPDIR=$work/home ncu $counters ./failures
    record no-permission $nobody HOME=$work/home TMPDIR=$work/home ncu $counters ./failures
    (umask 077 && : >locked/nsight-compute-lock)
    record stale-lock $nobody HOME=$work/home TMPDIR=$work/locked ncu $counters ./failures
    mkdir -p full && mount -t tmpfs -o size=16k none full &&
        record disk-full ncu $counters -o full/x -f ./failures && rm -f full/* &&
        record program-disk-full ncu $counters ./failures fills
    # Profilers beside each other; each with a temporary folder of its own, or they would take turns.
    record nested-ncu ncu $one --target-processes all ncu $one ./failures
    if command -v compute-sanitizer >/dev/null; then
        record sanitizer compute-sanitizer ncu $one ./failures
        record sanitized ncu $one --target-processes all compute-sanitizer ./failures
    fi
    command -v nsys >/dev/null && record nsys nsys profile -o nsys -f true ncu $one ./failures
    mkdir -p second
    TMPDIR=$work/second setsid ncu --set full --clock-control none --target-processes all \
        bash -c 'for i in $(seq 20); do ./failures; done' >second-profiler.other.console 2>&1 &
    group=$!
    sleep 2
    record second-profiler ncu $counters ./failures
    kill -KILL -- -$group 2>/dev/null
    wait $group
    # Importing.
    printf 'text\n' >text.ncu-rep
    ncu $one -o whole -f ./failures >/dev/null 2>&1
    head -c "$(($(stat -c %s whole.ncu-rep) / 2))" whole.ncu-rep >half.ncu-rep
    : >empty.ncu-rep
    for report in none text half empty; do record "import-$report" ncu --import "$report.ncu-rep"; done
    record export-page ncu --import whole.ncu-rep --page raw --print-metric-name name
}
umount full 2>/dev/null
tar -czf "$out/failures.tar.gz" -- *.console *.log exit-codes.txt version.txt
cut -c 1-150 exit-codes.txt
