"""``ncu-lab profile`` of any program, end to end, against a fake ncu that replays what the real one said and wrote."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from lab_command import FAKES, THREE_LAUNCHES, Done, command, environment, leftovers, ncu_lab, stored_runs

from ncu_lab.store import Store
from ncu_lab.workflows import collecting

REPORT = str(THREE_LAUNCHES)


def profile(folder: Path, *options: str, **variables: str) -> Done:
    return ncu_lab(folder, "profile", "--name", "demo", *options, "--", "/bin/true", "--size", "3", **variables)


def test_any_program_is_profiled_stored_and_summed_up(tmp_path: Path) -> None:
    done = profile(tmp_path, FAKE_NCU_REPORT=REPORT)
    assert (done.returncode, leftovers(tmp_path)) == (0, []), done.stderr
    [folder] = stored_runs(tmp_path)
    run = Store(folder.parent).read(folder.name)
    assert (run.meta.status, run.meta.name, run.meta.stages, run.meta.problem) == ("complete", "demo", (), None)
    assert list(run.launches["function"]) == ["saxpy", "saxpy", "saxpy"]
    assert set(run.launches["stage"]) == {None}
    assert run.meta.device is not None
    assert run.meta.device.name == "NVIDIA H200"
    assert run.meta.environment.ncu == "2025.3.1"
    assert (run.meta.environment.clock_control, run.meta.environment.cache_control) == ("none", "all")
    assert run.meta.command == ("ncu-lab", "profile", "--name", "demo", "--", "/bin/true", "--size", "3")
    assert run.meta.environment.sections[0] == "SpeedOfLight"
    assert (folder / "report.ncu-rep").is_file()
    assert f"stored   {folder.name}" in done.stderr
    assert "3 kernels, 13 passes" in done.stderr
    assert "saxpy" in done.stdout


def test_json_is_alone_on_stdout(tmp_path: Path) -> None:
    done = profile(tmp_path, "--format", "json", FAKE_NCU_REPORT=REPORT)
    document = json.loads(done.stdout)
    assert document["schema"] == 1
    assert len(document["launches"]) == 3


def test_the_report_can_be_dropped(tmp_path: Path) -> None:
    assert profile(tmp_path, "--drop-report", FAKE_NCU_REPORT=REPORT).returncode == 0
    [folder] = stored_runs(tmp_path)
    assert not (folder / "report.ncu-rep").exists()


def test_options_reach_ncu(tmp_path: Path) -> None:
    argv = tmp_path / "argv"
    options = ("-k", "sax", "--nvtx", "step/", "--launches", "3", "--clock-control", "base", "--section", "LaunchStats")
    done = profile(tmp_path, *options, FAKE_NCU_REPORT=REPORT, FAKE_NCU_ARGV=str(argv))
    assert done.returncode == 0, done.stderr
    words = argv.read_text().splitlines()
    assert words[-4:] == ["--", "/bin/true", "--size", "3"]
    for option, value in (
        ("--kernel-name", "regex:sax"),
        ("--nvtx-include", "step/"),
        ("--launch-count", "3"),
        ("--clock-control", "base"),
        ("--section", "LaunchStats"),
    ):
        assert words[words.index(option) + 1] == value


def test_a_dry_run_prints_the_command_and_does_nothing(tmp_path: Path) -> None:
    done = profile(tmp_path, "--dry-run", "-k", "sax")
    assert done.returncode == 0
    assert done.stdout.startswith(f"{FAKES / 'ncu'} --config-file off --force-overwrite")
    assert done.stdout.endswith("-- /bin/true --size 3\n")
    assert stored_runs(tmp_path) == []


def test_the_programs_own_output_does_not_disturb(tmp_path: Path) -> None:
    words = ("/bin/echo", '==PROF== Profiling "fake": 0%....50%....100% - 9 passes')
    done = ncu_lab(tmp_path, "profile", "--name", "demo", "--", *words, FAKE_NCU_REPORT=REPORT, FAKE_NCU_RUN="1")
    assert done.returncode == 0
    assert "3 kernels, 13 passes" in done.stderr


@pytest.mark.parametrize(
    ("says", "exit_code", "message", "hint"),
    [
        ("no-kernel", 2, "no kernel of the program matches -k nothing", "Kernels it has: Kernel2, f2h"),
        ("app-without-cuda", 2, "no kernel of the program matches -k nothing", "does it use the GPU?"),
        ("app-crash", 5, "the program ended with exit code 11, which is what SIGSEGV gives", "Run it without ncu"),
        ("app-exit3", 5, "the program ended with exit code 3", "Run it without ncu"),
        ("killed-program", 5, "the program ended with exit code 9, which is what SIGKILL gives", "Run it without"),
        ("no-app", 2, "there is no program ./nosuchapp", "after the two dashes"),
        ("bad-section", 2, "ncu knows no section NoSuchSection", "ncu --list-sections"),
        ("bad-set", 2, "ncu knows no such --set", "ncu --list-sets"),
        ("bad-option", 4, "unrecognised option '--no-such-option'", "ncu-lab doctor"),
        ("output-exists", 5, "ncu would not overwrite", "profile again"),
        ("no-permission", 4, "ERR_NVGPUCTRPERM: this user may not read", "NVreg_RestrictProfilingToAdminUsers=0"),
        ("library-not-loaded", 4, "counters cannot be read on this machine", "NVIDIA_DRIVER_CAPABILITIES=all"),
        ("other-profiler", 4, "another profiler or debugger is attached", "compute-sanitizer"),
        ("mig-clocks", 4, "ncu could not lock the GPU's clocks", "--clock-control none"),
        ("lock-file", 4, "/tmp/nsight-compute-lock cannot be opened", "TMPDIR=$HOME/tmp"),
        ("old-driver", 4, "the GPU driver is too old for this ncu", "NCU_LAB_NCU"),
        ("unsupported-gpu", 4, "this ncu cannot profile this GPU", "ncu --list-chips"),
        ("unsupported-wsl", 4, "GPU as it uses the Windows Subsystem for Linux (WSL)", "ncu --list-chips"),
        ("no-gpu", 4, "the program found no usable GPU or driver", "ncu-lab doctor"),
        ("disk-full", 4, "ncu could not save its report to /tmp/failures/full/x.ncu-rep", "TMPDIR=/elsewhere"),
        ("program-disk-full", 4, "the disk is full", "TMPDIR=/elsewhere"),
        ("sanitized", 5, "the program ended with exit code 255", "Run it without ncu first"),
        ("metric-not-found", 2, "no such metric on this GPU: no_such_metric", "--query-metrics"),
        ("metrics-not-accessible", 2, "on this GPU: nvlrx__bytes.sum, nvltx__bytes.sum", "--query-metrics"),
        ("kernel-fault", 5, "a kernel of the program failed on the GPU: an illegal memory access", "compute-sanitizer"),
        ("out-of-memory", 5, "the program ran out of GPU memory", "choose a smaller size"),
        ("replay-memory", 5, "ncu ran out of memory while it kept what the kernel writes", "Choose a smaller size"),
        ("hang", 5, "ncu was ended by a signal from outside", "limit of time or memory"),
        ("interrupted", 5, "ncu was ended by a signal from outside", "limit of time or memory"),
        ("illegal-address", 5, "kernel writes_astray(float *) failed on the GPU", "compute-sanitizer"),
        ("muddled", 5, "kernel writes_astray(float *) failed on the GPU", "compute-sanitizer"),
        ("unreadable-home", 4, "ncu may not look for its settings in /home/another/", "Set HOME"),
        ("wrapper", 5, "the program ended before it used CUDA", "Profile the program itself"),
        ("sanitizer", 2, "no kernel of the program matches -k nothing", "does it use the GPU?"),
        ("ended-by-signal", 5, "ncu was ended by a signal from outside", "limit of time or memory"),
        ("launch-failed", 5, "ncu could not profile kernel distribution_elementwise_grid...", "compute-sanitizer"),
        ("unknown-error", 5, "ncu failed: UnknownError (kernel scale_f32)", "ncu-lab doctor"),
        ("shut-down", 5, "ncu failed: it ended the program itself, and does not say why", "ncu-lab doctor"),
        ("new-words", 5, "ncu failed: The flux of the counters is reversed.", "ncu-lab doctor"),
        ("not-instrumented", 5, "the program ended before it used CUDA", "Profile the program itself"),
    ],
)
def test_every_known_failure_ends_in_a_clear_line(
    tmp_path: Path, says: str, exit_code: int, message: str, hint: str
) -> None:
    done = profile(tmp_path, "-k", "nothing", FAKE_NCU_SAYS=says)
    assert done.returncode == exit_code
    assert message in done.stderr
    assert hint in done.stderr
    assert "Traceback" not in done.stderr
    assert (done.stdout, stored_runs(tmp_path), leftovers(tmp_path)) == ("", [], [])


def test_busy_counters_amid_the_programs_output_are_recognised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "RETRY_DELAY_S", 0.0)
    done = profile(tmp_path, FAKE_NCU_SAYS="interleaved", FAKE_NCU_CONSOLE="1")
    assert done.returncode == 4
    assert "the GPU's counters are held by another tool" in done.stderr
    assert "dcgmi profile --pause" in done.stderr


def test_a_metric_that_was_not_collected_is_named_and_the_rest_is_kept(tmp_path: Path) -> None:
    done = profile(tmp_path, "--metrics", "no_such_metric.sum,gpu__time_duration.sum", FAKE_NCU_REPORT=REPORT)
    assert done.returncode == 2
    assert "error: not collected, though asked for with --metrics: no_such_metric.sum" in done.stderr
    [folder] = stored_runs(tmp_path)
    assert f"What was done is stored as {folder.name} (partial)." in done.stderr
    run = Store(folder.parent).read(folder.name)
    assert (run.meta.status, len(run.launches)) == ("partial", 3)
    assert run.meta.error is not None
    assert run.meta.error.startswith("not collected")
    assert (folder / "report.ncu-rep").is_file()


def test_a_program_that_fails_after_its_kernels_keeps_them(tmp_path: Path) -> None:
    done = profile(tmp_path, FAKE_NCU_SAYS="three-launches", FAKE_NCU_THEN="app-exit3", FAKE_NCU_REPORT=REPORT)
    assert done.returncode == 5
    assert "the program ended with exit code 3; 3 profiled launches until then are kept" in done.stderr
    assert [Store(run.parent).read(run.name).meta.status for run in stored_runs(tmp_path)] == ["partial"]


def test_ncu_killed_over_half_a_report_keeps_what_is_whole(tmp_path: Path) -> None:
    done = profile(tmp_path, FAKE_NCU_REPORT=REPORT, FAKE_NCU_CUT="200000")
    assert done.returncode == 5
    assert leftovers(tmp_path) == []
    [folder] = stored_runs(tmp_path)
    run = Store(folder.parent).read(folder.name)
    assert run.meta.status == "partial"
    assert 0 < len(run.launches) < 3
    assert "at byte 200000" in run.meta.warnings[-1].message


def test_ncu_killed_over_the_first_bytes_of_a_report_leaves_nothing(tmp_path: Path) -> None:
    done = profile(tmp_path, FAKE_NCU_REPORT=REPORT, FAKE_NCU_CUT="2000")
    assert done.returncode in (3, 5)
    assert "Traceback" not in done.stderr
    assert (stored_runs(tmp_path), leftovers(tmp_path)) == ([], [])


def test_a_report_that_was_there_before_is_never_taken_for_the_new_one(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    for folder in (tmp_path, tmp_path / "tmp"):
        (folder / "report.ncu-rep").write_bytes(gzip.decompress(THREE_LAUNCHES.read_bytes()))
    done = profile(tmp_path, FAKE_NCU_SAYS="app-without-cuda")
    assert done.returncode == 5
    assert "the program launched no kernel that ncu could profile" in done.stderr
    assert stored_runs(tmp_path) == []


def test_a_report_of_the_first_try_is_not_taken_for_that_of_the_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "RETRY_DELAY_S", 0.0)
    argv = tmp_path / "argv"
    done = profile(tmp_path, FAKE_NCU_SAYS="counters-busy", FAKE_NCU_ARGV=str(argv))
    assert done.returncode == 4
    words = argv.read_text().splitlines()
    report = Path(words[words.index("--export") + 1])
    assert (report.parent.name, report.parent.exists()) == (str(collecting.RETRIES), False)


def test_a_hang_is_ended_with_all_its_processes(tmp_path: Path) -> None:
    done = profile(tmp_path, "--timeout", "3", FAKE_NCU_HANG=str(tmp_path))
    assert done.returncode == 5
    assert "profiling took longer than 3 s and was ended before the first kernel" in done.stderr
    assert_dead(tmp_path)
    assert (stored_runs(tmp_path), leftovers(tmp_path)) == ([], [])


def test_a_hang_in_a_kernel_names_it(tmp_path: Path) -> None:
    done = profile(tmp_path, "--timeout", "3", FAKE_NCU_SAYS="hang", FAKE_NCU_HANG=str(tmp_path))
    assert done.returncode == 5
    assert "longer than 3 s and was ended in kernel 2 (waits_for_another)" in done.stderr
    assert "as collectives do, hangs when it is replayed" in done.stderr
    assert_dead(tmp_path)


@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_ends_everything_and_leaves_nothing(
    tmp_path: Path, number: signal.Signals, exit_code: int
) -> None:
    process = subprocess.Popen(
        command("profile", "--name", "demo", "--", "/bin/true"),
        cwd=tmp_path,
        env=environment(tmp_path, FAKE_NCU_HANG=str(tmp_path)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 30
    while not all((tmp_path / f"pid-{depth}").exists() for depth in (0, 1)):
        assert time.monotonic() < deadline, "the fake's children did not start"
        time.sleep(0.05)
    process.send_signal(number)
    _, words = process.communicate(timeout=30)
    assert process.returncode == exit_code
    assert "Traceback" not in words
    assert_dead(tmp_path)
    assert (stored_runs(tmp_path), leftovers(tmp_path)) == ([], [])


def assert_dead(folder: Path) -> None:
    for depth in (0, 1):
        pid = int((folder / f"pid-{depth}").read_text())
        state = Path(f"/proc/{pid}/stat")
        assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"


@pytest.mark.parametrize(
    ("arguments", "exit_code", "message"),
    [
        (("--name", "x"), 2, "no program was named"),
        (("--stage", "2d", "--", "/bin/true"), 2, "--stage does not go with a program"),
        (("--size", "64", "--", "/bin/true"), 2, "--size does not go with a program"),
        (("--stage", "2d", "--nvtx", "a"), 2, "--nvtx does not go with stages"),
        (("--stage", "2d", "-k", "sgemm"), 2, "-k sgemm is no size"),
        (("--stage", "2d", "--all"), 2, "--stage and --all exclude each other"),
        ((), 2, "no stage was named"),
        (("--stage", "2dd"), 2, 'there is no stage "2dd". Did you mean 2d?'),
        (("--stage", "2d", "--size", "0"), 2, "--size 0 is too small"),
        (("--stage", "2d", "-m", "-5"), 2, "size m = -5 is too small"),
        (("--stage", "2d", "--size", "50000"), 2, "has more than 2^31 - 1 elements"),
        (("--stage", "2d", "--samples", "0"), 2, "--samples 0 is too small"),
        (("-k", "(", "--", "/bin/true"), 2, "-k ( is no regular expression"),
        (("--section", "SpeedOfLite", "--", "/bin/true"), 2, "no section SpeedOfLite. Did you mean SpeedOfLight?"),
        (("--set", "ful", "--", "/bin/true"), 2, "ncu knows no set ful. Did you mean full?"),
    ],
)  # fmt: skip
def test_wrong_usage_is_refused_before_anything_runs(
    tmp_path: Path, arguments: tuple[str, ...], exit_code: int, message: str
) -> None:
    done = ncu_lab(tmp_path, "profile", *arguments)
    assert done.returncode == exit_code, done.stderr
    assert f"error: {message}" in done.stderr or message in done.stderr
    assert len(done.stderr.splitlines()) <= 2
    assert stored_runs(tmp_path) == []


def test_without_ncu_it_says_how_to_get_it(tmp_path: Path) -> None:
    done = ncu_lab(tmp_path, "profile", "--name", "x", "--", "/bin/true", NCU_LAB_NCU="/nowhere/ncu")
    assert done.returncode == 4
    assert "NCU_LAB_NCU names /nowhere/ncu, which is no program" in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_store_that_cannot_be_written_is_refused_first(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir(mode=0o500)
    done = profile(tmp_path, FAKE_NCU_REPORT=REPORT)
    assert done.returncode == 4
    assert "cannot be written" in done.stderr


def test_a_store_that_is_a_file_is_refused_first(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("")
    done = profile(tmp_path, FAKE_NCU_REPORT=REPORT, FAKE_NCU_ARGV=str(tmp_path / "argv"))
    assert done.returncode == 4
    assert "cannot be written" in done.stderr
    assert not (tmp_path / "argv").exists()
