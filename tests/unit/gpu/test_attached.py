"""Nothing is timed under a profiler."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncu_lab.errors import UsageError
from ncu_lab.gpu import attached
from ncu_lab.gpu.attached import attached_tool, refuse_under_a_profiler
from ncu_lab.gpu.registry import load_stages
from ncu_lab.gpu.request import Subject, TargetRequest
from ncu_lab.gpu.target import _MODES
from ncu_lab.model import Device, Problem

PLAIN = "7f0 r-xp 0 08:01 9 /usr/lib/x86_64-linux-gnu/libc.so.6\n7f1 r-xp 0 08:01 9 /usr/lib/libcuda.so.1\n"


@pytest.mark.parametrize(
    "library",
    [
        "libcuda-injection.so",
        "libInterceptorInjectionTarget.so",
        "libTreeLauncherTargetInjection.so",
        "libToolsInjection64.so",
        "libsanitizer-collection.so",
    ],
)
def test_tools_are_known_by_what_they_load(library: str) -> None:
    assert attached_tool(f"{PLAIN}7f2 r-xp 0 08:01 9 /opt/nvidia/target/{library}\n") == library


def test_cuda_itself_is_no_tool() -> None:
    assert attached_tool(PLAIN) is None
    refuse_under_a_profiler()  # of this very process


@pytest.mark.parametrize("mode", ["bench", "contest"])
def test_bench_refuses_under_a_profiler(mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    maps = tmp_path / "maps"
    maps.write_text(PLAIN + "7f2 r-xp 0 08:01 9 /opt/ncu/libcuda-injection.so\n")
    monkeypatch.setattr(attached, "_MAPS", maps)
    request = TargetRequest(mode, Problem(8, 8, 8), (Subject(load_stages()["2d"]),))  # type: ignore[arg-type]  # by word
    with pytest.raises(UsageError, match="attached to this process"):
        _MODES[request.mode](request, Device("GPU"))
