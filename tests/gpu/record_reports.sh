#!/usr/bin/env bash
# Records reports of the kinds that public ones lack, and every page ncu exports of them, on a GPU machine.
#
#   record_reports.sh [OUT]      (OUT: a folder, by default $OUT)
#
# Needs nvcc, ncu with counter permission, python3. Works in a neutral folder, so that no path of the machine enters
# the reports. OUT receives recorded-reports.tar.gz: reports, exports, what each ncu printed (NAME.out, NAME.err) and
# exit-codes.txt with the command behind every report.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath "${1:-${OUT:?give the folder for the results}}") || exit
work=/tmp/reports
limit_mib=16
ulimit -c 0
rm -rf "$work" && mkdir -p "$work" && cp "$here/reports.cu" "$work" && cd "$work" || exit
nvcc -std=c++17 -O2 -lineinfo -arch=native -o reports reports.cu || exit
few=gpu__time_duration.sum,dram__bytes.sum,sm__cycles_active.avg,launch__waves_per_multiprocessor

record() { # NAME ncu-arguments…: one profile, its output and its exit code; a failure does not stop the next
    local name=$1 start=$SECONDS
    shift
    timeout 60 ncu --clock-control none -f "$@" >"$name.out" 2>"$name.err"
    printf '%s\t%d\tncu --clock-control none -f %s\n' "$name" $? "$*" >>exit-codes.txt
    echo "$name: $((SECONDS - start)) s"
}

record full --set full --import-source yes -o full.ncu-rep ./reports launches
record metrics --metrics "$few" -o metrics.ncu-rep ./reports launches
record graph --graph-profiling graph --set basic -o graph.ncu-rep ./reports graph
record graph-nodes --graph-profiling node --set basic -o graph-nodes.ncu-rep ./reports graph
record range --replay-mode range --set basic -o range.ncu-rep ./reports range
record app-range --replay-mode app-range --set basic -o app-range.ncu-rep ./reports range
record processes --target-processes all --set basic -o processes.ncu-rep ./reports spawn
record nvtx --nvtx --nvtx-include step/ --set basic -o nvtx.ncu-rep ./reports nvtx
record nvtx-all --nvtx --set basic -o nvtx-all.ncu-rep ./reports nvtx
record source --section SourceCounters --import-source yes -o source.ncu-rep ./reports launches
record long-name --set basic -o long-name.ncu-rep ./reports long-name
record crash-host --set basic -o crash-host.ncu-rep ./reports crash-host
record crash-device --set basic -o crash-device.ncu-rep ./reports crash-device
record no-extension --set basic -o no-extension ./reports launches
# What people redirect into a file: the table amid the program's output, and an export of nothing.
record live-raw --csv --page raw --metrics "$few" ./reports launches
record live-details --csv --page details --set basic ./reports launches
record live-processes --csv --page raw --metrics "$few" --target-processes all ./reports spawn
record live-crash --csv --page raw --metrics "$few" ./reports crash-device
record live-nothing --csv --page raw --metrics "$few" -k no_such_kernel ./reports launches
record live-log --csv --page raw --metrics "$few" --log-file live-log.csv ./reports launches
record live-no-cuda --csv --page raw --metrics "$few" ./reports no-cuda

# A .ncu-repz where this ncu writes none: the whole report in one zstd stream.
if [ ! -e no-extension.ncu-repz ] && [ -e no-extension.ncu-rep ]; then
    zstd -q -f no-extension.ncu-rep -o made-by-zstd.ncu-repz || python3 - <<'PYTHON' || echo "no zstd here: no .ncu-repz"
try:
    from compression import zstd as codec
except ImportError:
    import zstandard as codec
packed = codec.compress(open("no-extension.ncu-rep", "rb").read())
open("made-by-zstd.ncu-repz", "wb").write(packed)
PYTHON
fi

# A locale of dots between thousands and a decimal comma, built here where the system has none.
mkdir -p locales
locale -a | grep -qi '^de_DE.utf-\?8$' || localedef -i de_DE -f UTF-8 locales/de_DE.UTF-8 2>/dev/null || echo "no de_DE here"

export_page() { # REPORT PAGE: one export; what ncu wrote to stderr is kept where there is any
    local report=$1 page=$2 name=${1%.ncu-rep*} arguments locale=()
    case $page in
    raw.base | details.base) arguments="--page ${page%.base} --print-units base" ;;
    raw.instances) arguments="--page raw --print-metric-instances values" ;;
    raw.instance-details) arguments="--page raw --print-metric-instances details" ;;
    raw.mangled) arguments="--page raw --print-kernel-base mangled" ;;
    details.all) arguments="--page details --print-details all" ;;
    details.names) arguments="--page details --print-metric-name name" ;;
    details.summary) arguments="--page details --print-summary per-kernel" ;;
    source.sass | source.ptx | source.cuda) arguments="--page source --print-source ${page#source.}" ;;
    source.cuda-sass) arguments="--page source --print-source cuda,sass" ;;
    *.german)
        arguments="--page ${page%.german}" locale=(LC_ALL=de_DE.UTF-8)
        [ -z "$(ls locales)" ] || locale+=("LOCPATH=$PWD/locales")
        ;;
    *) arguments="--page $page" ;;
    esac
    # shellcheck disable=SC2086  # the arguments are words
    timeout 60 env "${locale[@]}" ncu --import "$report" --csv $arguments >"$name.$page.csv" 2>"$name.$page.err"
    printf '%s\t%d\tncu --import %s --csv %s\n' "$name.$page" $? "$report" "$arguments" >>exit-codes.txt
    [ -s "$name.$page.err" ] || rm "$name.$page.err"
}
export -f export_page
pages="raw raw.base raw.german raw.instances raw.instance-details raw.mangled details details.base details.german details.all
details.names details.summary source.sass source.cuda source.ptx source.cuda-sass session"
for report in *.ncu-rep; do
    for page in $pages; do printf '%s %s\n' "$report" "$page"; done
done | xargs -P "$(nproc)" -L 1 bash -c 'export_page "$0" "$1"'

ncu --version >versions.txt
nvidia-smi --query-gpu=name,driver_version --format=csv >>versions.txt
sort -o exit-codes.txt exit-codes.txt
cut -f 1-2 exit-codes.txt | awk '$2 != 0'
rm -rf reports locales
tar -C /tmp -cf - reports | gzip -9 >"$out/recorded-reports.tar.gz"
ls -l "$out/recorded-reports.tar.gz"
[ "$(stat -c %s "$out/recorded-reports.tar.gz")" -le $((limit_mib << 20)) ] || { echo "larger than $limit_mib MiB" >&2 && exit 1; }
