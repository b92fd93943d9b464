"""Every damage of a run is named, with its file; reading stops at the first."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from golden_runs import golden_run

from ncu_lab.store import Store
from ncu_lab.store.checking import check_run
from ncu_lab.store.tables import write_table
from ncu_lab.workflows.storekeeping import check_store


@pytest.fixture
def run(tmp_path: Path) -> Path:
    report = tmp_path / "x.ncu-rep"
    report.write_bytes(b"NVR\0" * 100)
    return Store(tmp_path / "reports").write(golden_run(["2d"], samples={"2d": [1.0, 2.0]}), report)


def edit(run: Path, **changes: Any) -> None:
    file = run / "run.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))
    (run / "run.json.sha256").write_text(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  run.json\n")


def reseal(run: Path, name: str, data: bytes) -> None:
    (run / name).write_bytes(data)
    checksums = json.loads((run / "run.json").read_text())["checksums"]
    edit(run, checksums={**checksums, name: hashlib.sha256(data).hexdigest()})


def test_a_whole_run_has_no_damage(run: Path) -> None:
    found = check_run(run)
    assert found.damages == ()
    assert found.files == len(list(run.iterdir()))
    assert found.bytes == sum(file.stat().st_size for file in run.iterdir())


def test_a_dropped_report_is_no_damage(run: Path) -> None:
    (run / "report.ncu-rep").unlink()
    assert check_run(run).damages == ()


def test_an_edited_description_is_damage(run: Path) -> None:
    file = run / "run.json"
    file.write_text(file.read_text().replace('"complete"', '"partial"'))
    [found] = check_run(run).damages
    assert (found.file, found.kind, found.message) == (
        "run.json", "wrong_checksum", "it is not as it was written: its checksum differs"
    )  # fmt: skip
    (run / "run.json.sha256").write_bytes(b"\xff")
    assert [one.file for one in check_run(run).damages] == ["run.json"]


def test_the_checksum_of_the_description_is_one_for_sha256sum(run: Path) -> None:
    done = subprocess.run(["sha256sum", "--check", "run.json.sha256"], cwd=run, capture_output=True, text=True)
    assert done.stdout == "run.json: OK\n"


def test_a_run_of_an_earlier_version_is_whole_and_told_as_not_covered(run: Path) -> None:
    (run / "run.json.sha256").unlink()
    assert (check_run(run).damages, check_run(run).is_sealed) == ((), False)
    health = check_store(run.parent)
    assert (health.damages, health.not_covered) == ((), (run.name,))


def _flip(run: Path) -> None:
    data = bytearray((run / "metrics.parquet").read_bytes())
    data[len(data) // 2] ^= 1
    (run / "metrics.parquet").write_bytes(data)


@pytest.mark.parametrize(
    ("damage", "file", "kind"),
    [
        (_flip, "metrics.parquet", "wrong_checksum"),
        (lambda run: (run / "report.ncu-rep").write_bytes(b""), "report.ncu-rep", "wrong_checksum"),
        (lambda run: (run / "timings.parquet").unlink(), "timings.parquet", "missing_file"),
        (lambda run: reseal(run, "rules.parquet", b"PAR1 nothing PAR1"), "rules.parquet", "unreadable_table"),
        (lambda run: reseal(run, "rules.parquet", write_table(golden_run().timings, {"ns": "float64"})),
         "rules.parquet", "unreadable_table"),
        (lambda run: reseal(run, "build.json", b"[]"), "build.json", "unreadable_file"),
        (lambda run: reseal(run, "checks.json", b'{"checks": [1]}'), "checks.json", "unreadable_file"),
        (lambda run: edit(run, schema=99), "run.json", "newer_schema"),
        (lambda run: edit(run, status="great"), "run.json", "bad_metadata"),
        (lambda run: (run / "run.json").write_text('{"schema": 1'), "run.json", "bad_metadata"),
        (lambda run: (run / "run.json").unlink(), "run.json", "missing_file"),
        (lambda run: edit(run, id="another"), None, "wrong_name"),
    ],
)  # fmt: skip
def test_each_damage_is_named(run: Path, damage: Callable[[Path], object], file: str | None, kind: str) -> None:
    damage(run)
    [found] = check_run(run).damages
    assert (found.run, found.file, found.kind) == (run.name, file, kind)
    assert found.message
    assert found.hint
    assert run.name not in found.message


def test_all_damages_of_a_run_are_named(run: Path) -> None:
    _flip(run)
    (run / "launches.parquet").unlink()
    checksums = json.loads((run / "run.json").read_text())["checksums"]
    del checksums["timings.parquet"]
    edit(run, checksums={**checksums, "../../outside": "0"})
    assert [(one.file, one.kind) for one in check_run(run).damages] == [
        ("../../outside", "bad_metadata"),
        ("launches.parquet", "missing_file"),
        ("metrics.parquet", "wrong_checksum"),
        ("timings.parquet", "bad_metadata"),
    ]


def test_what_may_not_be_read_is_not_called_damaged(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Path.open

    def refuse(path: Path, *arguments: Any, **options: Any) -> Any:
        if path.name == "metrics.parquet":
            raise PermissionError(13, "Permission denied")
        return opened(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", refuse)
    [found] = check_run(run).damages
    assert (found.file, found.kind) == ("metrics.parquet", "no_permission")
    assert "elete" not in found.hint
