"""``ncu-lab doctor`` on machines that lack one thing or another; the counters are probed under a fake ncu."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lab_command import GOLDEN, leftovers, ncu_lab

from ncu_lab.errors import EnvironmentLacksError
from ncu_lab.gpu.compile import Nvcc
from ncu_lab.metrics import ATTRIBUTION_METRICS
from ncu_lab.model import Device
from ncu_lab.workflows import diagnosing

REPORT = str(GOLDEN / "ladder-full.ncu-rep.gz")


@pytest.fixture
def whole(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine where everything but ncu is there."""
    monkeypatch.setattr(diagnosing, "find_nvcc", lambda: Nvcc(Path("nvcc"), "13.0.88"))
    monkeypatch.setattr(diagnosing, "driver_version", lambda: "580.159")
    monkeypatch.setattr(diagnosing, "current_device", lambda: Device("NVIDIA H200", (9, 0)))
    monkeypatch.setattr(diagnosing, "cupy_version", lambda: "14.2.0")
    monkeypatch.setattr(diagnosing, "load_cublas", lambda: None)
    monkeypatch.setattr(diagnosing, "disassembler", lambda: Path("nvdisasm"))
    return monkeypatch


def test_a_machine_with_everything(tmp_path: Path, whole: pytest.MonkeyPatch) -> None:
    argv = tmp_path / "argv"
    done = ncu_lab(tmp_path, "doctor", FAKE_NCU_REPORT=REPORT, FAKE_NCU_ARGV=str(argv))
    assert done.returncode == 0, done.stdout
    for words in ("✓ nvcc 13.0.88", "✓ GPU NVIDIA H200 (CC 9.0)", "✓ ncu 2025.3.1", "✓ counters readable"):
        assert words in done.stdout
    assert "✗" not in done.stdout
    assert done.stdout.rstrip().endswith("ncu-lab profile --stage 2d")
    words = argv.read_text().splitlines()
    assert words[words.index("--metrics") + 1] == ATTRIBUTION_METRICS[0]
    assert words[words.index("--") + 1 :][1:4] == ["-P", "-m", "ncu_lab.gpu.target"]
    assert leftovers(tmp_path) == []
    assert not (tmp_path / "store").exists()


def test_counters_that_may_not_be_read(tmp_path: Path, whole: pytest.MonkeyPatch) -> None:
    done = ncu_lab(tmp_path, "doctor", FAKE_NCU_SAYS="no-permission")
    assert done.returncode == 4
    assert "✗ counters              ERR_NVGPUCTRPERM: this user may not read" in done.stdout
    assert "NVreg_RestrictProfilingToAdminUsers=0" in done.stdout
    conclusion = " ".join(done.stdout.split())
    assert (
        "profile cannot run here until counters are readable; "
        "stages, build, check, bench, import, runs, show, ladder and dashboard can." in conclusion
    )
    assert all(len(line) <= 100 for line in done.stdout.splitlines())


def test_counters_that_come_back_empty_do_not_count_as_readable(tmp_path: Path, whole: pytest.MonkeyPatch) -> None:
    three = str(GOLDEN / "cupy-nvtx.ncu-rep.gz")
    whole.setattr(diagnosing, "_PROBE", diagnosing.Collection(("LaunchStats",), None, ("no_such.sum",)))
    done = ncu_lab(tmp_path, "doctor", FAKE_NCU_REPORT=three)
    assert done.returncode == 4
    assert "✗ counters" in done.stdout


def test_without_ncu_the_counters_are_not_tried(tmp_path: Path, whole: pytest.MonkeyPatch) -> None:
    done = ncu_lab(tmp_path, "doctor", "--format", "json", NCU_LAB_NCU="/nowhere/ncu")
    assert done.returncode == 4
    document = json.loads(done.stdout)
    assert document["schema"] == 1
    states = {found["name"]: found["state"] for found in document["findings"]}
    assert (states["ncu"], states["counters"], states["nvcc"]) == ("missing", "skipped", "ok")
    fixes = {found["name"]: found["fix"] for found in document["findings"]}
    assert fixes["ncu"] == "Correct or unset it."
    assert fixes["nvcc"] is None
    assert document["commands"]["profile"] is False
    assert document["commands"]["bench"] is True
    assert document["conclusion"].startswith("profile cannot run here until ncu is here; stages, build")


def test_without_a_driver_the_cause_is_named_once(tmp_path: Path, whole: pytest.MonkeyPatch) -> None:
    def lacks() -> Device:
        raise EnvironmentLacksError("no NVIDIA driver was found", "build works without one.")

    whole.setattr(diagnosing, "current_device", lacks)
    whole.setattr(diagnosing, "driver_version", lambda: None)
    done = ncu_lab(tmp_path, "doctor")
    assert done.returncode == 4
    assert done.stdout.count("✗") == 1
    assert "check, bench and profile cannot run here until driver is here;" in " ".join(done.stdout.split())


def test_a_store_that_cannot_be_written(tmp_path: Path, whole: pytest.MonkeyPatch) -> None:
    (tmp_path / "store").write_text("a file")
    done = ncu_lab(tmp_path, "doctor", FAKE_NCU_REPORT=REPORT)
    assert done.returncode == 4
    assert "✗ store" in done.stdout
    assert "until the store is writable" in " ".join(done.stdout.split())


def test_a_missing_disassembler_does_not_keep_profile_from_running(tmp_path: Path, whole: pytest.MonkeyPatch) -> None:
    whole.setattr(diagnosing, "disassembler", lambda: None)
    done = ncu_lab(tmp_path, "doctor", FAKE_NCU_REPORT=REPORT)
    assert done.returncode == 0
    assert "– disassembler          absent; the SASS instruction mix is skipped" in done.stdout
