"""Baselines: runs in one file."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from ncu_lab.errors import EnvironmentLacksError, InputError
from ncu_lab.resources import data_dir
from ncu_lab.store import Store
from ncu_lab.store.baseline import unpack_baseline, write_baseline
from ncu_lab.store.stored_run import REPORT, read_directory


def test_a_run_comes_back_without_its_report(tmp_path: Path) -> None:
    examples = Store(data_dir("examples"))
    id = next(meta.id for meta in examples.metas()[0] if examples.report(meta.id))
    run = examples.read(id)
    write_baseline(tmp_path / "base.zip", [run])
    folder = unpack_baseline(tmp_path / "base.zip", tmp_path / "out") / id
    again = read_directory(folder)
    assert again.meta.id == id
    assert again.metrics.equals(run.metrics)
    assert again.timings.equals(run.timings)
    assert not (folder / REPORT).exists()
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["base.zip"]


def test_what_is_no_baseline(tmp_path: Path) -> None:
    text = tmp_path / "text.zip"
    text.write_text("no zip")
    empty, several, flat = (tmp_path / name for name in ("empty.zip", "several.zip", "flat.zip"))
    for file, names in ((empty, ()), (several, ("a/run.json", "b/other.json")), (flat, ("run.json",))):
        with zipfile.ZipFile(file, "w") as archive:
            for name in names:
                archive.writestr(name, "{}")
    for file in (text, empty, several, flat):
        with pytest.raises(InputError, match="is no baseline"):
            unpack_baseline(file, tmp_path / "out")
    with pytest.raises(InputError, match="there is no baseline") as caught:
        unpack_baseline(tmp_path / "none.zip", tmp_path / "out")
    assert "--save-baseline" in caught.value.hint


def test_a_name_that_leads_out_of_the_folder_stays_in_it(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as archive:
        archive.writestr("../run.json", "{}")
    unpacked = tmp_path / "in" / "out"
    with pytest.raises(InputError):
        unpack_baseline(tmp_path / "evil.zip", unpacked)
    assert not (tmp_path / "in" / "run.json").exists()


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    run = Store(data_dir("examples")).read(Store(data_dir("examples")).metas()[0][0].id)
    with pytest.raises(EnvironmentLacksError, match="cannot be written"):
        write_baseline(tmp_path / "none" / "base.zip", [run])
