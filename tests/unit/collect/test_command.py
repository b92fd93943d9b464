from __future__ import annotations

from pathlib import Path

from ncu_lab.collect.command import Collection, Selection, build_argv
from ncu_lab.metrics import ATTRIBUTION_METRICS, TARGETED_SECTIONS

REPORT = Path("work/run.ncu-rep")
LOG = Path("work/ncu.log")


def argv(collection: Collection, selection: Selection, **more: bool) -> list[str]:
    return build_argv(
        "ncu", ["./app", "-k", "3"], report=REPORT, log=LOG, collection=collection, selection=selection, **more
    )


def test_the_targeted_sections_word_for_word() -> None:
    assert argv(Collection(), Selection(from_start=False), ignore_config=True) == [
        "ncu",
        "--config-file", "off",
        "--force-overwrite",
        "--export", "work/run.ncu-rep",
        "--log-file", "work/ncu.log",
        "--target-processes", "all",
        "--replay-mode", "kernel",
        "--clock-control", "none",
        "--cache-control", "all",
        "--import-source", "yes",
        "--section", "SpeedOfLight",
        "--section", "MemoryWorkloadAnalysis",
        "--section", "MemoryWorkloadAnalysis_Tables",
        "--section", "WarpStateStats",
        "--section", "SchedulerStats",
        "--section", "InstructionStats",
        "--section", "Occupancy",
        "--section", "LaunchStats",
        "--section", "SpeedOfLight_HierarchicalSingleRooflineChart",
        "--section", "SpeedOfLight_HierarchicalTensorRooflineChart",
        "--section", "SourceCounters",
        "--metrics",
        "smsp__inst_issued.avg,smsp__inst_issued.sum,smsp__warps_active.avg.per_cycle_active,"
        "smsp__cycles_active.avg,smsp__cycles_elapsed.avg,smsp__cycles_elapsed.max,"
        "smsp__cycles_elapsed.avg.per_second",
        "--nvtx",
        "--profile-from-start", "off",
        "--", "./app", "-k", "3",
    ]  # fmt: skip


def test_everything_chosen_by_the_user_word_for_word() -> None:
    collection = Collection(("LaunchStats", "Occupancy", "LaunchStats"), "full", ("a.sum", "b.avg"), "base", "none")
    assert argv(collection, Selection("sgemm_.*", "step/", 3)) == [
        "ncu",
        "--force-overwrite",
        "--export", "work/run.ncu-rep",
        "--log-file", "work/ncu.log",
        "--target-processes", "all",
        "--replay-mode", "kernel",
        "--clock-control", "base",
        "--cache-control", "none",
        "--import-source", "yes",
        "--set", "full",
        "--section", "LaunchStats",
        "--section", "Occupancy",
        "--metrics", "a.sum,b.avg",
        "--nvtx",
        "--nvtx-include", "step/",
        "--kernel-name-base", "function",
        "--kernel-name", "regex:sgemm_.*",
        "--launch-count", "3",
        "--", "./app", "-k", "3",
    ]  # fmt: skip


def test_a_set_alone_brings_neither_sections_nor_metrics() -> None:
    collection = Collection(section_set="full")
    assert collection.all_sections() == ()
    assert collection.all_metrics() == ()
    assert "--metrics" not in argv(collection, Selection())


def test_further_metrics_join_the_targeted_sections() -> None:
    collection = Collection(metrics=("a.sum", ATTRIBUTION_METRICS[0]))
    assert collection.all_sections() == TARGETED_SECTIONS
    assert collection.all_metrics() == (*ATTRIBUTION_METRICS, "a.sum")


def test_a_plain_range_name_means_both_kinds_of_range() -> None:
    words = argv(Collection(), Selection(nvtx_range="step 3"))
    assert [words[i + 1] for i, word in enumerate(words) if word == "--nvtx-include"] == ["step 3", "step 3/"]


def test_template_arguments_are_matched_against_demangled_names() -> None:
    words = argv(Collection(), Selection(kernel="sgemm_2d<128, 128"))
    assert words[words.index("--kernel-name-base") + 1] == "demangled"
    assert words[words.index("--kernel-name") + 1] == "regex:sgemm_2d<128, 128"
