"""``ncu-lab store`` and the filters of ``ncu-lab runs``, as they are typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest
from golden_runs import golden_run
from lab_command import exit_code

from ncu_lab.cli.runs import Ending
from ncu_lab.model import Status
from ncu_lab.store import Store


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NCU_LAB_STORE", raising=False)
    for day, stage in ((1, "2d"), (2, "2d"), (3, "1d")):
        created = f"2026-11-0{day}T00:00:00+00:00"
        run = golden_run([stage], run_id=f"2026110{day}T000000-{stage}-nogit-000{day}", created=created)
        Store(tmp_path / "reports").write(run)
    return tmp_path / "reports"


def test_a_whole_store(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("store", "check") == 0
    assert capsys.readouterr().out.startswith("✓ 3 runs, 27 files, ")


def test_damage_is_exit_code_1(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (store / "20261102T000000-2d-nogit-0002" / "rules.parquet").unlink()
    assert exit_code("store", "check") == 1
    out = capsys.readouterr().out
    assert out.startswith("✗ 20261102T000000-2d-nogit-0002/rules.parquet\n    it is not there. Copy it from ")
    assert out.endswith(": 1 damage in 1 folder\n")
    assert exit_code("store", "check", "--format", "json") == 1
    document = json.loads(capsys.readouterr().out)
    [damage] = document["damages"]
    assert (document["schema"], document["runs"], document["store"]) == (1, 3, str(store))
    assert (damage["file"], damage["kind"]) == ("rules.parquet", "missing_file")


def test_pruning_shows_first_and_deletes_when_told(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("store", "prune", "--keep-last", "1") == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[1].startswith("20261101T000000-2d-nogit-0001  ")
    assert "1 run would go (" in out
    assert "nothing was deleted" in err
    assert "ncu-lab store prune --keep-last 1 --yes" in err
    assert len(list(store.iterdir())) == 3
    assert exit_code("store", "prune", "--keep-last", "1", "--yes") == 0
    assert len(list(store.iterdir())) == 2


def test_pruning_as_json(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (store.parent / "ncu-lab.toml").write_text('[store]\nkeep_last = 1\nkeep = ["20261101"]\n')
    assert exit_code("store", "prune", "--format", "json", "--yes") == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["deleted"], document["bytes"]) == (1, False, 0)
    assert [fate["kept_by"] for fate in document["runs"]] == [
        "one of the last 1 of 1d",
        "one of the last 1 of 2d",
        "kept by name",
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["prune"], 2, "error: nothing says which runs to keep"),
        (["prune", "--keep-last", "0"], 2, 'error: --keep-last cannot be "0"'),
        (["prune", "--keep-days", "nan"], 2, 'error: --keep-days cannot be "nan"'),
        (["prune", "--keep-last", "1", "--store", "nope"], 3, "error: the store nope does not exist"),
        (["check", "--store", "nope"], 3, "error: the store nope does not exist"),
    ],
)
def test_errors(arguments: list[str], code: int, says: str, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("store", *arguments) == code
    assert capsys.readouterr().err.startswith(says)
    assert len(list(store.iterdir())) == 3


def test_only_a_yes_on_a_terminal_deletes(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ncu_lab.cli import store as commands

    for terminal, answer, left in ((False, True, 3), (True, False, 3), (True, True, 2)):
        monkeypatch.setattr(commands, "_on_terminal", lambda terminal=terminal: terminal)
        monkeypatch.setattr(commands.typer, "confirm", lambda *_, answer=answer, **__: answer)
        assert exit_code("store", "prune", "--keep-last", "1") == 0
        assert len(list(store.iterdir())) == left


def listed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert exit_code("runs", *arguments, "--format", "json") == 0
    return [one["id"][7] for one in json.loads(capsys.readouterr().out)["runs"]]


def test_runs_are_filtered(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert listed(capsys) == ["3", "2", "1"]
    assert listed(capsys, "--stage", "2d") == ["2", "1"]
    assert listed(capsys, "--stage", "2d", "--stage", "1d", "--limit", "2") == ["3", "2"]
    assert listed(capsys, "--since", "2026-11-02") == ["3", "2"]
    assert listed(capsys, "--since", "0h") == []
    assert listed(capsys, "--device", "h200", "--status", "complete", "--status", "partial") != []
    assert listed(capsys, "--status", "build_failed") == []


def test_what_the_table_leaves_out_is_told(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("runs", "--limit", "2") == 0
    assert "the newest 2 of 3 runs" in capsys.readouterr().err
    assert exit_code("runs", "--stage", "naive") == 0
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"no runs in {store} are so; ncu-lab runs lists all\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--since", "soon"], '--since cannot be "soon"'),
        (["--since", "xd"], '--since cannot be "xd"'),
        (["--since", "nand"], '--since cannot be "nand"'),
        (["--since", "1e300w"], '--since cannot be "1e300w"'),
        (["--limit", "0"], '--limit cannot be "0"'),
        (["--status", "great"], '--status cannot be "great"'),
    ],
)
def test_filters_that_are_none(
    arguments: list[str], says: str, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code("runs", *arguments) == 2
    assert capsys.readouterr().err.startswith(f"error: {says}")


def test_an_unknown_revision_is_refused(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for revision in ("nope", "a..b", "-x", ""):
        assert exit_code("runs", f"--rev={revision}") == 3
        assert f'git knows no revision "{revision}" here' in capsys.readouterr().err


def test_every_ending_is_a_status() -> None:
    assert tuple(Ending) == get_args(Status)
