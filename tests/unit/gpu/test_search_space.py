from __future__ import annotations

from pathlib import Path

import pytest

from ncu_lab.errors import InputError
from ncu_lab.gpu.registry import load_stages, using_tiles
from ncu_lab.gpu.search_space import as_built, candidates, label_of, refusal, with_tile, within_budget
from ncu_lab.gpu.toolkit import find_tool
from ncu_lab.model import ARCHITECTURES, Candidate, Problem, Stage
from ncu_lab.workflows.compiling_tiles import list_tiles

H200 = ARCHITECTURES[(9, 0)]
CUBE = Problem(4096, 4096, 4096)
SEARCHED = [stage for stage in load_stages().values() if stage.tune]


@pytest.fixture
def autotuned() -> Stage:
    return load_stages()["autotuned"]


def tile(bm: int, bn: int, bk: int, tm: int, tn: int) -> dict[str, int]:
    return {"BM": bm, "BN": bn, "BK": bk, "TM": tm, "TN": tn}


def test_the_registered_tile_comes_first_and_once(autotuned: Stage) -> None:
    found = candidates(autotuned, CUBE, H200)
    assert found[0] == Candidate("BM128-BN128-BK16-TM8-TN8", tile(128, 128, 16, 8, 8))
    assert len(found) == len({one.label for one in found}) == 4 * 4 * 4 * 3 * 3
    assert {one.outcome for one in found} == {"untried", "rejected"}
    assert all(bool(one.why) == (one.outcome == "rejected") for one in found)


@pytest.mark.parametrize(
    ("sizes", "problem", "why"),
    [
        ((128, 128, 16, 8, 8), CUBE, ""),
        ((64, 64, 8, 16, 16), CUBE, "less than a warp"),  # 4 x 4 threads
        ((128, 256, 64, 4, 4), CUBE, "2048 threads a block"),  # 32 x 64
        ((256, 128, 64, 8, 8), CUBE, "98304 bytes of static shared memory, a block has 49152"),  # 4 * 64 * 384
        ((128, 256, 16, 16, 16), CUBE, "288 registers"),  # 256 + 16 + 16
        ((256, 256, 8, 16, 8), CUBE, "152 registers for sums and fragments of 512 threads"),  # 152 * 512 > 65536
        ((32, 256, 8, 4, 4), CUBE, "copied in whole rounds"),  # 512 threads copy 256 rows of A at once, the tile has 32
        ((128, 128, 16, 8, 8), Problem(4096, 4000, 4096), "n = 4000 is no multiple of 128"),
        ((128, 128, 16, 8, 8), Problem(4096, 4096, 24), "k = 24 is no multiple of 16"),
    ],
)
def test_what_cannot_work_is_refused_with_its_reason(
    autotuned: Stage, sizes: tuple[int, int, int, int, int], problem: Problem, why: str
) -> None:
    found = refusal(autotuned, tile(*sizes), problem, H200)
    assert found.startswith(why) if not why else why in found
    assert bool(found) == bool(why)


def test_block_and_multiples_follow_from_the_tile(autotuned: Stage) -> None:
    other = with_tile(autotuned, tile(64, 128, 32, 4, 8))
    assert other.block == (16 * 16, 1, 1)
    assert other.multiples == (64, 128, 32)
    warps = with_tile(load_stages()["warptiled"], {**tile(128, 128, 16, 8, 16), "WM": 64, "WN": 64})
    assert warps.block == (128, 1, 1)  # 2 x 2 warps


@pytest.mark.parametrize("stage", SEARCHED, ids=lambda stage: stage.id)
def test_the_registered_tile_is_in_the_space_and_as_registered(stage: Stage) -> None:
    first = candidates(stage, CUBE, H200)[0]
    assert (first.label, first.outcome) == (label_of(stage.tile), "untried")
    same = with_tile(stage, stage.tile)
    assert (same.block, same.multiples) == (stage.block, stage.multiples)


def test_sizes_that_follow_from_others_do() -> None:
    for one in candidates(load_stages()["warptiled"], CUBE, H200):
        assert (one.tile["WM"], one.tile["WN"]) == (8 * one.tile["TM"], 4 * one.tile["TN"])


def test_a_budget_takes_the_same_tiles_every_time_and_the_registered_one_always(autotuned: Stage) -> None:
    found = candidates(autotuned, CUBE, H200)
    rejected = sum(one.outcome == "rejected" for one in found)
    kept, left_out = within_budget(found, 10)
    assert kept == within_budget(found, 10)[0]
    assert len(kept) == rejected + 10
    assert left_out == len(found) - rejected - 10
    assert kept[0] is found[0]
    assert within_budget(found, None) == (found, 0)
    assert within_budget(found, 10_000) == (found, 0)


def test_a_tile_in_use_takes_the_place_of_the_registered_one() -> None:
    with using_tiles({"autotuned": tile(64, 64, 16, 4, 4), "naive": {"BM": 1}, "nobody": {}}):
        stages = load_stages()
        assert stages["autotuned"].tile["BM"] == 64
        assert stages["autotuned"].block == (256, 1, 1)
        assert stages["naive"].tile == {"BM": 32, "BN": 32}
    with using_tiles({"autotuned": tile(64, 64, 8, 16, 16)}):  # what no rule allows is not taken
        assert load_stages()["autotuned"].tile == tile(128, 128, 16, 8, 8)
    assert load_stages()["autotuned"].tile == tile(128, 128, 16, 8, 8)


@pytest.mark.skipif(find_tool("nvcc") is None, reason="nvcc is not here")
@pytest.mark.parametrize("id", ["2d", "double-buffered", "warptiled"])
def test_what_no_rule_refuses_compiles(id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ncu_lab.workflows.compiling_tiles import compile_tiles

    monkeypatch.setenv("NCU_LAB_CACHE", str(tmp_path))
    found, builds = compile_tiles(list_tiles(id, CUBE, "sm_90", budget=3))
    tried = [one for one in found if one.outcome != "rejected"]
    assert [(one.outcome, one.why) for one in tried] == [("untried", "")] * 3
    assert set(builds) == {one.label for one in tried}
    assert all(one.registers and one.shared_bytes and one.occupancy for one in tried)
    for one in tried:
        assert as_built(load_stages()[id], builds[one.label]).tile == one.tile


TABLE = """
threads = "BM / TM"
shared_bytes = "4 * BM"
registers = "TM"
multiples = ["BM", "BN", "1"]
values = { BM = [32, 64], TM = [1, 2] }
rules = [{ needs = "BM % TM == 0", why = "threads would not cover the tile" }]
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("BM = [32, 64]", "BM = []", "values of BM must be a list"),
        ("BM = [32, 64]", "BX = [32, 64]", "BX is no size of the stage's tile"),
        ('threads = "BM / TM"', "", '"threads" is missing'),
        ('threads = "BM / TM"', 'threads = "BM / TX"', "names TX"),
        ('threads = "BM / TM"', 'threads = "BM /"', "no arithmetic"),
        ('threads = "BM / TM"', 'threads = "BM / TM"\nthreds = "1"', 'unknown key "threds"'),
        ('multiples = ["BM", "BN", "1"]', 'multiples = ["BM"]', "three expressions"),
        ('why = "threads would not cover the tile"', 'because = "?"', '"needs" and "why"'),
    ],
)
def test_a_wrong_space_is_refused_by_name(tmp_path: Path, old: str, new: str, message: str) -> None:
    (tmp_path / "one.cu").write_text("// a kernel\n")
    head = (
        '[[stage]]\nid = "one"\ntitle = "one"\nchange = "All."\nbottleneck = "none"\ndtype = "fp32"\nfile = "one.cu"\n'
        'entry = "one"\nblock = [32, 1, 1]\ntile = { BM = 32, BN = 16, TM = 1 }\n[stage.tune]\n'
    )
    path = tmp_path / "stages.toml"
    path.write_text(head + TABLE)
    assert load_stages(path)["one"].tune is not None
    assert old in TABLE
    path.write_text(head + TABLE.replace(old, new))
    with pytest.raises(InputError) as caught:
        load_stages(path)
    assert message in caught.value.message
    assert 'stage "one"' in caught.value.message
