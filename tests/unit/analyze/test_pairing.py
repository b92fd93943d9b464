"""Which kernels of two runs are the same one, or what became of it."""

from dataclasses import replace

import pytest
from builders import summary
from hypothesis import given
from hypothesis import strategies as st

from ncu_lab.analyze.pairing import Code, alike_code, bare_name, pair, pair_kernels
from ncu_lab.metrics import Reading


def launch(number, stage=None, kernel="saxpy", grid=(4, 1, 1), ns=1.0, role="main", nvtx=(), registers=None):
    made = summary("2d")
    readings = {**made.readings, "duration_ns": Reading("duration_ns", ns, "ns", "gpu__time_duration.sum")}
    if registers is not None:
        readings["registers_per_thread"] = Reading("registers_per_thread", registers, "register/thread", "")
    function = bare_name(kernel).removeprefix("void ")
    return replace(
        made, launch=number, stage=stage, kernel=kernel, function=function, grid=grid, role=role, readings=readings,
        nvtx=nvtx,
    )  # fmt: skip


def numbers(pairs):
    return [
        (one.status, [found.launch for found in one.launches_a], [found.launch for found in one.launches_b])
        for one in pairs
    ]


def how(pairs):
    return [(one.status, one.matched_by, one.confidence) for one in pairs]


def test_launches_of_a_stage_are_one_and_its_median_speaks_for_them():
    a = [launch(0, "2d", ns=5.0), launch(1, "2d", ns=1.0), launch(2, "2d", ns=3.0), launch(3, "2d", role="auxiliary")]
    b = [launch(0, "fused", kernel="conv"), launch(1, "2d", ns=4.0)]
    pairs = pair_kernels(a, b)
    assert numbers(pairs) == [("added", [], [0]), ("matched", [0, 1, 2, 3], [1])]
    assert how(pairs)[1] == ("matched", "stage", 1.0)
    assert (pairs[1].chosen_a.launch, pairs[1].chosen_b.launch) == (2, 1)


def test_repeated_launches_are_samples_of_one_kernel_however_often_it_ran():
    a = [launch(0), launch(1, grid=(8, 1, 1)), launch(2), launch(3)]
    b = [launch(0), launch(1, kernel="wholly::different<int>")]
    assert numbers(pair_kernels(a, b)) == [
        ("matched", [0, 2, 3], [0]),
        ("added", [], [1]),
        ("removed", [1], []),
    ]


def test_a_stage_whose_kernel_has_another_name_is_renamed():
    assert how(pair_kernels([launch(0, "2d", "f")], [launch(0, "2d", "g")])) == [("renamed", "stage", 0.95)]
    two = [launch(0, "2d", "g", ns=9.0), launch(1, "2d", "reduce")]
    assert how(pair_kernels([launch(0, "2d", "f")], two)) == [("split", "stage", 0.95)]
    assert how(pair_kernels(two, [launch(0, "2d", "f")])) == [("merged", "stage", 0.95)]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ({"grid": (8, 1, 1)}, {}, ("matched", "shape", 0.9)),
        ({"nvtx": ("first",)}, {"nvtx": ("second",)}, ("matched", "path", 0.85)),
        ({"kernel": "void f<4>(int)"}, {"kernel": "void f<8>(int)"}, ("renamed", "template", 0.8)),
        ({"kernel": "sgemm_tiled"}, {"kernel": "sgemm_tiled_v2"}, ("renamed", "similarity", 0.66)),
    ],
)
def test_what_agrees_less_is_less_sure(a, b, expected):
    assert how(pair_kernels([launch(0, **a)], [launch(0, **b)])) == [expected]


def test_several_shapes_of_one_kernel_go_to_the_most_alike():
    a = [launch(0, grid=(4, 1, 1)), launch(1, grid=(8, 1, 1))]
    b = [launch(0, grid=(8, 1, 1)), launch(1, grid=(16, 1, 1))]
    assert numbers(pair_kernels(a, b)) == [("matched", [1], [0]), ("matched", [0], [1])]


def test_one_kernel_becomes_two_in_its_range():
    a = [launch(0, kernel="gemm", nvtx=("layer",))]
    b = [launch(0, kernel="partial_products", nvtx=("layer",)), launch(1, kernel="sum_up", nvtx=("layer",))]
    assert how(pair_kernels(a, b)) == [("split", "path", 0.7)]
    assert how(pair_kernels(b, a)) == [("merged", "path", 0.7)]


def test_code_tells_what_names_do_not():
    a, b = [launch(0, kernel="alpha")], [launch(0, kernel="omega_kernel", grid=(2, 2, 1))]
    assert how(pair_kernels(a, b)) == [("added", None, None), ("removed", None, None)]

    def code(one):
        return Code("same")

    (found,) = pair_kernels(a, b, code_a=code, code_b=code)
    assert (found.status, found.matched_by) == ("renamed", "similarity")
    assert 0.35 < found.confidence < 0.7


def test_likeness_of_code_is_the_share_of_common_opcodes():
    assert alike_code(Code("x"), Code("x")) == 1.0
    assert alike_code(Code(None, {"FFMA": 6, "LDS": 2}), Code(None, {"FFMA": 6, "LDG": 2})) == 12 / 16
    assert alike_code(Code(), Code()) == 0.0


def test_the_users_word_comes_first():
    a, b = [launch(0, kernel="f"), launch(1, kernel="g")], [launch(0, kernel="f"), launch(1, kernel="h")]
    pairs = pair_kernels(a, b, by_hand=[((0,), (1,))])
    assert numbers(pairs) == [("added", [], [0]), ("matched", [0], [1]), ("removed", [1], [])]
    assert how(pairs)[1] == ("matched", "choice", 1.0)


def test_without_launches_there_are_no_pairs():
    assert pair_kernels([], []) == []
    assert numbers(pair_kernels([launch(0)], [])) == [("removed", [0], [])]
    found = pair([launch(0, "2d", role="auxiliary")], [launch(0, "2d", ns=0.0)], "stage")
    assert found.chosen_a is None


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("void f<4, g<int>>(int*, float)", "void f"),
        ("f", "f"),
        ("bool ns::operator<(int, int)", "bool ns::operator<"),
        ("(anonymous namespace)::f(int)", "(anonymous namespace)::f"),
    ],
)
def test_names_without_template_arguments(name, bare):
    assert bare_name(name) == bare


def test_template_arguments_agree_whether_or_not_their_types_are_told():
    # Reports tell them, exports do not; by place alone padded would be compared with unpadded.
    report = [
        launch(3, kernel="void t<(int)32, (int)0>(int)"),
        launch(4, kernel="void t<(int)32, (unsigned int)1>(int)"),
    ]
    export = [launch(5, kernel="void t<32, 1>(int)"), launch(4, kernel="void t<32, 0>(int)")]
    assert sorted(numbers(pair_kernels(report, export))) == [("matched", [3], [4]), ("matched", [4], [5])]
    assert {how(pair_kernels(report, [replace(one, grid=(8, 1, 1)) for one in export]))[0]} == {
        ("matched", "shape", 0.9)
    }
    other = [launch(0, kernel="void t<(int)-1>(int)")]
    assert how(pair_kernels(other, [launch(0, kernel="void t<1>(int)")])) == [("renamed", "template", 0.8)]


LAUNCHES = st.lists(
    st.builds(
        dict,
        kernel=st.sampled_from(["f", "g", "void t<1>(int)", "void t<2>(int)", "f_v2", "gemm_tiled"]),
        grid=st.sampled_from([(1, 1, 1), (2, 1, 1)]),
        nvtx=st.sampled_from([(), ("x",), ("y",)]),
        stage=st.sampled_from([None, None, "1d", "2d"]),
    ),
    max_size=5,
)
MIRROR = {"added": "removed", "removed": "added", "split": "merged", "merged": "split"}


@given(LAUNCHES, LAUNCHES)
def test_swapping_pairs_the_same_and_nothing_is_lost(a, b):
    side_a = [launch(place, **one) for place, one in enumerate(a)]
    side_b = [launch(place, **one) for place, one in enumerate(b)]
    there, back = pair_kernels(side_a, side_b), pair_kernels(side_b, side_a)
    assert sorted(number for _, own, _ in numbers(there) for number in own) == list(range(len(a)))
    assert sorted(number for _, _, own in numbers(there) for number in own) == list(range(len(b)))
    mirrored = {(MIRROR.get(status, status), tuple(right), tuple(left)) for status, left, right in numbers(back)}
    assert {(status, tuple(left), tuple(right)) for status, left, right in numbers(there)} == mirrored


@given(LAUNCHES)
def test_against_itself_every_kernel_is_matched(a):
    side = [launch(place, **one) for place, one in enumerate(a)]
    assert {(one.status, one.confidence) for one in pair_kernels(side, list(side))} <= {("matched", 1.0)}
