"""Sentences of the page: the number in them is the measured one."""

from dataclasses import replace

import builders

from ncu_lab.render import headlines
from ncu_lab.render.numbers import THIN


def spaced(text):
    return text.replace(THIN, " ")


def test_the_heading_counts_fp32_stages_of_ab_and_names_both_ends():
    # 4.424928 ms / 127.2 µs = 34.8; naive, coalesced, smem, 1d, 2d, vectorized, double-buffered, warptiled
    assert spaced(headlines.ladder_headline(builders.ladder())) == (
        "Eight stages make FP32 matmul 35× faster: 4.42 ms to 127 µs, 48 % of cuBLAS"
    )


def test_the_heading_of_one_stage_makes_no_comparison():
    text = headlines.ladder_headline(builders.ladder(rows=[builders.row("2d")]))
    assert spaced(text) == "2d multiplies 1024³ in 198 µs, 31 % of cuBLAS"


def test_unprofiled_and_profiled_times_are_never_compared():
    rows = [builders.row("naive", samples_ns=(4e6,) * 5), builders.row("1d")]
    assert "faster" not in headlines.ladder_headline(builders.ladder(rows=rows))


def test_the_heading_without_times():
    row = replace(builders.row("2d"), median_ns=None)
    assert headlines.ladder_headline(builders.ladder(rows=[row])) == "No stage of this ladder was timed at 1024³"


def test_waits_follow_the_ladder():
    ladder = builders.ladder(rows=[builders.row(stage) for stage in ("naive", "coalesced", "smem")])
    assert headlines.waits_sentence(ladder) == (
        "The largest wait moves from the global-memory queue (naive to coalesced) to the shared-memory queue (smem)."
    )
    assert headlines.waits_sentence(builders.ladder(rows=[builders.row("naive", without=("stalls",))])) == ""
    assert headlines.waits_sentence(builders.ladder()).startswith("The largest wait is the global-memory queue in five")


def test_matrix_headline_counts_what_is_marked_red():
    # Over 1.3: naive (sectors), smem-conflict (stores), 2d, vectorized, double-buffered, warptiled (store conflicts).
    assert headlines.matrix_headline(builders.ladder()).startswith("Six of eleven stages move over 1.3×")
    clean = builders.ladder(rows=[builders.row("smem")])
    assert headlines.matrix_headline(clean) == "No stage moves over 1.3× the ideal sectors or wavefronts"
    assert headlines.matrix_headline(builders.ladder(rows=[builders.row("2d", profiled=False)], references=[])) == (
        "The ladder, stage by stage"
    )


def test_speed_headline_names_the_fastest_and_the_largest_step():
    assert spaced(headlines.speed_headline(builders.ladder())) == (
        "1d reaches 16.9 TFLOP/s, 48 % of cuBLAS FP32; the largest step is coalesced, 12.5×"
    )


def test_roofline_headline_is_true_of_every_stage_it_counts():
    ladder = builders.ladder()
    assert spaced(headlines.roofline_headline(ladder, "l1")) == (
        "Six of ten stages run at 72 % or more of the L1 / shared roof"
    )
    rows = {row.stage.id for row in ladder.rows}
    shares = [
        point.share_of_roof for point in ladder.roofline("fp32").points if point.level == "l1" and point.stage in rows
    ]
    assert sum(share >= 0.72 for share in shares) == 6


def test_roofline_headline_names_the_roof_of_its_level_and_family():
    ladder = builders.ladder()
    # Of tensor kernels only wmma is a stage; at 32.9 of 33.4 TB/s, by the clock of naive, its data pipe is at 83 %.
    assert spaced(headlines.roofline_headline(ladder, "l1", "tensor")).startswith("wmma runs at 83")
    assert spaced(headlines.roofline_headline(ladder, "l1", "tensor")).endswith("of the L1 / shared roof")
    assert headlines.roofline_headline(ladder, "shared", "tensor") == "Roofline, Tensor, Shared only"
    assert "shared-memory roof" in headlines.roofline_headline(ladder, "shared")
    assert headlines.roofline_headline(ladder, "dram", "fp64") == "Roofline, FP64, DRAM"


def test_what_was_not_collected_is_named_with_its_section():
    rows = [builders.row("naive"), builders.row("2d", without=("stalls",))]
    assert headlines.not_collected(builders.ladder(rows=rows)) == [
        "Stalls of 2d: not collected; profile with --section WarpStateStats."
    ]
    assert headlines.not_collected(builders.ladder()) == []


def test_counts_are_words_up_to_twelve():
    assert [headlines.count_word(count) for count in (0, 1, 12, 13)] == ["no", "one", "twelve", "13"]
