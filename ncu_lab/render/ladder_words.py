"""Words and tables about a ladder, for pages: context line, footers, values behind the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ncu_lab.model import Environment, Family, Ladder, LadderRow, Problem
from ncu_lab.render import numbers
from ncu_lab.render.figures.accesses import conflict_reading, sector_reading
from ncu_lab.render.figures.occupancy import registers
from ncu_lab.render.figures.roofline import BYTES_ARE, Level, level_points
from ncu_lab.render.figures.rows import stage_label
from ncu_lab.render.figures.stalls import LEGEND_SHARE, reasons_shown
from ncu_lab.render.launch_tables import Cell, Row, Table
from ncu_lab.render.palette import stall_label
from ncu_lab.render.roofs import short_name
from ncu_lab.render.wording import clock_words

MATRIX_FOOT = (
    "Red marks a value more than 1.3 × its ideal for that access width. Copies by cp.async count as "
    "loads; those by TMA are counted apart. Reasons under "
    f"{LEGEND_SHARE * 100:.0f}{numbers.THIN}% everywhere are drawn and named on hover."
)


_FAMILY_WORDS: Mapping[Family, str] = {"fp32": "FP32", "tensor": "tensor-core", "fp64": "FP64"}


def context_items(ladder: Ladder) -> list[tuple[str, str]]:
    """Return the context line as pairs of an emphasised and a plain part, either may be empty."""
    items: list[tuple[str, str]] = []
    device = ladder.device
    if device is not None:
        capability = f"CC {'.'.join(map(str, device.compute_capability))}" if device.compute_capability else ""
        count = f"{device.sm_count} SMs" if device.sm_count else ""
        items.append((device.name, " · ".join(part for part in (capability, count) if part)))
    problem = ladder.problem
    items.append((f"{problem.m} × {problem.n} × {problem.k}", "C = A·B, row-major" + _scaling(problem)))
    items += [("", text) for text in (versions(ladder.environment), clock_words(ladder.environment)) if text]
    items.append(("", times_source((*ladder.rows, *ladder.references))))
    items += [("", notice.message) for notice in ladder.omitted]
    return items


def others_line(count: int, list_command: str) -> str:
    """Say that the folder holds runs this page cannot show, and what lists them; empty when there are none."""
    if not count:
        return ""
    runs = "1 run that is" if count == 1 else f"{count} runs that are"
    return f"Not on this page: {runs} imported, failed or of another program. See {list_command}"


def _scaling(problem: Problem) -> str:
    """Name alpha and beta where they are not 1 and 0."""
    plain = (problem.alpha, problem.beta) == (1.0, 0.0)
    return "" if plain else f", alpha {problem.alpha:g}, beta {problem.beta:g}"


def versions(environment: Environment) -> str:
    """Return the versions that must agree before runs compare: ``ncu 2025.3.1 · CUDA 13.0 · driver 580.159``."""
    known = (("ncu", environment.ncu), ("CUDA", environment.cuda), ("driver", environment.driver))
    return " · ".join(f"{name} {version}" for name, version in known if version)


def times_source(rows: Sequence[LadderRow]) -> str:
    """Say where times come from: unprofiled medians and their n, or the profiler; mixed sources are both named."""
    counts = sorted({len(row.samples_ns) for row in rows if row.time_source == "timings"})
    profiled = [row for row in rows if row.time_source == "profiler"]
    parts = []
    if counts:
        n = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        parts.append(f"unprofiled medians, n = {n}")
    if profiled:
        which = f" for {', '.join(row.stage.id for row in profiled)}" if counts else ""
        parts.append(f"profiler durations, n = 1{which}")
    return "; ".join(parts) or "no times"


def matrix_table(ladder: Ladder) -> Table:
    """Return the values of the matrix: header and rows."""
    reasons = reasons_shown(ladder)
    header = [
        "Stage", "Duration", "TFLOP/s", "Of cuBLAS", "Step", "Sectors per load", "Sectors per store",
        "Load wavefronts ÷ ideal", "Store wavefronts ÷ ideal", "Occupancy", "Possible", "Registers",
        "Cycles per instruction", *(stall_label(reason) for reason in reasons),
    ]  # fmt: skip
    return header, [_matrix_row(row, reasons) for row in (*ladder.rows, *ladder.references)]


def _matrix_row(row: LadderRow, reasons: Sequence[str]) -> list[Cell | str]:
    readings = (
        sector_reading(row, "loads"),
        sector_reading(row, "stores"),
        conflict_reading(row, "loads"),
        conflict_reading(row, "stores"),
    )
    summary = row.summary
    shares = summary.stalls if summary else {}
    cycles = sum(summary.stall_cycles.values()) if summary and summary.stall_cycles else None
    occupancies = [
        summary.value(key) if summary else None for key in ("achieved_occupancy_pct", "theoretical_occupancy_pct")
    ]
    return [
        stage_label(row.stage),
        Cell(numbers.duration(row.median_ns), row.median_ns),
        _amount(row.flop_per_s / 1e12 if row.flop_per_s else None),
        _share(row.share_of_reference),
        Cell(numbers.ratio(row.step), row.step),
        *(_amount(reading.value if reading else None) for reading in readings),
        *(Cell(numbers.percent(pct, table=True), pct) for pct in occupancies),
        Cell(numbers.integer(registers(row)), registers(row)),
        _amount(cycles),
        *(_share(shares.get(reason)) for reason in reasons),
    ]


def _amount(value: float | None) -> Cell:
    return Cell(numbers.significant(value), value)


def _share(share: float | None) -> Cell:
    """Return a share of 0 to 1 as a cell; its value in percent, as people read it."""
    return Cell(numbers.share(share, table=True), None if share is None else 100.0 * share)


def roofline_table(ladder: Ladder, level: Level, family: Family = "fp32") -> Table:
    """Return the values of the roofline: header and rows."""
    order = {row.stage.id: str(number) for number, row in enumerate(ladder.rows, start=1)}
    rows: list[Row] = [
        [
            f"{order.get(row.stage.id, '■')}  {stage_label(row.stage)}",
            _amount(point.flop_per_s / 1e12),
            _amount(point.intensity),
            _share(point.share_of_roof),
            short_name(point.bound),
        ]
        for row, point in level_points(ladder, level, family)
    ]
    return ["Stage", "TFLOP/s", "FLOP per byte", "Of roof", "Roof"], rows


def roofline_foot(ladder: Ladder, level: Level, family: Family = "fp32") -> str:
    """Return what the roofline leaves out and how its bytes and roofs are defined."""
    chart = ladder.roofline(family)
    text = (
        f"Bytes = {BYTES_ARE[level]}. FLOP and bytes by hardware counters; roofs are the report's own peaks at the "
        "median clock of these launches, % is of the roof at each launch's own."
    )
    if chart and chart.measured:
        text += " Dashed: what a microbenchmark reached on this GPU, at its own clock."
    if level == "shared":
        text += " Kernels without shared memory have no point here."
    hidden = {
        _FAMILY_WORDS[other.family]: len({point.stage for point in other.points})
        for other in ladder.rooflines
        if other.family != family
    }
    told = [f"{count} {name} {'launch' if count == 1 else 'launches'}" for name, count in hidden.items()]
    return f"{text} Not drawn, as their roofs are others: {', '.join(told)}." if told else text
