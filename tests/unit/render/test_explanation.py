"""The words, to the letter."""

import json
from dataclasses import replace

import pytest

from ncu_lab.analyze.advising import RULES
from ncu_lab.analyze.attribution import largest_contributions, longest_chain, split
from ncu_lab.model import (
    TOPICS,
    Advice,
    BlockDemand,
    Culprit,
    Evidence,
    Expectation,
    Explanation,
    Factors,
    Finding,
    LadderExplanation,
    NextBlock,
    Problem,
    RooflinePoint,
    Room,
    Verdict,
)
from ncu_lab.render.explanation import (
    _TECHNIQUES,
    ladder_sentences,
    launch_sentences,
    profile_command,
    sentences_document,
)

# Two launches whose durations the factors make exactly: 1000 x 4 / 2 / 1e9 = 2000 ns, 500 x 6 / 2 / 1e9 = 1500 ns.
A = Factors(0, "full", 2000.0, 1000.0, {"selected": 1.0, "barrier": 1.0, "lg_throttle": 2.0}, 2.0, 1.0, 1e9)
B = Factors(0, "full", 1500.0, 500.0, {"selected": 1.0, "barrier": 2.0, "lg_throttle": 3.0}, 2.0, 1.0, 1e9)
CHANGE = split(A, B)
VERDICT = Verdict("latency", (Evidence("far", "l1_throughput_pct", 41.0, "%", 60.0),))
BOUND = "Bound by latency: no unit is above 41 % of its peak (L1)."
MISSED = Finding(Expectation("step", "near", 1.5, 2.5, "post", "2.", near=2.0, within=0.25), "missed", 1.2, -0.3)
ROOF = RooflinePoint("2d", "l1", 1.0, 1.0, 0.5, bound="l1")
ADVICE = Advice(
    "conflict-free loads", "over_ideal", 1.67, "warptiled", 0.23, Culprit("kernels/x.cu", 64, "LDS", 1, 2.0)
)


def words(sentences):
    return [one.words.replace("\u2009", " ") for one in sentences]


def test_a_launch_of_which_all_is_known_gets_five_sentences_in_their_order():
    explanation = Explanation(
        VERDICT, (MISSED,), "1d", CHANGE, largest_contributions(CHANGE),
        Room(ROOF, BlockDemand(256, 125, 8192), NextBlock(3, registers=80)), ADVICE,
    )  # fmt: skip
    told = launch_sentences(explanation)
    assert [one.topic for one in told] == list(TOPICS)
    # L(2000, 1500) = 500 / ln(4/3) = 1738.0; ln 2 of that is 1204.7 of instructions, ln 1.5 is 704.7 of stalls.
    assert words(told) == [
        BOUND,
        "Against theory: 0 of 1 expectations met; missed: step 2× ± 25 % (1.20×).",
        "Since 1d, 2.00 → 1.50 µs: −1.20 µs by instructions (−50 %), "
        "+0.70 µs by stalls ÷ warps (+50 %: barrier, lg throttle).",
        "To gain: at most 2.00× faster under the L1 roof, unless fewer bytes pass it; 80 registers a thread (now 125) "
        "leave room for a 3rd block an SM.",
        "Next: lanes that read neighbouring pieces of the tile, as warptiled does (1.67× the wavefronts needed, most "
        "at kernels/x.cu:64, at most 23 % of the time).",
    ]
    assert told[-1].stage == "warptiled"


def test_nothing_is_said_of_what_is_not_known():
    assert launch_sentences(Explanation()) == []
    assert words(launch_sentences(Explanation(VERDICT, room=Room()))) == [BOUND]
    assert ladder_sentences(None) == ladder_sentences(LadderExplanation()) == []


def test_a_change_of_nothing_is_told_as_such():
    same = split(A, A)
    told = launch_sentences(Explanation(predecessor="1d", change=same, contributions=largest_contributions(same)))
    assert words(told) == ["Since 1d, 2.00 → 2.00 µs: nothing changed it by half a percent."]


@pytest.mark.parametrize(
    ("room", "said"),
    [
        (Room(replace(ROOF, share_of_roof=0.98)),
         "To gain: the L1 roof is reached to 98 %, so only fewer bytes through it can help."),
        (Room(replace(ROOF, share_of_roof=0.96, bound="fp16")),
         "To gain: the FP16 roof is reached to 96 %, so only fewer operations can help."),
        (Room(None, BlockDemand(128, 32, 65536), NextBlock(4, shared_bytes=57344)),
         "To gain: 57.3 kB of shared memory a block (now 65.5 kB) leave room for a 4th block an SM."),
        (Room(None, BlockDemand(128, 200, 65536), NextBlock(11, registers=40, shared_bytes=1024)),
         "To gain: 40 registers a thread (now 200) and 1.02 kB of shared memory a block (now 65.5 kB) leave room for a "
         "11th block an SM."),
        (Room(None, BlockDemand(128, 32), NextBlock(2)), None),
    ],
)  # fmt: skip
def test_what_there_is_to_gain(room, said):
    assert words(launch_sentences(Explanation(room=room))) == ([said] if said else [])


@pytest.mark.parametrize(
    ("advice", "said"),
    [
        (Advice("more blocks", "blocks", 64.0, "splitk", of=132.0),
         "Next: more, smaller blocks, or each sum shared out among several, as splitk does (64 blocks for 132 SMs)."),
        (Advice("more blocks", "waves_per_sm", 0.24),
         "Next: more, smaller blocks, or each sum shared out among several (the grid fills 24 % of what the GPU holds "
         "at once)."),
        (Advice("coalescing", "over_ideal", 8.0, at_most=0.9),
         "Next: neighbouring lanes on neighbouring addresses (8.00× the sectors needed, at most 90 % of the time)."),
        (Advice("FMA alone", "fma_pipe_pct", 68.0, "sgemm-hopper", of=75.0),
         "Next: fewer instructions beside FMA, as sgemm-hopper does (issue slots at 75 %, the FMA pipe at 68 %)."),
        (Advice("wide accesses", "stall_share", 0.14),
         "Next: 16 bytes a lane instead of 4 (14 % of warp time waits for global memory)."),
    ],
)  # fmt: skip
def test_what_to_try_next(advice, said):
    assert words(launch_sentences(Explanation(advice=advice))) == [said]


def test_every_technique_has_its_words():
    assert len(_TECHNIQUES) == len(RULES)
    for technique in _TECHNIQUES:
        [told] = launch_sentences(Explanation(advice=Advice(technique, "blocks", 0.5, of=1.0)))
        assert told.words.startswith("Next: ")
        assert any(sign.isdigit() for sign in told.words)


def test_a_ladder_is_told_by_its_fastest_stage():
    told = LadderExplanation(
        "2d", "fp32", VERDICT, (MISSED,), ("2d", MISSED),
        longest_chain({"1d": ("smem", split(A, A)), "2d": ("1d", CHANGE)}),
        1500.0, "cublas-fp32", 1200.0, 0.8, Room(ROOF), ADVICE,
    )  # fmt: skip
    assert words(ladder_sentences(told))[:4] == [
        "Fastest in FP32 is 2d, bound by latency: no unit is above 41 % of its peak (L1).",
        "0 of 1 expectations met, 1 missed, the furthest by 2d: step 2× ± 25 % (1.20×).",
        "From smem to 2d 1.33× shorter: instructions ÷ 2.00, stalls ÷ warps × 1.50.",
        "2d has 80 % of the speed of cublas-fp32 (1.50 µs against 1.20 µs); to gain: at most 2.00× faster under the L1 "
        "roof, unless fewer bytes pass it.",
    ]
    alone = replace(told, reference=None, reference_ns=None, share=None)
    assert (
        words(ladder_sentences(alone))[3]
        == "To gain: at most 2.00× faster under the L1 roof, unless fewer bytes pass it."
    )


def test_fewer_bytes_do_not_lift_a_launch_past_the_peak_of_arithmetic():
    peak = replace(ROOF, bound="fp32")
    assert words(launch_sentences(Explanation(room=Room(peak)))) == [
        "To gain: at most 2.00× faster under the FP32 roof."
    ]


def test_json_has_topic_text_and_stage():
    document = sentences_document(launch_sentences(Explanation(VERDICT, advice=ADVICE)))
    assert json.loads(json.dumps(document))[0] == {"topic": "bound", "text": BOUND, "stage": None}
    assert (document[1]["topic"], document[1]["stage"]) == ("next", "warptiled")
    assert "\u2009" not in document[1]["text"]


def test_what_is_to_be_profiled_is_of_the_same_problem():
    assert profile_command("2d", Problem(64, 64, 64), " --store x") == "ncu-lab profile --stage 2d --size 64 --store x"
    assert profile_command("2d", Problem(1, 2, 3), "") == "ncu-lab profile --stage 2d -m 1 -n 2 -k 3"
    assert profile_command("2d", None, "") == "ncu-lab profile --stage 2d"
