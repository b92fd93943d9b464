from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ncu_lab.collect import ncu as ncu_module
from ncu_lab.collect.log import KernelProgress
from ncu_lab.collect.ncu import Ncu, find_ncu, known_sections, known_sets, run_ncu
from ncu_lab.errors import EnvironmentLacksError
from ncu_lab.metrics import TARGETED_SECTIONS

FAKES = Path(__file__).parents[2] / "fakes"
FAKE = FAKES / "ncu"


def install(path: Path, version: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho 'Version {version}.0 (build 1)'\n")
    path.chmod(0o755)
    return path


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie nobody has reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(*files: Path) -> list[int]:
    deadline = time.monotonic() + 20
    while not all(file.exists() and file.read_text() for file in files):
        assert time.monotonic() < deadline, "the fake's children did not start"
        time.sleep(0.02)
    return [int(file.read_text()) for file in files]


@pytest.fixture
def argv(tmp_path: Path) -> list[str]:
    files = ["--export", str(tmp_path / "r.ncu-rep"), "--log-file", str(tmp_path / "ncu.log")]
    return [sys.executable, str(FAKE), *files, "--", "./app"]


def test_ncu_is_found_by_variable_then_path_then_the_newest_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = install(tmp_path / "mine" / "ncu", "2024.1.0")
    on_path = install(tmp_path / "bin" / "ncu", "2025.3.1")
    install(tmp_path / "usr" / "local" / "cuda-13.0" / "bin" / "ncu", "2025.9.0")
    newest = install(tmp_path / "opt" / "nvidia" / "nsight-compute" / "2025.10.0" / "ncu", "2025.10.0")

    monkeypatch.setenv("NCU_LAB_NCU", str(named))
    monkeypatch.setenv("PATH", str(on_path.parent), prepend=":")
    assert find_ncu(tmp_path) == Ncu(named, "2024.1.0")
    monkeypatch.delenv("NCU_LAB_NCU")
    assert find_ncu(tmp_path) == Ncu(on_path, "2025.3.1")
    monkeypatch.setenv("PATH", "/bin")
    assert find_ncu(tmp_path) == Ncu(newest, "2025.10.0")


def test_without_ncu_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NCU_LAB_NCU", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentLacksError, match="there is no ncu") as error:
        find_ncu(tmp_path)
    assert "NCU_LAB_NCU=" in error.value.hint
    monkeypatch.setenv("NCU_LAB_NCU", str(tmp_path / "nothing"))
    with pytest.raises(EnvironmentLacksError, match=r"NCU_LAB_NCU names .*nothing, which is no program"):
        find_ncu(tmp_path)


def test_the_config_option_is_used_only_where_it_exists() -> None:
    assert not Ncu(Path("ncu"), "2023.2.9").can_ignore_config
    assert Ncu(Path("ncu"), "2023.3.0").can_ignore_config
    assert Ncu(Path("ncu"), "2025.10.1").can_ignore_config


def test_the_sections_and_sets_it_knows() -> None:
    fake = Ncu(FAKE, "2025.3.1")
    assert set(known_sections(fake)) == set(TARGETED_SECTIONS)
    assert known_sets(fake) == ("basic", "detailed", "full", "roofline")


def test_progress_and_output_are_kept_apart(tmp_path: Path, argv: list[str]) -> None:
    told: list[KernelProgress] = []
    outcome = run_ncu(
        argv, log_path=tmp_path / "ncu.log", output_path=tmp_path / "out", timeout_s=60, on_progress=told.append
    )
    assert outcome.exit_code == 0
    assert not outcome.timed_out
    assert outcome.output == "the program's own words\n"
    assert "the program's own words" not in outcome.log
    assert told[-1] == KernelProgress(3, "saxpy", 100, 13)
    assert [state.number for state in told] == sorted(state.number for state in told)


def test_a_hang_ends_with_the_whole_family_dead(
    tmp_path: Path, argv: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_NCU_HANG", str(tmp_path))
    monkeypatch.setattr(ncu_module, "GRACE_S", 0.3)
    monkeypatch.setattr(ncu_module, "_follow", after_start(tmp_path, ncu_module._follow))
    outcome = run_ncu(argv, log_path=tmp_path / "ncu.log", output_path=tmp_path / "out", timeout_s=0.0)
    assert outcome.timed_out
    child, grandchild = (int((tmp_path / f"pid-{depth}").read_text()) for depth in (1, 0))
    assert not alive(child)
    assert not alive(grandchild)


def test_an_interrupt_ends_the_whole_family(tmp_path: Path, argv: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_NCU_HANG", str(tmp_path))
    monkeypatch.setattr(ncu_module, "GRACE_S", 0.3)

    def interrupted(*_: object) -> object:
        wait_for(tmp_path / "pid-0", tmp_path / "pid-1")
        raise KeyboardInterrupt

    monkeypatch.setattr(ncu_module, "_follow", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_ncu(argv, log_path=tmp_path / "ncu.log", output_path=tmp_path / "out", timeout_s=60)
    assert not any(alive(int((tmp_path / f"pid-{depth}").read_text())) for depth in (0, 1))


def after_start(folder: Path, follow: object) -> object:
    """Return ``follow`` that begins once the fake's descendants are there, so that the test races nothing."""

    def wrapped(*arguments: object) -> object:
        wait_for(folder / "pid-0", folder / "pid-1")
        return follow(*arguments)  # type: ignore[operator]  # the module's own generator

    return wrapped


def test_an_ncu_that_cannot_start_is_an_environment_error(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentLacksError, match="ncu cannot be started"):
        run_ncu([str(tmp_path / "gone")], log_path=tmp_path / "l", output_path=tmp_path / "o", timeout_s=1)


def test_a_second_interrupt_while_ending_still_leaves_no_orphan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stubborn = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", stubborn], start_new_session=True, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    # Undone before the wait below, which sleeps by the same clock where the process is not gone yet.
    with monkeypatch.context() as patched:
        patched.setattr(ncu_module.time, "sleep", interrupt)
        with pytest.raises(KeyboardInterrupt):
            ncu_module._end_group(process)
    assert process.wait(10) == -signal.SIGKILL
    process.stdout.close()
    assert os.getpid() != process.pid
