from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from ncu_lab.collect.command import Collection, Selection
from ncu_lab.collect.log import KernelProgress
from ncu_lab.collect.ncu import Ncu, NcuOutcome
from ncu_lab.errors import Exit, UsageError
from ncu_lab.model import (
    INSTANCE_COLUMNS,
    LAUNCH_COLUMNS,
    RULE_COLUMNS,
    Notice,
    ParsedReport,
    ProgressEvent,
    table,
)
from ncu_lab.workflows import collecting
from ncu_lab.workflows.collecting import Job, check_collection

NCU = Ncu(Path("ncu"), "2025.3.1")


def job(**options: object) -> Job:
    collection = options.pop("collection", Collection())
    return Job(NCU, ("./app",), collection, Selection(), 60.0, "2d", **options)  # type: ignore[arg-type]  # tests' own


def parsed(*metrics: str, notices: tuple[Notice, ...] = ()) -> ParsedReport:
    numbers = pd.DataFrame({"launch": 0, "metric": metrics, "value": 1.0, "text": None, "unit": ""})
    launches = table(LAUNCH_COLUMNS).reindex([0])
    return ParsedReport(launches, numbers, table(INSTANCE_COLUMNS), table(RULE_COLUMNS), notices=notices)


def outcome(exit_code: int = 0, log: str = "", output: str = "") -> NcuOutcome:
    return NcuOutcome(exit_code, False, 1.0, log, output)


def test_files_of_a_run_lie_in_its_own_folder(tmp_path: Path) -> None:
    argv = job().argv(tmp_path)
    assert argv[argv.index("--export") + 1] == str(tmp_path / "report.ncu-rep")
    assert argv[argv.index("--log-file") + 1] == str(tmp_path / "ncu.log")


@pytest.mark.parametrize(
    ("state", "expected", "detail", "fraction"),
    [
        (KernelProgress(1, "a", 50), 4, "kernel 1 of 4, a", 0.125),
        (KernelProgress(3, "a", 0, None, 10), 4, "kernel 3 of 10, a", 0.2),
        # A stage may launch more kernels than one: past what was expected nobody knows how many there are.
        (KernelProgress(5, "a", 50), 4, "kernel 5, a", None),
        (KernelProgress(1, "a", 50), None, "kernel 1, a", None),
    ],
)
def test_progress_tells_the_share_only_where_it_is_known(
    state: KernelProgress, expected: int | None, detail: str, fraction: float | None
) -> None:
    told: list[ProgressEvent] = []
    collecting._progress(job(expected_kernels=expected), told.append)(state)
    assert told == [ProgressEvent("profile", "2d", "update", detail, fraction)]


def test_a_report_with_all_that_was_asked_for_falls_short_of_nothing() -> None:
    assert collecting._shortfall(job(), parsed("a.sum"), outcome()) is None


def test_metrics_asked_for_and_not_there_are_named() -> None:
    wanted = job(collection=Collection(metrics=("a.sum", "b.sum", "c.sum")))
    error = collecting._shortfall(wanted, parsed("b.sum"), outcome())
    assert error is not None
    assert error.message == "not collected, though asked for with --metrics: a.sum, c.sum"
    assert error.exit_code == Exit.USAGE


def test_a_counter_without_suffix_and_a_group_are_no_missing_metrics() -> None:
    wanted = Collection(metrics=("sm__cycles", "group:memory__chart", "sm__inst"))
    error = collecting._shortfall(job(collection=wanted), parsed("sm__cycles.avg"), outcome())
    assert error is not None
    assert error.message.endswith("--metrics: sm__inst")


def test_a_metric_without_a_value_counts_as_not_collected() -> None:
    empty = parsed("a.sum")
    empty.metrics["value"] = float("nan")
    error = collecting._shortfall(job(collection=Collection(metrics=("a.sum",))), empty, outcome())
    assert error is not None


def test_a_failed_program_or_a_damaged_report_is_a_shortfall() -> None:
    failed = collecting._shortfall(
        job(), parsed("a"), outcome(3, "==ERROR== The application returned an error code (3).\n", "no data\n")
    )
    assert failed is not None
    assert failed.message == "the program ended with exit code 3; 1 profiled launch until then is kept"
    assert failed.hint.endswith("Its last words:\n  no data")
    damaged = collecting._shortfall(job(), parsed("a", notices=(Notice("damaged", "cut at byte 5"),)), outcome())
    assert damaged is not None
    assert damaged.message == "ncu's report is incomplete: cut at byte 5"


def test_unknown_sections_are_refused_with_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "known_sections", lambda _: ("SpeedOfLight", "Occupancy"))
    monkeypatch.setattr(collecting, "known_sets", lambda _: ("basic", "full"))
    check_collection(NCU, Collection(sections=("Occupancy", "regex:Speed.*"), section_set="full"))
    with pytest.raises(UsageError, match=r"no section Occupency\. Did you mean Occupancy\?") as error:
        check_collection(NCU, Collection(sections=("Occupency",)))
    assert error.value.hint == "It knows: SpeedOfLight, Occupancy"
    with pytest.raises(UsageError, match="ncu knows no set fool"):
        check_collection(NCU, Collection(section_set="fool"))


def test_an_ncu_whose_list_cannot_be_read_decides_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "known_sections", lambda _: ())
    check_collection(NCU, Collection(sections=("Anything",)))
