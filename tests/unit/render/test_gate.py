"""What a gate says, to people, pull requests and machines."""

from __future__ import annotations

import io
import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest

from ncu_lab.analyze.gate import gate
from ncu_lab.model.gating import Change, GateResult, Judged, Place
from ncu_lab.model.policy import Limit, Policy, Rule
from ncu_lab.render.gate import gate_document, print_gate, verdict
from ncu_lab.render.gate_markdown import MOST_CHARACTERS, gate_markdown
from ncu_lab.render.gate_reports import gate_annotations, gate_junit
from ncu_lab.render.numbers import plain_spaces
from ncu_lab.render.tables import json_text
from ncu_lab.render.terminal import Terminal

PLACE = Place("kernels/gemm/08_vectorized.cu", 31)
TIME = Change(
    "vectorized", "vectorized", "sgemm_vectorized", "duration_ns", "ns", "noisy", 464e3, 478.4e3, 0.031, (0.028, 0.034),
    2e-4, 20, 20, place=PLACE,
)  # fmt: skip
CONFLICTS = Change(
    "vectorized", "vectorized", "sgemm_vectorized", "shared_store_bank_conflicts", "wavefront", "exact", 2.46e6, 6.65e6,
    place=PLACE,
)  # fmt: skip
UNSURE = Change(
    "warptiled", "warptiled", "k", "duration_ns", "ns", "noisy", 100e3, 100.9e3, 0.009, (-0.005, 0.023), 0.1, 5, 5,
    why="too few samples, or too noisy ones", hint="take more: --samples 20",
)  # fmt: skip
BETTER = Change("2d", "2d", "k", "registers_per_thread", "register/thread", "exact", 130.0, 107.0)
LOST = [Change(kernel, kernel, "k", "build:instructions", "inst", "exact", None, None, why="no disassembler")
        for kernel in ("naive", "2d", "wmma", "splitk")]  # fmt: skip


def result(*changes: Change, policy: Policy = Policy(), **fields: object) -> GateResult:
    return GateResult("main (4f2c9ab)", "HEAD (91be004)", gate(changes, policy), policy=policy.file, **fields)  # type: ignore[arg-type]  # fields vary by test


FAILED = result(UNSURE, TIME, *LOST, BETTER, CONFLICTS, added=("wgmma",), removed=("old",))


def printed(gated: GateResult, width: int = 80, explain: str = "") -> list[str]:
    stream = io.StringIO()
    print_gate(gated, Terminal(stream, width), explain)
    return stream.getvalue().splitlines()


def test_the_terminal_says_what_fails_first_and_the_verdict_last() -> None:
    lines = printed(FAILED, explain="ncu-lab diff main HEAD --stage vectorized")
    assert lines == [
        "HEAD (91be004) against main (4f2c9ab) · default policy",
        "new, so not gated: wgmma",
        "gone, so not gated: old",
        "✗ vectorized  duration_ns  +3.1 % ± 0.3 (limit +0.5 %)   p = 2e-4",
        "✗ vectorized  shared_store_bank_conflicts  2.46 M → 6.65 M (limit: no increase)",
        "? warptiled  duration_ns  +0.9 % ± 1.4: inconclusive, too few samples, or too",
        "    noisy ones, 5 + 5 samples; take more: --samples 20",
        "– 4 kernels  build:instructions: no disassembler",
        "✓ 2d  registers_per_thread  130 → 107",
        "Failed: 2 violations in 1 kernel, 1 better, 1 inconclusive, 4 missing.",
        "Explain: ncu-lab diff main HEAD --stage vectorized",
    ]
    assert max(map(len, lines)) <= 80


def test_passed() -> None:
    assert verdict(result(BETTER)) == "Passed: 1 quantity of 1 kernel within limits, 1 better."
    assert verdict(result()) == "Passed: there was nothing to gate."


def test_what_is_missing_fails_where_the_policy_says_and_looks_so() -> None:
    strict = result(*LOST, policy=Policy(missing="fail", file="ncu-lab.toml"))
    lines = printed(strict)
    assert lines[0].endswith("· ncu-lab.toml")
    assert lines[1] == "✗ 4 kernels  build:instructions: no disassembler"
    assert lines[-1] == "Failed: 4 violations in 4 kernels."


@pytest.mark.parametrize(
    ("rule", "change", "words"),
    [
        (Rule("duration_ns", limit=Limit(0.01)), TIME, "(limit +1.0 %)"),
        (Rule("shared_*", limit=Limit(1e6, relative=False)), CONFLICTS, "(limit +1.00 M)"),
        (Rule("registers_per_thread", better="higher", limit=Limit(4, relative=False)), BETTER, "(limit −4)"),
        (Rule("registers_per_thread", better="higher"), BETTER, "(limit: no decrease)"),
        (Rule("registers_per_thread", better="either"), BETTER, "(limit: no change)"),
        (Rule("registers_per_thread", better="either", limit=Limit(0.1)), BETTER, "(limit ±10 %)"),
    ],
)
def test_limits_in_words(rule: Rule, change: Change, words: str) -> None:
    assert words in "\n".join(printed(result(change, policy=Policy((rule,)))))


def test_forced_is_said_everywhere() -> None:
    forced = replace(FAILED, forced=("another GPU (A100 and H200)",))
    words = "another GPU (A100 and H200)"
    for text in ("\n".join(printed(forced)), gate_markdown(forced), gate_annotations(forced), gate_junit(forced)):
        assert f"forced although not comparable: {words}" in text
    assert gate_document(forced)["forced"] == [words]


def test_json() -> None:
    document = json.loads(json_text(gate_document(FAILED)))
    assert (document["schema"], document["passed"]) == (1, False)
    assert [one["key"] for one in document["violations"]] == ["duration_ns", "shared_store_bank_conflicts"]
    first = document["violations"][0]
    assert (first["kernel"], first["limit"], first["limit_unit"], first["p"]) == ("vectorized", 0.5, "%", 2e-4)
    assert (first["low_pct"], first["delta_pct"]) == (pytest.approx(2.8), pytest.approx(3.1))
    assert (first["file"], first["line"]) == ("kernels/gemm/08_vectorized.cu", 31)
    assert [len(document[key]) for key in ("improvements", "inconclusive", "missing")] == [1, 1, 4]
    assert document["missing"][0]["a"] is None
    assert (document["added"], document["removed"]) == (["wgmma"], ["old"])


def test_markdown_shows_what_fails_and_folds_the_rest() -> None:
    text = gate_markdown(FAILED)
    assert text.startswith("### ✗ Failed: 2 violations in 1 kernel")
    assert "| ✗ | vectorized | `duration_ns` | 464 µs | 478 µs | +3.1 % ± 0.3 | +0.5 % | p = 2e-4 |" in plain_spaces(
        text
    )
    assert text.count("<details>") == 2
    assert "- 4 kernels: build:instructions: no disassembler" in text


def test_markdown_fits_a_comment_and_says_what_did_not() -> None:
    many = tuple(
        Judged(replace(CONFLICTS, kernel=f"kernel_{number}_" + "x" * 80), "violation", Limit(0.0), "worse", True)
        for number in range(2000)
    )
    lost = tuple(
        Judged(replace(LOST[0], kernel=str(number), why=f"reason {number} " + "y" * 80), "missing", Limit(0.0),
               f"reason {number} " + "y" * 80, False)
        for number in range(2000)
    )  # fmt: skip
    text = gate_markdown(GateResult("a", "b", (*many, *lost)))
    assert len(text) <= MOST_CHARACTERS
    assert "more did not fit here: `--format json` has all." in text
    assert "2000 missing: `--format json` names them." in text


def test_names_are_no_markup_in_any_format() -> None:
    evil = replace(TIME, kernel="a|b<img>\x1b[2J*x*", place=Place("kernels/a,b:c.cu", 3))
    gated = result(evil)
    assert "<img>" not in gate_markdown(gated).replace("\\<img>", "")
    assert "\x1b" not in gate_junit(gated) + gate_annotations(gated)
    ElementTree.fromstring(gate_junit(gated).partition("\n")[2])
    assert "file=kernels/a%2Cb%3Ac.cu,line=3," in gate_annotations(gated)


def test_junit() -> None:
    root = ElementTree.fromstring(gate_junit(FAILED).partition("\n")[2])
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("8", "2", "5")
    [failure] = root.findall(".//testcase[@name='shared_store_bank_conflicts']/failure")
    assert failure.get("message") == "vectorized  shared_store_bank_conflicts  2.46 M → 6.65 M (limit: no increase)"
    case = root.find(".//testcase[@name='duration_ns']")
    assert case is not None
    assert {case.get("classname") for case in root.iter("testcase")} >= {"vectorized", "2d", "warptiled"}
    assert len(root.findall(".//skipped")) == 5


def test_a_time_that_changed_is_told_in_one_sentence_first() -> None:
    words = "vectorized is 3.1 % slower since 91be004, because of 22 % more shared-memory wavefronts; p = 2e-4"
    failed = result(replace(TIME, sentence=words))
    assert printed(failed, 110)[1:3] == [f"✗ {words}", "    (duration_ns +3.1 % ± 0.3, limit +0.5 %)"]
    annotated = words.replace("%", "%25")
    assert f"::{annotated} (duration_ns +3.1 %25 ± 0.3, limit +0.5 %25)\n" in plain_spaces(gate_annotations(failed))
    assert f"| +0.5 % | {words} |" in plain_spaces(gate_markdown(failed))
    assert gate_document(failed)["violations"][0]["sentence"] == words


def test_annotations() -> None:
    lines = plain_spaces(gate_annotations(FAILED)).splitlines()
    assert lines[0] == (
        "::error file=kernels/gemm/08_vectorized.cu,line=31,title=vectorized duration_ns::"
        "vectorized: duration_ns  +3.1 %25 ± 0.3 (limit +0.5 %25)   p = 2e-4"
    )
    assert [line.partition(" ")[0] for line in lines[:4]] == ["::error", "::error", "::warning", "::notice"]
    assert lines[-1] == "Failed: 2 violations in 1 kernel, 1 better, 1 inconclusive, 4 missing."
