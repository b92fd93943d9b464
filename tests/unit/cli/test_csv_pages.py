"""``show`` and ``import`` of every page ncu exports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ncu_lab.cli.app import app

GOLDEN = Path(__file__).parents[2] / "data" / "golden"


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.stdout


@pytest.mark.parametrize(
    ("page", "says"),
    [
        ("raw", "NVIDIA H200 · 12 launches"),
        ("details", "12 launches"),
        ("details.all", "12 launches"),
        ("source", "12 launches"),
        ("source.cuda-sass", "16.5× ✗"),  # the unpadded transposed tile, from counters per instruction
        ("session", "NVIDIA H200 · ncu 2025.3.1 · clocks not locked"),
    ],
)
def test_every_page_is_shown_and_stored(page: str, says: str, tmp_path: Path) -> None:
    file = str(GOLDEN / f"ladder-full.{page}.csv.gz")
    shown = " ".join(run("show", file).split())
    assert says in shown
    run("import", file, "--store", str(tmp_path))
    read, stored = (
        json.loads(run("show", *arguments, "--format", "json"))
        for arguments in ([file], ["@last", "--store", str(tmp_path)])
    )
    assert stored["launches"] == read["launches"]
    assert stored["device"] == read["device"]


def test_sizes_that_a_page_does_not_tell_are_missing() -> None:
    shown = run("show", str(GOLDEN / "ladder-full.source.csv.gz"), "--launch", "0")
    assert "– blocks of –" in shown
    document = json.loads(run("show", str(GOLDEN / "ladder-full.source.csv.gz"), "--format", "json"))
    assert {(launch["grid"], launch["block"]) for launch in document["launches"]} == {(None, None)}
