"""The child process: its words are relayed, its group is killed whole, its death is explained."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ncu_lab.errors import CheckFailedError, EnvironmentLacksError, ProgramError, UsageError
from ncu_lab.gpu.child import kill_group
from ncu_lab.gpu.supervisor import run_process, told_error
from ncu_lab.model import ProgressEvent


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_relays_progress_and_describes_what_is_done() -> None:
    events: list[ProgressEvent] = []
    run_process(
        python(
            "print('noise'); "
            'print(\'{"step": "check", "subject": "2d", "state": "update", "detail": "x", "fraction": 0.5}\'); '
            'print(\'{"step": "check", "subject": "2d", "state": "done", "seconds": 2, "data": {"n": 3}}\')'
        ),
        timeout_s=20,
        report=events.append,
        describe=lambda subject, data: f"{subject}: {data['n']} cases",
    )
    assert events == [
        ProgressEvent("check", "2d", "update", "x", 0.5),
        ProgressEvent("check", "2d", "done", "2d: 3 cases", seconds=2),
    ]


@pytest.mark.parametrize("kind", [UsageError, EnvironmentLacksError, CheckFailedError, ProgramError])
def test_raises_the_error_that_the_target_tells(kind: type[Exception]) -> None:
    line = f'{{"error": "{kind.__name__}", "message": "too big", "hint": "smaller"}}'
    with pytest.raises(kind) as caught:
        run_process(python(f"print({line!r}); raise SystemExit(2)"), timeout_s=20)
    assert (caught.value.message, caught.value.hint) == ("too big", "smaller")  # type: ignore[attr-defined]  # ours


def test_explains_a_crash_by_signal_stage_and_last_words() -> None:
    code = (
        "import os, sys; "
        'print(\'{"step": "bench", "subject": "smem", "state": "update"}\', flush=True); '
        "print('first', file=sys.stderr); print('CUDA said no', file=sys.stderr, flush=True); "
        "os.kill(os.getpid(), 11)"
    )
    with pytest.raises(ProgramError) as caught:
        run_process(python(code), timeout_s=20)
    assert caught.value.message == "the target process was killed by SIGSEGV during bench of smem"
    assert caught.value.hint == "first | CUDA said no"


def test_explains_an_exit_code() -> None:
    with pytest.raises(ProgramError, match="failed with exit code 7"):
        run_process(python("raise SystemExit(7)"), timeout_s=20)


def test_a_hanging_child_is_killed_with_its_grandchildren(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    code = (
        "import signal, subprocess, sys, time; "
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); "
        f"child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']); "
        f"open({str(note)!r}, 'w').write(str(child.pid)); time.sleep(600)"
    )
    with pytest.raises(ProgramError, match=r"did not end within 1 s and was killed"):
        run_process(python(code), timeout_s=1)
    assert not is_alive(int(note.read_text()))


def test_a_grandchild_that_outlives_the_child_is_killed_too(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    code = (
        "import subprocess, sys; "
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']); "
        f"open({str(note)!r}, 'w').write(str(child.pid))"
    )
    run_process(python(code), timeout_s=60)
    assert not is_alive(int(note.read_text()))


def test_an_interrupt_kills_the_group(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    code = (
        f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid())); "
        'print(\'{"step": "check", "subject": "x", "state": "start"}\', flush=True); time.sleep(600)'
    )

    def interrupt(_: ProgressEvent) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_process(python(code), timeout_s=60, report=interrupt)
    assert not is_alive(int(note.read_text()))


def test_killing_what_has_ended_does_no_harm() -> None:
    process = subprocess.Popen(python("pass"), start_new_session=True)
    process.wait()
    kill_group(process)
    assert process.returncode == 0
    assert os.getpid()


def test_told_error_ignores_other_lines() -> None:
    assert told_error("no json") is None
    assert told_error("[1]") is None
    assert told_error('{"step": "check"}') is None
    assert isinstance(told_error('{"error": "Strange", "message": "m"}'), ProgramError)
