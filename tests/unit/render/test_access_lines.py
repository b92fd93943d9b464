"""What show says of memory accesses: ideals, conflicts, the time at stake and the line to blame."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from builders import summary

from ncu_lab.model import Access, Culprit, LaunchAccess, Stake
from ncu_lab.render.access import LINE_WIDTH, access_document, access_lines
from ncu_lab.render.tables import json_text

STORES = Access(
    "shared", "st", "STS", "instructions", 10.0, 320.0, 10.0, 310.0, 0.5,
    (Culprit("a.cu", 31, "STS", 310.0, 32.0), Culprit("a.cu", 32, "STS.64", 1.0, 1.1)),
)  # fmt: skip
LOADS = Access("global", "ld", "LDG, LD", "hardware", 100.0, 400.0, 400.0, 0.0, 0.0)


def stake(space="shared", **changed):
    fields = {
        "space": space, "duration_ns": 1e6, "excess": 310.0, "served_ns": 4e5, "waited_ns": 9e5, "stall_share": 0.534,
        "reasons": ("short_scoreboard", "mio_throttle"),
    }  # fmt: skip
    return Stake(**{**fields, **changed})


def lines(*accesses, stakes=()):
    found = LaunchAccess(accesses, {one.space: one for one in stakes})
    told = access_lines(summary("2d"), found)
    return [
        (label, "".join(part if isinstance(part, str) else part[0] for part in parts).replace("\u2009", " "))
        for label, parts in told
    ]


def test_conflicts_say_what_they_cost_at_most_and_who_is_to_blame():
    assert lines(LOADS, STORES, stakes=[stake()]) == [
        ("global sectors", "loads 4.00 of 4 ideal ✓"),
        ("bank conflicts", "stores 32.0× ✗"),
        ("conflicts cost", "at most 400 µs of 1.00 ms at stake; waits for it 53 %"),
        ("mostly by", "a.cu:31, STS 32.0×"),
    ]


def test_what_costs_nothing_is_not_told():
    good = Access("shared", "st", "STS", "instructions", 10.0, 11.0, 10.0, 1.0, 0.1)
    told = lines(LOADS, good, stakes=[stake(excess=1.0, served_ns=9e3)])  # 0.9 %
    assert [label for label, _ in told] == ["global sectors", "bank conflicts"]
    told = lines(LOADS, good, stakes=[stake(excess=1.0, served_ns=1.1e4)])  # 1.1 %
    assert told[2] == ("conflicts cost", "at most 11.0 µs of 1.00 ms at stake; waits for it 53 %")


def test_what_cannot_be_bounded_says_what_would_tell():
    told = lines(STORES, stakes=[stake(duration_ns=None, missing=("SpeedOfLight",))])
    assert ("conflicts cost", "not collected: --section SpeedOfLight") in told


def test_a_ratio_says_what_it_covers():
    both = Access("global", "ld", "LDG, LD, LDGSTS", "hardware", 10.0, 320.0, None)
    tma = Access("global", "tma", "UTMALDG: whole tiles, always whole sectors", "hardware", 393e3, None, None)
    assert lines(both, tma)[0] == ("global sectors", "loads + cp.async 32.0   TMA 393 k requests, counted apart")


def test_more_kinds_than_a_line_holds_go_on_in_the_next():
    kinds = [
        Access("shared", kind, "", "instructions", 1.0, 1.0, 1.0, 0.0)
        for kind in ("ld", "wgmma", "cp.async", "st", "atom")
    ]
    told = lines(LOADS, *kinds)
    assert [label for label, _ in told] == ["global sectors", "bank conflicts", ""]
    assert all(len(text) <= LINE_WIDTH for _, text in told)


def test_the_longest_place_fits():
    far = Culprit("/home/somebody/projects/attention/kernels/forward_pass.cu", 1234, "LDG.E.128", 9.0, 2.0)
    access = Access("global", "ld", "LDG", "instructions", 1.0, 10.0, 1.0, 9.0, 0.9, (far,))
    told = dict(lines(access, stakes=[stake("global")]))
    assert told["mostly by"] == "…ttention/kernels/forward_pass.cu:1234, LDG.E.128 2.00×"
    assert len(told["mostly by"]) <= LINE_WIDTH


def test_a_long_place_and_a_long_instruction_stand_in_two_lines():
    where, what = "/usr/local/cuda/include/cuda_pipeline_helpers.h", "LDGSTS.E.BYPASS.LTC128B.128"
    far = Culprit(where, 203, what, 9.0, 1.33)
    access = Access("global", "cp.async", what, "instructions", 1.0, 10.0, 1.0, 9.0, 0.9, (far,))
    told = lines(access, stakes=[stake("global")])
    at = [label for label, _ in told].index("mostly by")
    assert told[at : at + 2] == [("mostly by", "…a/include/cuda_pipeline_helpers.h:203,"), ("", f"{what} 1.33×")]
    assert all(len(text) <= LINE_WIDTH for _, text in told)


def test_local_memory_is_told_of():
    spills = Access("local", "st", "STL", "hardware", 10.0, 40.0, 40.0, 0.0)
    assert lines(spills)[-1] == ("local memory", "stores 40 sectors")


@pytest.mark.parametrize("found", [None, LaunchAccess()])
def test_what_was_not_judged_is_read_from_the_catalogue(found):
    told = access_lines(summary("2d"), found)
    assert [label for label, _ in told] == ["global sectors", "bank conflicts"]
    assert told[0][1][0] == "loads 5.65"
    assert access_document(found) == {"access": [], "at_stake": []}


def test_what_the_instructions_tell_is_not_said_to_be_missing():
    """daxpy_kernel of NVIDIA's manual_nvtx: source counters without the hardware's tables."""
    bare = summary("2d", without=["global_load_sectors_per_request", "global_store_sectors_per_request"])
    found = LaunchAccess((replace(LOADS, counted_by="instructions"),))
    told = access_lines(bare, found)
    assert [label for label, _ in told] == ["global sectors", "bank conflicts"]
    assert len(told[0][1]) == 2  # loads and their sign, and no word of stores: there are none
    assert "stores not collected" in str(access_lines(bare, LaunchAccess((LOADS,))))


def test_json_has_every_line_and_bound():
    document = json.loads(json_text(access_document(LaunchAccess((STORES,), {"shared": stake()}))))
    (access,), (at_stake,) = document["access"], document["at_stake"]
    assert (access["space"], access["kind"], access["over_ideal"], access["unit"]) == (
        "shared",
        "st",
        32.0,
        "wavefront",
    )
    assert [one["line"] for one in access["lines"]] == [31, 32]
    assert (at_stake["upper_bound_ns"], at_stake["upper_bound_share"]) == (4e5, 0.4)
