"""Two of the bundled runs beside each other."""

import pytest
from golden_runs import golden_run

from ncu_lab.errors import InputError, UsageError
from ncu_lab.model import Attribution, Device, Environment, Unattributed
from ncu_lab.resources import data_dir
from ncu_lab.store import Store
from ncu_lab.workflows.comparing import compare

SMALL, LARGE, FOREIGN = "20261130T031317", "20261130T031421", "20261130T031608"


@pytest.fixture(scope="module")
def examples():
    return data_dir("examples")


def names(comparison):
    def stage(launch):
        return launch and launch.stage

    return [(one.status, stage(one.chosen_a), stage(one.chosen_b)) for one in comparison.pairs]


def test_two_stages_are_compared_with_each_other(examples):
    found = compare("1d", "2d", examples)
    (only,) = found.pairs
    assert (found.a.stage, found.b.stage) == ("1d", "2d")
    assert (only.status, only.matched_by) == ("matched", "choice")
    assert (only.a_ns, only.b_ns) == (8470016.0, 4548064.0)  # as the report tells them
    assert isinstance(only.attribution, Attribution)
    assert sum(part.ns for part in only.attribution.parts) + only.attribution.residual_ns == pytest.approx(-3921952.0)
    assert (only.attribution.launch_a, only.attribution.launch_b) == (5, 6)
    assert found.differences == ()


def test_swapping_flips_every_sign(examples):
    there = compare("1d", "2d", examples).pairs[0].attribution
    back = compare("2d", "1d", examples).pairs[0].attribution
    assert [part.ns for part in there.parts] == [-part.ns for part in back.parts]


def test_runs_are_paired_by_stage_and_what_differs_beside_the_kernels_is_told(examples):
    found = compare(SMALL, LARGE, examples)
    assert {one.status for one in found.pairs} == {"matched"}
    assert len(found.pairs) == 15
    assert [notice.code for notice in found.differences] == ["other_problem"]


def test_a_run_against_itself_is_zero(examples):
    for one in compare(SMALL, SMALL, examples).pairs:
        assert {part.ns for part in one.attribution.parts} == {0.0}
        assert one.attribution.residual_ns == 0.0


def test_a_stage_and_a_run_compare_that_stage(examples):
    assert names(compare(SMALL, "2d", examples)) == [("matched", "2d", "2d")]
    assert names(compare("2d", FOREIGN, examples)) == [("removed", "2d", None)]


def test_stages_and_launches_may_be_chosen(examples):
    assert names(compare(SMALL, LARGE, examples, stages=["1d", "2d"])) == [
        ("matched", "1d", "1d"),
        ("matched", "2d", "2d"),
    ]
    chosen = compare(FOREIGN, FOREIGN, examples, launch_a=0, launch_b=2).pairs
    assert [(one.matched_by, one.chosen_a.launch, one.chosen_b.launch) for one in chosen] == [("choice", 0, 2)]


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ({"stages": ["2x"]}, 'neither run has a profiled stage "2x"', "They have naive, coalesced"),
        ({"launch_a": 99, "launch_b": 0}, f"{FOREIGN}-cupy-three-launches-50aa8cf-dce5 has no launch 99 (--launch-a)",
         "It has launches 0 to 2."),
        ({"launch_a": 1}, f"which launch of {LARGE}-ladder-50aa8cf-b366 is meant?", "Name it: --launch-b N. It has"),
    ],
)  # fmt: skip
def test_a_choice_that_is_not_there_is_told(examples, options, message, hint):
    with pytest.raises(UsageError) as caught:
        compare(FOREIGN, LARGE, examples, **options)
    assert caught.value.message == message
    assert caught.value.hint.startswith(hint)


def test_what_is_no_run_is_unusable_input(examples):
    with pytest.raises(InputError):
        compare("1d", "no-such-run", examples)


def test_one_launch_each_is_a_pair_whatever_it_is_called(tmp_path):
    store = Store(tmp_path)
    store.write(golden_run(["1d"], run_id="20261129T000000-1d-4f2c9ab-0001", created="2026-11-29T00:00:00+00:00"))
    other = Device("NVIDIA H100", compute_capability=(9, 0), sm_count=132)
    changed = Environment(driver="590.1", cuda="13.0", ncu="2026.1", clock_control="base")
    store.write(golden_run(["2d"], run_id="20261130T000000-2d-4f2c9ab-0002", device=other, environment=changed))
    found = compare("20261129", "20261130", tmp_path)
    assert [(one.matched_by, one.chosen_a.stage, one.chosen_b.stage) for one in found.pairs] == [("choice", "1d", "2d")]
    # The golden counters of tests/data are a selection, without what the identity needs.
    assert isinstance(found.pairs[0].attribution, Unattributed)
    assert [notice.code for notice in found.differences] == [
        "other_device", "other_driver", "other_ncu", "other_clock_control",
    ]  # fmt: skip


def test_runs_without_launches_have_no_pairs(tmp_path):
    for number in (1, 2):
        Store(tmp_path).write(golden_run([], run_id=f"2026113{number}T000000-none-4f2c9ab-000{number}"))
    assert compare("@last~1", "@last", tmp_path).pairs == ()
