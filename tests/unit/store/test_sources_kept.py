"""Source text in a run directory: there when it was kept, refused when it is damaged, absent from older runs."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from golden_runs import golden_run

from ncu_lab.errors import InputError
from ncu_lab.resources import data_dir
from ncu_lab.store import Store
from ncu_lab.store.stored_run import read_directory

SOURCES = {"kernels/a.cu": "Öl → ½\n\tc += a; // \udcff\r\n", "/home/b.cuh": ""}


def stored(tmp_path: Path) -> Path:
    return Store(tmp_path).write(replace(golden_run(["2d"]), sources=SOURCES))


def test_sources_come_back_as_they_were(tmp_path: Path) -> None:
    folder = stored(tmp_path)
    assert read_directory(folder).sources == SOURCES
    assert json.loads((folder / "sources.json").read_text("utf-8"))["schema"] == 1


def test_damaged_sources_are_refused_when_asked_for(tmp_path: Path) -> None:
    folder = stored(tmp_path)
    (folder / "sources.json").write_text("{}")
    run = read_directory(folder)
    assert len(run.launches) == 1
    with pytest.raises(InputError, match=r"sources\.json does not match its checksum"):
        _ = run.sources


def test_sources_of_the_wrong_shape_are_refused(tmp_path: Path) -> None:
    folder = stored(tmp_path)
    wrong = b'{"schema": 1, "sources": {"a.cu": 3}}'
    (folder / "sources.json").write_bytes(wrong)
    document = json.loads((folder / "run.json").read_text("utf-8"))
    document["checksums"]["sources.json"] = hashlib.sha256(wrong).hexdigest()
    (folder / "run.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match=r"sources\.json: sources\.a\.cu is a whole number, not text"):
        _ = read_directory(folder).sources


def test_runs_of_earlier_versions_open() -> None:
    for folder in data_dir("examples").glob("2*"):
        assert isinstance(read_directory(folder).sources, dict)
