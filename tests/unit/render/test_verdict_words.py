"""Verdicts in words, as the terminal and Markdown print them and as JSON carries them."""

import json

import pytest

from ncu_lab.model import Evidence, Verdict
from ncu_lab.render.numbers import plain_spaces
from ncu_lab.render.tables import json_text
from ncu_lab.render.verdict import sections_of_missing, verdict_document, verdict_words

L1 = Evidence("busy", "l1_throughput_pct", 83.05, "%", 80.0)
NEAREST = Evidence("far", "l2_throughput_pct", 41.2, "%", 60.0)
NO_SHARED = Evidence("missing", "shared_bytes", None, "byte", subject="MemoryWorkloadAnalysis_Tables")
NO_COMPUTE = Evidence("missing", "sm_throughput_pct", None, "%", subject="SpeedOfLight")
NO_MEMORY = Evidence("missing", "memory_throughput_pct", None, "%", subject="SpeedOfLight")


@pytest.mark.parametrize(
    ("bound", "because", "words"),
    [
        (
            "shared",
            [
                L1,
                Evidence("shared_part", "shared_share", 0.894, threshold=0.5),
                Evidence("far", "issue_slots_pct", 59.9, "%", 60.0),
                Evidence("wait", "stall_share", 0.25, subject="short_scoreboard"),
            ],
            "Bound by shared memory: L1 is at 83 % of its peak; 89 % of what it moves is shared memory; issue slots at "
            "60 %; the longest wait is short scoreboard (25 % of warp time).",
        ),
        (
            "memory",
            [L1, Evidence("wait", "stall_share", 0.2, subject="wait")],
            "Bound by memory: L1 is at 83 % of its peak; the longest wait is for a fixed latency (20 % of warp time).",
        ),
        (
            "memory",
            [L1, NO_SHARED],
            "Bound by memory: L1 is at 83 % of its peak; not collected: how much of it is shared memory "
            "(--section MemoryWorkloadAnalysis_Tables).",
        ),
        (
            "balanced",
            [Evidence("busy", "issue_slots_pct", 80.0, "%", 80.0), Evidence("busy", "dram_throughput_pct", 79.0, "%")],
            "Bound by compute and memory alike: issue slots are at 80 % of their peak; DRAM is at 79 % of its peak.",
        ),
        (
            "latency",
            [NEAREST, Evidence("occupancy", "achieved_occupancy_pct", 12.4, "%", 12.5, "registers, shared memory")],
            "Bound by latency: no unit is above 41 % of its peak (L2); 12.4 % of the warps an SM holds were there, "
            "limited by registers and shared memory.",
        ),
        (
            "launch",
            [Evidence("blocks", "blocks", 1.0, "block", 118.8, "132"), NEAREST],
            "Bound by its launch: 1 block for 132 SMs; no unit is above 41 % of its peak (L2).",
        ),
        (
            "launch",
            [Evidence("short", "duration_ns", 5536.0, "ns", 1e4), Evidence("idle", "idle_share", 0.36, threshold=0.25)],
            "Bound by its launch: it takes 5.54 µs; an SM is idle for 36 % of the time.",
        ),
        (
            "launch",
            [Evidence("waves", "waves_per_sm", 0.242, threshold=0.5)],
            "Bound by its launch: the grid fills 24 % of what the GPU holds at once.",
        ),
        (
            "tail",
            [Evidence("partial_wave", "partial_wave_share", 0.2, threshold=0.1)],
            "Bound by its tail: the last wave leaves 20 % of all places for blocks empty.",
        ),
        (
            "unknown",
            [NO_COMPUTE, NO_MEMORY, Evidence("blocks", "blocks", 4096.0, "block", 32.4, "36")],
            "What bounds it is unknown: not collected: how busy compute was and how busy memory was "
            "(--section SpeedOfLight); 4 096 blocks for 36 SMs.",
        ),
        (
            "unknown",
            [NO_COMPUTE, NEAREST],
            "What bounds it is unknown: not collected: how busy compute was (--section SpeedOfLight); L2 at 41 % of "
            "its peak.",
        ),
    ],
)
def test_words(bound, because, words):
    assert plain_spaces(verdict_words(Verdict(bound, tuple(because)))) == words


def test_sections_are_left_to_another_place_where_that_names_them():
    lacks = Verdict("unknown", (NO_COMPUTE, NO_MEMORY, NEAREST, NO_SHARED))
    assert plain_spaces(verdict_words(lacks, sections=False)) == (
        "What bounds it is unknown: not collected: how busy compute was, how busy memory was and how much of it is "
        "shared memory; L2 at 41 % of its peak."
    )
    assert sections_of_missing(lacks) == ["SpeedOfLight", "MemoryWorkloadAnalysis_Tables"]
    assert sections_of_missing(Verdict("memory", (L1,))) == []


def test_json_has_the_reasons_in_words_and_as_figures():
    document = json.loads(json_text({"verdict": verdict_document(Verdict("memory", (L1, NO_SHARED)))}))["verdict"]
    assert document["bound"] == "memory"
    assert document["because"] == [
        "L1 is at 83 % of its peak",
        "not collected: how much of it is shared memory (--section MemoryWorkloadAnalysis_Tables)",
    ]
    busy, missing = document["evidence"]
    assert busy == {
        "fact": "busy", "key": "l1_throughput_pct", "value": 83.05, "unit": "%", "threshold": 80.0, "subject": None,
    }  # fmt: skip
    assert missing["value"] is None
    assert verdict_document(None) is None
