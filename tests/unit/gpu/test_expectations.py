from __future__ import annotations

from pathlib import Path

import pytest

from ncu_lab.errors import InputError
from ncu_lab.gpu.registry import load_stages

STAGE = """
[[stage]]
id = "one"
title = "one"
change = "Everything."
bottleneck = "none"
dtype = "fp32"
file = "one.cu"
entry = "one"
block = [32, 8, 1]
tile = { BM = 32, BN = 16 }
"""
EXPECT = """
[[stage.expect]]
key = "global_load_sectors_per_request"
near = 16.5
within = 0.1
min_size = 64
source = "theory"
derivation = "(32 + 1) / 2."
"""


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    (tmp_path / "one.cu").write_text("// a kernel\n")
    return tmp_path / "stages.toml"


def test_near_is_its_value_less_and_plus_the_tolerance(registry: Path) -> None:
    registry.write_text(STAGE + EXPECT)
    (one,) = load_stages(registry)["one"].expect
    assert (one.relation, one.near, one.within, one.min_size) == ("near", 16.5, 0.1, 64)
    assert one.low == pytest.approx(14.85)  # 16.5 - 1.65
    assert one.high == pytest.approx(18.15)
    assert one.unit == "sector/request"


@pytest.mark.parametrize(
    ("bound", "low", "high"), [("at_most = 4", None, 4.0), ("at_least = 4", 4.0, None), ("between = [1, 4]", 1.0, 4.0)]
)
def test_other_relations(registry: Path, bound: str, low: float | None, high: float | None) -> None:
    registry.write_text(STAGE + EXPECT.replace("near = 16.5\nwithin = 0.1", bound))
    (one,) = load_stages(registry)["one"].expect
    assert (one.low, one.high, one.near) == (low, high, None)


@pytest.mark.parametrize(
    ("key", "unit"),
    [
        ("stall:long_scoreboard", "share"),
        ("build:registers", "register/thread"),
        ("sass:LDS.128", "inst"),
        ("pct_of_reference", "%"),
        ("gflops", "GFLOP/s"),
    ],
)
def test_keys_beside_the_catalogue(registry: Path, key: str, unit: str) -> None:
    registry.write_text(STAGE + EXPECT.replace("global_load_sectors_per_request", key))
    assert load_stages(registry)["one"].expect[0].unit == unit


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("sectors_per_request", "sector_per_request", 'unknown key "global_load_sector_per_request"'),
        ("global_load_sectors_per_request", "stall:boredom", 'unknown key "stall:boredom"'),
        ("global_load_sectors_per_request", "build:colour", 'unknown key "build:colour"'),
        ("global_load_sectors_per_request", "sass:", 'unknown key "sass:"'),
        ("global_load_sectors_per_request", "step", "step is expected against no other stage"),
        ('key = "global_load_sectors_per_request"', "", "key is missing"),
        ("within = 0.1", "", "within must be a number"),
        ("within = 0.1", "within = 1.0", "within is a share of near"),
        ("near = 16.5", "near = 0", "near must be above 0"),
        ("near = 16.5", "near = nan", "near must be a number"),
        ("near = 16.5", "near = true", "near must be a number"),
        ("near = 16.5", "at_most = 4", "within belongs to near"),
        ("near = 16.5", "at_most = 4\nat_least = 3", "exactly one of"),
        ("near = 16.5\nwithin = 0.1", "between = [4, 1]", "the lower number first"),
        ("near = 16.5\nwithin = 0.1", "between = 4", "a list of two numbers"),
        ("near = 16.5\nwithin = 0.1", "", "exactly one of"),
        ('"theory"', '"rumour"', "source = 'rumour' is unknown"),
        ('derivation = "(32 + 1) / 2."', "", "derivation is missing"),
        ("min_size = 64", "min_size = 0", "min_size must be a positive integer"),
        ("min_size = 64", "kernel = 3", "kernel is the name of the one that runs"),
        ("min_size = 64", "against = 3", "against must be the id of a stage"),
        ("min_size = 64", 'against = "two"', 'against "two", which is not registered'),
        ("min_size = 64", 'against = "one"', "against no other stage"),
        ("min_size = 64", "minsize = 64", 'unknown key "minsize"'),
        ("min_size = 64", "per_instruction = true", "per_instruction is true or false, and of shared_load"),
        ("min_size = 64", "per_instruction = 1", "per_instruction is true or false"),
    ],
)
def test_names_file_stage_and_fault(registry: Path, old: str, new: str, message: str) -> None:
    assert old in EXPECT
    registry.write_text(STAGE + EXPECT.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        load_stages(registry)
    assert message in caught.value.message
    assert str(registry) in caught.value.message
    assert '"one"' in caught.value.message


def test_a_wrong_number_names_its_expectation(registry: Path) -> None:
    registry.write_text(STAGE + EXPECT + EXPECT.replace("16.5", "17.5").replace("min_size = 64", "min_size = -1"))
    with pytest.raises(InputError, match=r"expectation 2 \(global_load_sectors_per_request\): min_size"):
        load_stages(registry)


def test_the_same_twice_is_refused(registry: Path) -> None:
    registry.write_text(STAGE + EXPECT + EXPECT)
    with pytest.raises(InputError, match="declared twice"):
        load_stages(registry)


@pytest.mark.parametrize("entries", ["expect = 3", "expect = [3]"])
def test_no_tables(registry: Path, entries: str) -> None:
    registry.write_text(STAGE + entries + "\n")
    with pytest.raises(InputError, match="expect"):
        load_stages(registry)


def test_every_stage_and_reference_of_the_ladder_says_what_it_expects() -> None:
    stages = load_stages()
    expected = {id: stage.expect for id, stage in stages.items()}
    assert sum(len(found) for found in expected.values()) >= 24
    for id in ("naive", "coalesced", "smem", "smem-conflict", "smem-padded", "1d", "2d", "vectorized",
               "double-buffered", "warptiled", "wmma", "cublas-fp32", "cublas-tf32", "cublas-fp16"):  # fmt: skip
        assert expected[id], id
    assert {one.source for found in expected.values() for one in found} == {"post", "guide", "theory"}


def test_a_published_time_holds_within_a_quarter_and_for_large_problems() -> None:
    for stage in load_stages().values():
        for one in stage.expect:
            if one.source != "theory" and one.key in ("step", "pct_of_reference", "gflops"):
                assert one.min_size >= 2048, stage.id
                assert one.within is None or one.within <= 0.25, stage.id
