"""What tests of the ladder page share: runs of golden counters, and reading what its figures hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import builders
from golden_runs import golden_run
from looking import PLOT, traces, wait
from selenium.webdriver import Chrome

from ncu_lab.model import Problem
from ncu_lab.store import Store

STAGES = list(builders.STAGES)
SHOWN = {"problem": ["1024"], "device": ["NVIDIA H200"]}
"""What the page shows when the address names nothing, and writes into the address once something is chosen."""


def write_runs(folder: Path) -> None:
    """Store a run of the whole ladder at 1024³, and one of two stages at 512³."""
    run = golden_run(STAGES)
    Store(folder).write(replace(run, instances=builders.access_instances(STAGES)))
    small = golden_run(
        ["naive", "2d"],
        problem=Problem(512, 512, 512),
        run_id="20261129T011207-ladder-4f2c9ab-91c2",
        created="2026-11-29T01:12:07+00:00",
    )
    Store(folder).write(small)


def open_page(browser: Chrome, url: str) -> None:
    """Open the page and wait for the figures of every ladder."""
    browser.get(url)
    for figure in ("matrix", "speed", "roofline"):
        wait(browser, f"({PLOT % figure})?.data?.length")


def open_whole(browser: Chrome, url: str) -> None:
    """Open the page and wait also for the figures that need attributions: steps and waterfall."""
    open_page(browser, url)
    for figure in ("steps", "fall"):
        wait(browser, f"({PLOT % figure})?.data?.length")


def trace(browser: Chrome, figure: str, name: str, axis: str | None = None) -> dict[str, Any]:
    """Return the one trace of a name in a figure, of the panel of an x axis (``x2``) where several have it."""
    (found,) = [one for one in traces(browser, figure) if one["name"] == name and axis in (None, one["xaxis"])]
    return found


def at(found: dict[str, Any], stage: str) -> float:
    """Return what a trace shows of a stage."""
    return float(found["x"][found["stages"].index(stage)])


def selected_row(browser: Chrome) -> str:
    """Return the stage whose row of the matrix is bold; empty when none is."""
    labels = browser.execute_script(f"return ({PLOT % 'matrix'}).layout.yaxis.ticktext")
    bold = [label for label in labels if label.startswith("<b>")]
    return bold[0][3:-4] if bold else ""
