import gzip
from pathlib import Path

import pytest

from ncu_lab.errors import EnvironmentLacksError, InputError
from ncu_lab.model import ProgressEvent
from ncu_lab.store import Store
from ncu_lab.workflows.importing import import_file

GOLDEN = Path(__file__).parents[2] / "data" / "golden"


def test_a_report_becomes_a_run(tmp_path: Path) -> None:
    events: list[ProgressEvent] = []
    run = import_file(GOLDEN / "cupy-nvtx.ncu-rep.gz", tmp_path, report=events.append)
    assert run.meta.id.split("-", 1)[1].startswith("cupy-nvtx-nogit-")
    assert (run.meta.status, run.meta.source, run.meta.name, run.meta.stages) == ("complete", "import", "cupy-nvtx", ())
    assert run.meta.device is not None
    assert run.meta.device.name == "NVIDIA H200"
    assert (run.meta.environment.ncu, run.meta.environment.clock_control) == ("2025.3.1", "none")
    assert run.meta.command == ("ncu-lab", "import", "cupy-nvtx.ncu-rep.gz")
    assert (len(run.launches), len(run.metrics), len(run.instances)) == (3, 1875, 5304)
    kept = Store(tmp_path).report(run.meta.id)
    assert kept is not None
    assert kept.read_bytes()[:4] == b"NVR\0"
    assert [event.state for event in events] == ["start", "done"]


def test_the_report_can_be_dropped_and_the_run_named(tmp_path: Path) -> None:
    run = import_file(GOLDEN / "cupy-nvtx.ncu-rep.gz", tmp_path, name="mine", keep_report=False)
    assert run.meta.name == "mine"
    assert "-mine-nogit-" in run.meta.id
    assert Store(tmp_path).report(run.meta.id) is None


def test_an_export_keeps_its_tables_only(tmp_path: Path) -> None:
    run = import_file(GOLDEN / "cupy-nvtx.details.csv.gz", tmp_path)
    assert Store(tmp_path).report(run.meta.id) is None
    assert (len(run.metrics), len(run.rules)) == (42, 3)


def test_a_report_that_lost_results_is_a_partial_run(tmp_path: Path) -> None:
    cut = tmp_path / "cut.ncu-rep"
    cut.write_bytes(gzip.decompress((GOLDEN / "cupy-nvtx.ncu-rep.gz").read_bytes())[:-10])
    meta = import_file(cut, tmp_path / "reports").meta
    assert (meta.status, [notice.code for notice in meta.warnings]) == ("partial", ["damaged"])
    assert [meta.status for meta in Store(tmp_path / "reports").metas()[0]] == ["partial"]


def test_what_cannot_be_read_leaves_nothing(tmp_path: Path) -> None:
    bad = tmp_path / "bad.ncu-rep"
    bad.write_bytes(b"NVR\0")
    store = tmp_path / "reports"
    with pytest.raises(InputError):
        import_file(bad, store)
    assert not store.exists() or list(store.iterdir()) == []


def test_an_unwritable_store_is_told_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(EnvironmentLacksError, match="cannot be written"):
        import_file(GOLDEN / "cupy-nvtx.ncu-rep.gz", tmp_path / "file" / "reports")


def test_a_run_keeps_its_session_without_what_is_private(tmp_path):
    meta = import_file(GOLDEN / "cupy-nvtx.ncu-rep.gz", tmp_path).meta
    assert meta.session is not None
    assert meta.session.host["name"] == "<host>"
    assert meta.session.processes == {"2195": "<path>/python3.12"}
    assert meta.session.command.startswith("<path>/ncu --clock-control none -f --nvtx ")
    stored = (tmp_path / meta.id / "run.json").read_text()
    assert "192.0.2.2" not in stored
    assert "/opt/nvidia" not in stored
