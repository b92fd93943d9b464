"""Accesses judged: by hand on made-up counters, then on every recorded launch."""

from __future__ import annotations

from pathlib import Path

import pytest
from example_runs import example

from ncu_lab import metrics
from ncu_lab.analyze.judging import judge_accesses
from ncu_lab.analyze.summary import counters, summarize
from ncu_lab.model import INSTANCE_COLUMNS, LaunchAccess, LaunchSummary, table
from ncu_lab.resources import data_dir
from ncu_lab.store.stored_run import read_directory
from ncu_lab.workflows.reading import read_file

GOLDEN = Path(__file__).parents[2] / "data" / "golden"
LOADS = "l1tex__t_{}_pipe_lsu_mem_global_op_ld.sum"
ASYNC = "sm__sass_l1tex_t_{}_pipe_lsu_mem_global_op_ldgsts_cache_{}.sum"


def code(*rows):
    """Instances of (sass, line, {metric: value})."""
    cells = [(index, *row, name) for index, row in enumerate(rows) for name in row[2]]
    columns = {name: [None] * len(cells) for name in INSTANCE_COLUMNS}
    columns |= {
        "launch": [0] * len(cells),
        "metric": [cell[4] for cell in cells],
        "kind": ["pc"] * len(cells),
        "correlation": [2**40 + 16 * cell[0] for cell in cells],
        "value": [cell[3][cell[4]] for cell in cells],
        "sass": [cell[1] for cell in cells],
        "file": [None if cell[2] is None else "a.cu" for cell in cells],
        "line": [cell[2] for cell in cells],
    }
    return table(INSTANCE_COLUMNS, columns)


def opcodes(**runs):
    columns = {name: [None] * len(runs) for name in INSTANCE_COLUMNS}
    columns |= {
        "launch": [0] * len(runs),
        "metric": ["sass__inst_executed_per_opcode_with_modifier_all"] * len(runs),
        "kind": ["name"] * len(runs),
        "correlation": list(range(len(runs))),
        "label": [name.replace("_", ".") for name in runs],
        "value": list(runs.values()),
    }
    return table(INSTANCE_COLUMNS, columns)


def sectors(executed, taken, needed, tags):
    return {
        "inst_executed": executed,
        "memory_l2_theoretical_sectors_global": taken,
        "memory_l2_theoretical_sectors_global_ideal": needed,
        "memory_l1_tag_requests_global": tags,
    }


def wavefronts(executed, taken, ideal):
    return {
        "inst_executed": executed, "memory_l1_wavefronts_shared": taken, "memory_l1_wavefronts_shared_ideal": ideal,
    }  # fmt: skip


def judged(instances=None, **values) -> LaunchAccess:
    found = {name: float(value) for name, value in values.items()}
    one = LaunchSummary(0, None, "k", "k", (1, 1, 1), (32, 1, 1), "kernel", (), "main", metrics.read_all(found.get), {})
    return judge_accesses(table(INSTANCE_COLUMNS) if instances is None else instances, [one], {0: found})[0]


def by_kind(found: LaunchAccess):
    return {(access.space, access.kind): access for access in found.accesses}


def test_hardware_counts_and_instructions_tell_the_ideal():
    instances = code(
        ("LDG.E R1, desc[UR4][R2.64]", 10, sectors(100, 3200, 400, 3200)),
        ("LDG.E.128 R4, desc[UR4][R2.64]", 11, sectors(50, 800, 800, 200)),
        ("FFMA R1, R2, R3, R1", 12, {"inst_executed": 900}),
    )
    access = by_kind(judged(instances, **{LOADS.format("requests"): 150, LOADS.format("sectors"): 4000}))[
        "global", "ld"
    ]
    assert access.counted_by == "hardware"
    assert access.per_request == pytest.approx(4000 / 150)
    assert access.ideal_per_request == 8.0  # (100 x 4 + 50 x 16) / 150
    assert access.over_ideal == pytest.approx(4000 / 1200)
    assert access.excess == 2800  # the first alone: 3200 - 400
    assert access.excess_share == 0.7  # 2800 of 4000
    assert [(one.place, one.opcode, one.excess, one.over_ideal) for one in access.culprits] == [
        ("a.cu:10", "LDG.E", 2800, 8.0)
    ]


def test_lanes_on_one_address_need_one_sector_but_are_judged_by_their_width():
    instances = code(("LDG.E R1, desc[UR4][R2.64]", None, sectors(100, 100, 100, 100)))
    access = by_kind(judged(instances))["global", "ld"]
    assert (access.over_ideal, access.excess, access.counted_by) == (0.25, 0.0, "instructions")


def test_cp_async_is_taken_out_of_the_hardwares_loads():
    values = {
        LOADS.format("requests"): 100, LOADS.format("sectors"): 1000,
        ASYNC.format("requests", "access"): 30, ASYNC.format("requests", "bypass"): 10,
        ASYNC.format("sectors", "access"): 120, ASYNC.format("sectors", "bypass"): 160,
    }  # fmt: skip
    found = by_kind(judged(opcodes(LDG_E=60, LDGSTS_E=30, LDGSTS_E_BYPASS_128=10), **values))
    assert (found["global", "ld"].requests, found["global", "ld"].amount) == (60, 720)
    assert found["global", "ld"].covers == "LDG, LD"
    copies = found["global", "cp.async"]
    assert (copies.requests, copies.amount, copies.ideal_per_request) == (40, 280, 7.0)  # (30 x 4 + 10 x 16) / 40


def test_where_nobody_counts_cp_async_apart_the_ratio_says_what_it_covers():
    access = by_kind(judged(**{LOADS.format("requests"): 10, LOADS.format("sectors"): 320}))["global", "ld"]
    assert access.covers == "LDG, LD, LDGSTS"
    assert (access.per_request, access.ideal, access.excess) == (32.0, None, None)
    assert access.missing == ("SourceCounters",)


def test_opcodes_tell_the_width_where_instructions_are_not_counted():
    access = by_kind(judged(opcodes(LDG_E_64=10), **{LOADS.format("requests"): 10, LOADS.format("sectors"): 320}))[
        "global", "ld"
    ]
    assert (access.ideal_per_request, access.over_ideal, access.excess) == (8.0, 4.0, 240.0)
    assert access.culprits == ()


def test_kinds_of_shared_accesses_are_apart_and_shares_are_of_all_wavefronts():
    found = by_kind(
        judged(
            code(
                ("STS [R2], R4", 5, wavefronts(10, 320, 10)),
                ("LDS.128 R4, [R2]", 6, wavefronts(10, 40, 40)),
                ("LDSM.16.M88.4 R4, [R2]", 7, wavefronts(10, 80, 40)),
                ("LDGSTS.E [R7], desc[UR4][R2.64]", 8, wavefronts(10, 40, 10)),
                ("ATOMS.ADD R4, [R2], R5", 9, wavefronts(10, 20, 10)),
                ("HGMMA.64x128x16.F32 R24, gdesc[UR16], R24", 10, wavefronts(10, 100, 100)),
                ("NEWOP R1, [R2]", 11, wavefronts(10, 200, 100)),
            )
        )
    )
    assert {kind: access.over_ideal for (space, kind), access in found.items() if space == "shared"} == {
        "st": 32.0, "ld": 1.0, "ldmatrix": 2.0, "cp.async": 4.0, "atom": 2.0, "wgmma": 1.0, "other": 2.0,
    }  # fmt: skip
    assert found["shared", "st"].excess_share == 310 / 800
    assert found["shared", "other"].covers == "NEWOP"
    assert found["shared", "st"].unit == "wavefront"


def test_conflicts_by_the_hardware_where_instructions_are_not_counted():
    values = {
        "smsp__sass_inst_executed_op_shared_st.sum": 10,
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum": 170,
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum": 160,
    }
    access = by_kind(judged(**values))["shared", "st"]
    assert (access.over_ideal, access.excess, access.counted_by) == (17.0, 160.0, "hardware")
    del values["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"]
    unknown = judged(**values)
    assert by_kind(unknown)["shared", "st"].missing == ("MemoryWorkloadAnalysis_Tables",)
    assert unknown.stakes["shared"].upper_bound_ns is None


def test_tma_is_told_of_and_not_judged():
    found = judged(**{f"smsp__sass_inst_executed_op_tma_{op}.sum": n for op, n in (("ld", 8), ("st", 2), ("red", 0))})
    (access,) = found.accesses
    assert (access.kind, access.requests, access.per_request, access.ideal) == ("tma", 10, None, None)
    assert found.stakes == {}


def test_what_never_ran_or_moved_nothing_is_no_access():
    instances = code(("LDG.E R1, desc[UR4][R2.64]", 1, sectors(0, 0, 0, 0)), ("LDG.E R1, [R2]", 1, sectors(9, 0, 0, 0)))
    assert judged(instances, **{LOADS.format("requests"): 0, LOADS.format("sectors"): 0}) == LaunchAccess()


def test_nothing_collected_nothing_judged():
    assert judged() == LaunchAccess()
    assert judge_accesses(table(INSTANCE_COLUMNS), [], {}) == {}


def recorded(name):
    run = read_directory(data_dir("examples") / example(name).id)
    summaries = summarize(run)
    found = judge_accesses(run.instances, summaries, counters(run.metrics))
    return {one.stage: (one, found[one.launch]) for one in summaries}


@pytest.fixture(scope="module")
def at_4096():
    return recorded("ladder 4096")


@pytest.mark.parametrize(
    ("stage", "kind", "over", "line"),
    [
        ("naive", ("global", "ld"), 16.5 / 4, "kernels/gemm/01_naive.cu:24"),
        ("coalesced", ("global", "ld"), 2.5 / 4, None),
        ("smem-conflict", ("shared", "st"), 16.5, "kernels/gemm/04_smem_conflict.cu:31"),
        ("smem-padded", ("shared", "st"), 1.0, None),
        ("2d", ("global", "st"), 8.0, "kernels/common.cuh:60"),
        ("2d", ("shared", "ld"), 5 / 3, "kernels/gemm/07_2d.cu:64"),
        ("warptiled", ("shared", "cp.async"), 2.5, "cuda/include/cuda_pipeline_helpers.h:190"),
        ("warptiled", ("shared", "ld"), 1.0, None),
    ],
)
def test_the_ladder_at_4096(at_4096, stage, kind, over, line):
    access = by_kind(at_4096[stage][1])[kind]
    assert access.over_ideal == pytest.approx(over, rel=1e-3)
    assert next((one.place for one in access.culprits), None) == line


@pytest.mark.parametrize(
    ("space", "stage", "cured"), [("global", "naive", "coalesced"), ("shared", "smem-conflict", "smem-padded")]
)
@pytest.mark.parametrize("run", ["ladder 4096", "ladder 1024"])
def test_the_bound_holds_for_the_stages_that_cure_one_fault(space, stage, cured, run):
    stages = recorded(run)
    before, after = (stages[one][0].value("duration_ns") for one in (stage, cured))
    bound = stages[stage][1].stakes[space].upper_bound_ns
    assert before - after < bound < before
    assert bound < 1.2 * (before - after)  # and is near: the unit is always busy
    assert stages[cured][1].stakes[space].upper_bound_ns == 0.0


def test_the_same_judgement_without_source_counters():
    run = read_file(GOLDEN / "ladder-full.ncu-rep.gz")
    summaries, values = summarize(run), counters(run.metrics)
    whole = judge_accesses(run.instances, summaries, values)
    hardware = judge_accesses(run.instances[run.instances["kind"] != "pc"], summaries, values)
    for launch, found in whole.items():
        for kind, access in by_kind(found).items():
            if kind[1] in ("ld", "st"):
                # The hardware counts wavefronts lost to arbitration as conflicts.
                near = 0.2 if kind[0] == "shared" else 1e-9
                assert by_kind(hardware[launch])[kind].over_ideal == pytest.approx(access.over_ideal, rel=near)


@pytest.mark.parametrize("name", ["cupy-nvtx.ncu-rep.gz", "cupy-nvtx.raw.csv.gz", "ladder-full.source.csv.gz"])
def test_every_kind_of_file_is_judged_as_far_as_it_goes(name):
    run = read_file(GOLDEN / name)
    for found in judge_accesses(run.instances, summarize(run), counters(run.metrics)).values():
        assert all(access.amount is not None for access in found.accesses)
        assert all(one.upper_bound_ns is None or one.upper_bound_ns >= 0 for one in found.stakes.values())
