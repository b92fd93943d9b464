from __future__ import annotations

import pytest

from ncu_lab.workflows.diagnosing import NEEDS, Finding, blockers, can_run, conclusion

ALL = ("nvcc", "driver", "GPU", "cupy", "cuBLAS", "ncu", "counters", "disassembler", "store")


def findings(**states: str) -> list[Finding]:
    return [Finding(name, states.get(name, "ok"), "") for name in ALL]  # type: ignore[arg-type]  # words of tests


def test_everything_needed_is_something_that_is_tried() -> None:
    assert {need for needs in NEEDS.values() for need in needs} <= set(ALL)


@pytest.mark.parametrize(
    ("states", "sentence"),
    [
        ({}, "Everything the main job needs is here."),
        ({"disassembler": "missing"}, "Everything the main job needs is here."),
        (
            {"counters": "failed"},
            "profile cannot run here until counters are readable; "
            "stages, build, check, bench, import, runs, show, ladder and dashboard can.",
        ),
        (
            {"ncu": "missing", "counters": "skipped", "store": "failed"},
            "profile and import cannot run here until ncu is here and the store is writable; "
            "stages, build, check, bench, runs, show, ladder and dashboard can.",
        ),
        (
            {"nvcc": "missing"},
            "build, check, bench and profile cannot run here until nvcc is here; "
            "stages, import, runs, show, ladder and dashboard can.",
        ),
        (
            {"driver": "missing", "GPU": "skipped", "ncu": "missing", "counters": "skipped"},
            "check, bench and profile cannot run here until driver and ncu are here; "
            "stages, build, import, runs, show, ladder and dashboard can.",
        ),
    ],
)
def test_the_last_sentence_says_what_can_run_and_why_the_rest_cannot(states: dict[str, str], sentence: str) -> None:
    assert conclusion(findings(**states)) == sentence


def test_what_was_skipped_is_not_blamed_beside_its_cause() -> None:
    found = findings(ncu="missing", counters="skipped")
    assert [finding.name for finding in blockers("profile", found)] == ["ncu"]
    assert not can_run("profile", found)
    assert can_run("bench", found)
