"""Every scenario of the fake ncu names its origin, and how it could be recorded."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from ncu_lab.collect.causes import CAUSES
from ncu_lab.collect.failures import find_cause, nothing_profiled

TESTS = Path(__file__).parents[2]
DATA = TESTS / "data" / "ncu"
SCENARIOS: dict[str, dict[str, Any]] = tomllib.loads((DATA / "scenarios.toml").read_text())

WITHOUT_WORDS = {"not_collected", "timeout", "incomplete", "unknown_device_error"}
"""Causes that no scenario gives alone: told from the outcome, or only seen with others."""


def test_every_recording_is_a_scenario() -> None:
    assert {path.stem for path in DATA.glob("*.txt")} == set(SCENARIOS)


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_names_its_origin(name: str) -> None:
    scenario = SCENARIOS[name]
    assert isinstance(scenario["exit"], int)
    origins = {"recorded", "quoted", "composed"} & set(scenario)
    assert len(origins) == 1
    if origins != {"recorded"}:
        assert scenario["cannot"], "why was it not recorded?"
        assert "step" not in scenario
        return
    assert re.match(r"ncu \d{4}\.\d\.\d: ncu ", scenario["recorded"])
    assert "step" in scenario or "./failures" not in scenario["recorded"], "which step recorded it?"
    script = (TESTS / "gpu" / "record_failures.sh").read_text()
    steps = re.findall(r"(?:(?:record|profile) |step=)([\w-]+)", script)
    assert scenario.get("step", steps[0]) in steps, "no such step in the script"


def test_every_cause_has_a_scenario() -> None:
    found = set()
    for name in SCENARIOS:
        words = (DATA / f"{name}.txt").read_text()
        for log, output in ((words, ""), ("", words), (words, words)):
            cause = find_cause(log, output) or nothing_profiled(log, output, None, None)
            found.add(cause.code)
        found.add(nothing_profiled(words, "", "nothing", None).code)
    assert set(CAUSES) - found <= WITHOUT_WORDS
