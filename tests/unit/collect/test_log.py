from __future__ import annotations

import itertools
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from ncu_lab.collect.log import KernelProgress, LogReader, parse_log

DATA = Path(__file__).parents[2] / "data" / "ncu"


def recorded(name: str) -> str:
    return (DATA / f"{name}.txt").read_text()


def test_a_recorded_log_gives_every_kernel_and_its_passes() -> None:
    log = parse_log(recorded("ladder-full"))
    assert [kernel.number for kernel in log.kernels] == list(range(1, 13))
    assert [kernel.kernel for kernel in log.kernels][:3] == ["sgemm_naive", "sgemm_coalesced", "sgemm_smem"]
    assert {kernel.passes for kernel in log.kernels} == {38}
    assert {kernel.percent for kernel in log.kernels} == {100}
    assert log.errors == ()
    assert len(log.warnings) == 2
    assert log.warnings[0].startswith("Note: Running with unmodified GPU clocks.")


def test_the_kernels_of_a_program_whose_filter_matched_none() -> None:
    log = parse_log(recorded("no-kernel"))
    assert log.kernels == ()
    assert len(log.available) == 15
    assert log.available[:5] == (
        "Kernel2",
        "f2h",
        "hgemm_wmma_naive",
        "nvjet_sm90_hss_64x8_64x16_1x2_h_bz_NNT",
        "sgemm_1d",
    )


def test_percentages_grow_character_by_character() -> None:
    reader = LogReader()
    seen = []
    for character in '==PROF== Profiling "sgemm" - 0: 0%....50%....100% - 33 passes\n':
        state = reader.feed(character)
        if state is not None and (not seen or seen[-1] != (state.percent, state.passes)):
            seen.append((state.percent, state.passes))
    expected = [(p, None) for p in (0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)]
    # The passes grow digit by digit too, but their word must have begun.
    assert seen == [*expected, (100, 33)]


def test_forms_of_other_versions() -> None:
    reader = LogReader()
    assert reader.feed('==PROF== Profiling "a" - 7 (1/3): 0%..') == KernelProgress(1, "a", 20, None, 3)
    # The program printed a line end in between; what follows belongs to the same kernel.
    assert LogReader().feed('==PROF== Profiling "a" - 0: \n0%....50%....100% - 9 passes\n') == KernelProgress(
        1, "a", 100, 9
    )
    assert LogReader().feed('==PROF== Profiling "a": 0%....50%....100% - 1 pass\n') == KernelProgress(1, "a", 100, 1)


def test_output_of_the_program_is_passed_over() -> None:
    reader = LogReader()
    assert reader.feed("naive            relerr 3.19e-07\n50% done\n") is None


@given(st.sampled_from(("ladder-full", "ladder-targeted", "no-kernel", "bad-metric")), st.lists(st.integers(0, 4000)))
def test_where_the_log_is_cut_while_reading_does_not_matter(name: str, cuts: list[int]) -> None:
    text = recorded(name)
    whole = LogReader().feed(text)
    reader = LogReader()
    state = None
    places = [0, *sorted(cuts), len(text)]
    for begin, end in itertools.pairwise(places):
        state = reader.feed(text[begin:end])
    assert state == whole


@given(st.text())
def test_any_text_is_read_without_complaint(text: str) -> None:
    parse_log(text)
