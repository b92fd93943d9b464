"""What this machine can do, found out by trying: each tool is run, and the counters are read of a real kernel."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ncu_lab.collect.command import Collection, Selection
from ncu_lab.collect.ncu import find_ncu
from ncu_lab.errors import EnvironmentLacksError, NcuLabError
from ncu_lab.gpu.compile import find_nvcc
from ncu_lab.gpu.devices import cupy_version, current_device, driver_version, load_cublas
from ncu_lab.gpu.request import TargetRequest, write
from ncu_lab.gpu.sass import disassembler, install_hint
from ncu_lab.gpu.target import argv
from ncu_lab.metrics import ATTRIBUTION_METRICS
from ncu_lab.model import Problem, ProgressEvent, Reporter, silent
from ncu_lab.store import Store
from ncu_lab.workflows.collecting import CollectionError, Job, collect

PROBE_TIMEOUT_S = 120.0

_PROBE = Collection(sections=("LaunchStats",), metrics=ATTRIBUTION_METRICS[:1])
"""One section that needs no counter, and one counter of the hardware."""

State = Literal["ok", "missing", "failed", "skipped"]

NEEDS: dict[str, tuple[str, ...]] = {
    "stages": (),
    "build": ("nvcc",),
    "check": ("nvcc", "driver", "cupy", "cuBLAS", "GPU"),
    "bench": ("nvcc", "driver", "cupy", "cuBLAS", "GPU"),
    "profile": ("nvcc", "driver", "cupy", "cuBLAS", "GPU", "ncu", "counters", "store"),
    "import": ("store",),
    "runs": (),
    "show": (),
    "ladder": (),
    "dashboard": (),
}
"""Which findings a command needs; those without needs read what is stored, here or elsewhere, or ships with us."""

_CONDITIONS = {"counters": "counters are readable", "store": "the store is writable"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was tried.

    Attributes:
        name: What it is.
        state: ``ok``, ``missing``, ``failed``, or ``skipped`` where what it needs is absent.
        detail: Its version or path; or what is wrong.
        fix: What to do; empty when it is ok.
    """

    name: str
    state: State
    detail: str
    fix: str = ""


def diagnose(store_dir: Path, report: Reporter = silent) -> list[Finding]:
    """Try everything the commands need.

    Args:
        store_dir: Folder of runs that would be written to.
        report: Told before the slow part, a kernel under ncu.
    """
    findings = [
        _try("nvcc", lambda: find_nvcc().version),
        *_driver_and_gpu(),
        _try("cupy", cupy_version),
        _try("cuBLAS", _cublas),
        _try("ncu", lambda: find_ncu().version),
    ]
    findings.append(_counters(findings, report))
    findings.append(_disassembler())
    findings.append(_try("store", lambda: _writable(store_dir), unwell="failed"))
    return findings


def can_run(command: str, findings: Sequence[Finding]) -> bool:
    """Whether a command of :data:`NEEDS` finds what it needs."""
    return not blockers(command, findings)


def blockers(command: str, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings that keep a command from running: the causes, not what was skipped because of them."""
    needed = [finding for finding in findings if finding.name in NEEDS[command] and finding.state != "ok"]
    return [finding for finding in needed if finding.state != "skipped"] or needed


def conclusion(findings: Sequence[Finding]) -> str:
    """Say in one sentence what can and what cannot run here."""
    blocking = blockers("profile", findings)
    if not blocking:
        return "Everything the main job needs is here."
    able = [command for command in NEEDS if can_run(command, findings)]
    unable = [command for command in NEEDS if command not in able]
    things = [finding.name for finding in blocking if finding.name not in _CONDITIONS]
    conditions = [f"{_listed(things)} {'are' if len(things) > 1 else 'is'} here"] if things else []
    conditions += [_CONDITIONS[finding.name] for finding in blocking if finding.name in _CONDITIONS]
    return f"{_listed(unable)} cannot run here until {_listed(conditions)}; {_listed(able)} can."


def _listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _try(name: str, action: Callable[[], str], unwell: State = "missing") -> Finding:
    try:
        return Finding(name, "ok", action())
    except EnvironmentLacksError as error:
        return Finding(name, unwell, error.message, error.hint)


def _driver_and_gpu() -> list[Finding]:
    gpu = _try("GPU", _gpu)
    version = driver_version()
    if version is not None or gpu.state == "ok":
        return [Finding("driver", "ok", version or "of unknown version"), gpu]
    driver = Finding(
        "driver",
        "missing",
        "no NVIDIA driver was found",
        "Install it on the host; a container also needs the NVIDIA container toolkit (docker run --gpus all).",
    )
    return [driver, Finding("GPU", "skipped", "not tried: needs driver")]


def _cublas() -> str:
    load_cublas()
    return "loads"


def _gpu() -> str:
    device = current_device()
    major, minor = device.compute_capability or (0, 0)
    return f"{device.name} (CC {major}.{minor})"


def _writable(store_dir: Path) -> str:
    was_there = store_dir.exists()
    Store(store_dir).check_writable()
    if not was_there:
        store_dir.rmdir()  # looking leaves nothing behind
    return str(store_dir)


def _disassembler() -> Finding:
    path = disassembler()
    if path is not None:
        return Finding("disassembler", "ok", path.name)
    return Finding("disassembler", "missing", "absent; the SASS instruction mix is skipped", install_hint())


def _counters(findings: Sequence[Finding], report: Reporter) -> Finding:
    """Profile one small kernel of our own: nothing else tells whether this user may read counters."""
    lacking = [finding.name for finding in findings if finding.name in ("cupy", "GPU", "ncu") and finding.state != "ok"]
    if lacking:
        return Finding("counters", "skipped", f"not tried: needs {_listed(lacking)}")
    report(ProgressEvent("profile", "probe", "start", "one small kernel under ncu"))
    with tempfile.TemporaryDirectory(prefix="ncu-lab-") as folder:
        path = Path(folder, "request.json")
        write(TargetRequest("probe", Problem(1, 1, 1), (), result=str(Path(folder, "result.json"))), path)
        job = Job(find_ncu(), tuple(argv(path)), _PROBE, Selection(from_start=False), PROBE_TIMEOUT_S, "probe")
        try:
            with collect(job, report) as collected:
                problem = collected.shortfall
        except CollectionError as error:
            problem = error.failure.error
        except NcuLabError as error:
            problem = error
    if problem is None:
        return Finding("counters", "ok", "readable")
    return Finding("counters", "failed", problem.message, problem.hint)
