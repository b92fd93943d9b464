"""Each rule, at its edge, with what it names; and the way up the bundled ladder that the rules show."""

from dataclasses import replace
from itertools import pairwise

import pytest
from builders import STAGES, summary

from ncu_lab.analyze.advising import LEAST_STAKE, RULES, Case, advise
from ncu_lab.gpu.registry import load_stages
from ncu_lab.model import Access, Culprit, Evidence, LaunchAccess, NextBlock, Stage, Stake, Verdict
from ncu_lab.resources import data_dir
from ncu_lab.workflows.climbing import ladder, view
from ncu_lab.workflows.reading import open_run

REGISTRY = load_stages()
TILE = Access("shared", "ld", "LDS", "instructions", 10.0, 10.0, 10.0, excess=0.0)


def made(bound="latency", evidence=(), access=(), stakes=None, stalls=None, role="main", **values):
    """A case of a made-up launch: nothing is known of it but what is given."""
    plain = summary("2d")
    readings = {
        key: replace(one, value=values.get(key), missing=() if key in values else (one.metric,))
        for key, one in plain.readings.items()
    }
    launch = replace(plain, readings=readings, stall_cycles=stalls or {}, role=role, sm_count=132)
    return Case(launch, Verdict(bound, tuple(evidence)), LaunchAccess(tuple(access), stakes or {}))


def at_stake(space, share):
    return {space: Stake(space, 1000.0, 5.0, 1000.0 * share, None, None, ())}


def excessive(space, kind, over=2.0, file="kernels/x.cu"):
    culprit = Culprit(file, 7, "LDS.128", 10.0, over)
    return Access(space, kind, "", "instructions", 10.0, 10.0 * over, 10.0, 10.0 * (over - 1.0), culprits=(culprit,))


def busy(key, value):
    return Evidence("busy", key, value, "%", 60.0)


FP32 = {"flop_per_s": 1e12, "fma_pipe_pct": 50.0}
TENSOR = {"tensor_flop": 1e12, "tensor_pipe_pct": 40.0}


@pytest.mark.parametrize(
    ("case", "technique", "figure", "stage"),
    [
        (made("launch", [Evidence("blocks", "blocks", 64.0, "block", 118.8, "132")]), "more blocks", 64.0, "splitk"),
        (made("launch", [Evidence("waves", "waves_per_sm", 0.24, "", 0.5)]), "more blocks", 0.24, "splitk"),
        (made("launch", [Evidence("short", "duration_ns", 4200.0, "ns")]), "more work a launch", 4200.0, None),
        (made("tail", [Evidence("idle", "idle_share", 0.16)]), "whole waves", 0.16, "sgemm-hopper"),
        (
            made("memory", access=[excessive("global", "ld", 4.1)], stakes=at_stake("global", 0.95)),
            "coalescing", 4.1, "coalesced",
        ),
        (
            made("shared", access=[excessive("shared", "st", 16.5)], stakes=at_stake("shared", 0.35)),
            "padding", 16.5, "smem-padded",
        ),
        (
            made("latency", access=[excessive("global", "red", 32.0)], stakes=at_stake("global", 0.9)),
            "fewer atomics", 32.0, None,
        ),
        (made("memory", [busy("l1_throughput_pct", 77.0)], **FP32), "tiles", 77.0, "smem"),
        (made("shared", shared_load_wavefronts_per_fma=1.5, **FP32), "a column a thread", 1.5, "1d"),
        (made("shared", shared_load_wavefronts_per_fma=0.625, **FP32), "a tile a thread", 0.625, "2d"),
        (
            made("shared", access=[TILE], stalls={"long_scoreboard": 1.0, "selected": 4.0},
                 global_load_sectors_ideal=4.0, **FP32),
            "wide accesses", 0.2, "vectorized",
        ),
        (
            made("shared", access=[TILE], stalls={"long_scoreboard": 1.0, "selected": 4.0},
                 global_load_sectors_ideal=16.0, **FP32),
            "overlapped copies", 0.2, "double-buffered",
        ),
        (
            made("shared", access=[excessive("shared", "ld", 1.67)], stakes=at_stake("shared", 0.3), **FP32),
            "conflict-free loads", 1.67, "warptiled",
        ),
        (made("compute", [busy("issue_slots_pct", 75.0)], **FP32), "FMA alone", 50.0, "sgemm-hopper"),
        (made("memory", [busy("dram_throughput_pct", 88.0)], **FP32), "fewer bytes", 88.0, None),
        (made("latency", stalls={"long_scoreboard": 3.0, "selected": 1.0}), "more loads", 0.75, None),
    ],
)  # fmt: skip
def test_evidence_asks_for_a_technique_and_names_the_stage_that_has_it(case, technique, figure, stage):
    found = advise(case, REGISTRY["naive"], REGISTRY)
    assert (found.technique, found.stage) == (technique, stage)
    assert found.figure == pytest.approx(figure)
    foreign = advise(case, None, REGISTRY)
    assert (foreign.technique, foreign.stage) == (technique, None)


def test_tensor_cores_are_led_from_global_memory_to_tiles_to_mma_sync_to_warpgroups():
    unfed = made("memory", **TENSOR)
    assert advise(unfed, REGISTRY["wmma"], REGISTRY).stage == "wmma-tiled"
    tiled = replace(made("latency", access=[TILE], **TENSOR), capability=90)
    assert advise(tiled, REGISTRY["wmma-tiled"], REGISTRY).stage == "mma-sync"
    found = advise(tiled, REGISTRY["mma-sync"], REGISTRY)
    assert (found.technique, found.stage) == ("warpgroups", "wgmma-fp16")  # of the same type: FP16
    assert advise(replace(tiled, capability=80), REGISTRY["mma-sync"], REGISTRY) is None
    groups = Access("shared", "wgmma", "HGMMA", "instructions", 10.0, 10.0, 10.0)
    assert advise(replace(tiled, access=LaunchAccess((groups,))), REGISTRY["wgmma"], REGISTRY) is None


@pytest.mark.parametrize("ideal", [4.0, 16.0])
def test_a_full_dram_is_not_helped_by_other_ways_to_fetch_the_same_bytes(ideal):
    waits = {"long_scoreboard": 9.0, "selected": 1.0}
    full = made("memory", [busy("dram_throughput_pct", 92.0)], [TILE], stalls=waits, global_load_sectors_ideal=ideal,
                **FP32)  # fmt: skip
    assert advise(full, None, REGISTRY).technique == "fewer bytes"
    other = replace(full, verdict=Verdict("memory", (busy("l2_throughput_pct", 92.0),)))
    assert advise(other, None, REGISTRY).technique in ("wide accesses", "overlapped copies")


def test_what_is_hardly_at_stake_is_no_advice():
    for share, found in ((LEAST_STAKE - 0.001, False), (LEAST_STAKE, True)):
        case = made("shared", access=[excessive("shared", "ld")], stakes=at_stake("shared", share), **FP32)
        assert (advise(case, REGISTRY["2d"], REGISTRY) is not None) == found


def test_accesses_that_are_nearly_ideal_are_not_blamed():
    case = made("shared", access=[excessive("shared", "ld", 1.3)], stakes=at_stake("shared", 0.9), **FP32)
    assert advise(case, REGISTRY["2d"], REGISTRY) is None


def test_nothing_follows_from_what_was_not_collected():
    for bound in ("compute", "memory", "shared", "balanced", "latency", "launch", "tail", "unknown"):
        assert advise(made(bound), None, REGISTRY) is None


def test_loads_that_may_not_be_coalesced_are_not_sent_to_shared_memory():
    unknown = Access("global", "ld", "LDG", "hardware", 10.0, 165.0, None)
    case = made("memory", [busy("l1_throughput_pct", 95.0)], [unknown], **FP32)
    assert advise(case, REGISTRY["naive"], REGISTRY) is None
    few = replace(unknown, amount=25.0)
    assert advise(replace(case, access=LaunchAccess((few,))), REGISTRY["coalesced"], REGISTRY).stage == "smem"


def test_a_rung_that_a_stage_stands_on_is_not_advised_again():
    column = made("shared", shared_load_wavefronts_per_fma=1.5, **FP32)
    assert advise(column, REGISTRY["smem"], REGISTRY).stage == "1d"
    assert advise(column, REGISTRY["1d"], REGISTRY).stage == "2d"  # the next rule holds too
    assert advise(column, REGISTRY["2d"], REGISTRY) is None


def test_a_stage_is_advised_only_where_it_runs_and_is_registered():
    case = made("compute", [busy("fma_pipe_pct", 70.0)], **FP32)
    assert advise(replace(case, capability=90), REGISTRY["warptiled"], REGISTRY).stage == "sgemm-hopper"
    assert advise(replace(case, capability=86), REGISTRY["warptiled"], REGISTRY) is None
    assert advise(case, STAGES["warptiled"], STAGES) is None  # a registry without it


def test_a_stage_that_launches_the_same_function_has_nothing_to_show():
    case = made("compute", [busy("issue_slots_pct", 73.0)], **FP32)
    alike = {"sgemm-hopper": case.summary.function}
    assert advise(case, REGISTRY["splitk"], REGISTRY).stage == "sgemm-hopper"
    assert advise(replace(case, functions=alike), REGISTRY["splitk"], REGISTRY) is None
    other = replace(case, functions={"sgemm-hopper": "sgemm_hopper"})
    assert advise(other, REGISTRY["splitk"], REGISTRY).stage == "sgemm-hopper"


def test_for_a_small_c_both_summits_launch_one_kernel_and_neither_is_advised_after_the_other():
    store = data_dir("examples")
    seen = view(open_run(ladder(store, size=1024).rows[0].run, store))
    main = {one.stage: one for one in seen.summaries if one.role == "main"}
    assert main["splitk"].function == main["sgemm-hopper"].function == "sgemm_small"
    for stage, other in (("splitk", "sgemm-hopper"), ("sgemm-hopper", "splitk")):
        advice = seen.explanations[main[stage].launch].advice
        assert advice is None or advice.stage != other


def test_references_get_no_advice():
    case = made("memory", [busy("dram_throughput_pct", 88.0)], **FP32)
    assert advise(case, REGISTRY["cublas-fp32"], REGISTRY) is None


def test_one_more_block_is_advised_where_nothing_is_busy():
    case = made("latency", achieved_occupancy_pct=12.0)
    assert advise(replace(case, next_block=NextBlock(2, registers=64)), None, REGISTRY).technique == "more warps"
    assert advise(replace(case, next_block=NextBlock(2)), None, REGISTRY) is None


def test_every_stage_of_the_table_is_registered():
    named = {stage for _, stages in RULES for stage in stages}
    assert named <= set(REGISTRY)
    assert all(isinstance(REGISTRY[one], Stage) and not REGISTRY[one].is_reference for one in named)


LADDER = ("naive", "coalesced", "smem", "1d", "2d", "vectorized", "double-buffered", "warptiled", "sgemm-hopper")


@pytest.fixture(scope="module")
def advised():
    """Stage -> the stage that is advised after it, in the bundled run at 4096."""
    store = data_dir("examples")
    seen = view(open_run(ladder(store, size=4096).rows[0].run, store))
    return {
        one.stage: seen.explanations[one.launch].advice and seen.explanations[one.launch].advice.stage
        for one in seen.summaries
        if one.role == "main"
    }


@pytest.mark.parametrize(
    ("stage", "asked"), [*pairwise(LADDER), ("smem-conflict", "smem-padded"), ("wmma", "wmma-tiled")]
)
def test_the_counters_of_each_rung_ask_for_the_next(advised, stage, asked):
    assert advised[stage] == asked
