"""What ncu printed of a report, read with nothing but the csv module, and whether a reader's values agree with it.

Written down independently of the readers' own rules for numbers and units.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ncu_lab.metrics import DETAILS_LABELS
from ncu_lab.model import ParsedReport

# Powers of ten from ncu's scaled units to its base units.
SCALES = {
    "Kbyte": 3, "Mbyte": 6, "Gbyte": 9, "Tbyte": 12, "Kbyte/s": 3, "Mbyte/s": 6, "Gbyte/s": 9, "Tbyte/s": 12,
    "us": 3, "ms": 6, "s": 9, "Mhz": 6, "Ghz": 9, "Kbyte/block": 3, "Kbyte/cycle": 3, "%/Kbyte": 3, "sector/us": 6,
    "sector/ns": 9,
}  # fmt: skip

LABEL = re.compile(r"`\(\.\w+\) ")
"""The name of a branch's target, which a report gives beside its address."""

NOTHING = ("", "nan", "-nan", "no data", "n/a")

IDENTITY = {"ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size"}
IDENTITY |= {"Grid Size", "Device", "CC"}

Values = Mapping[tuple[int, str], tuple[float, str | None]]


def values(report: ParsedReport) -> dict[tuple[int, str], tuple[float, str | None]]:
    """Launch and metric -> number and text."""
    frame = report.metrics
    keys = zip(frame["launch"], frame["metric"], strict=True)
    return dict(zip(keys, zip(frame["value"], frame["text"], strict=True), strict=True))


def half_a_digit(cell: str, unit: str) -> float:
    """Half of the last printed digit, in base units."""
    decimals = len(cell.partition(".")[2])
    return 0.5 * 10.0 ** (SCALES.get(unit, 0) - decimals)


def agree(cell: str, unit: str, value: float, text: str | None) -> bool:
    """Whether a value is what was printed, to the last printed digit."""
    if cell in NOTHING:
        return math.isnan(value) and text is None
    if text is not None:
        return cell == text
    if not re.fullmatch(r"-?[\d,]+(\.\d+)?", cell):
        return False
    printed = float(cell.replace(",", "")) * 10.0 ** SCALES.get(unit, 0)
    return abs(printed - value) <= half_a_digit(cell, unit) * 1.001 + abs(value) * 1e-12


@dataclass(frozen=True)
class Cell:
    """One printed value."""

    launch: int
    metric: str
    unit: str
    text: str


def rows_of(path: Path) -> list[dict[str, str]]:
    """Every row of a raw or details page by column, without what was printed before the header."""
    lines = path.read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith('"ID",'))
    try:
        header, *rows = csv.reader(lines[start:], strict=True)
    except csv.Error:  # ncu leaves the quotes in names of NVTX ranges as they are
        header, *rows = [line.removesuffix(",")[1:-1].split('","') for line in lines[start:] if line]
    return [dict(zip(header, row, strict=False)) for row in rows]


def cells_of(path: Path, *, unknown: bool = False) -> list[Cell]:
    """Every printed value of a raw or details page.

    Args:
        path: The export.
        unknown: Whether to give values of a details page whose label is not known, as ``section/item/label``.
    """
    rows = rows_of(path)
    if "Metric Name" in rows[0]:
        ids = list(dict.fromkeys(row["ID"] for row in rows))
        return [
            Cell(ids.index(row["ID"]), metric, row["Metric Unit"], row["Metric Value"])
            for row in rows
            if row["Metric Name"] and (metric := labelled(row) or (unlabelled(row) if unknown else None))
        ]
    units, results = rows[0], rows[1:]
    names = [name for name in units if name not in IDENTITY and "Domain:" not in name]
    return [Cell(launch, name, units[name], row[name]) for launch, row in enumerate(results) for name in names]


def in_order_of(report: ParsedReport, path: Path, cells: Iterable[Cell]) -> Iterator[Cell]:
    """Number the launches of an export as its report does: exports list one process after the other."""
    rows = {row["ID"]: row["Process ID"] for row in rows_of(path) if row["ID"]}
    launches: dict[str, list[int]] = {}
    for launch, process in zip(report.launches["launch"], report.launches["process"], strict=True):
        launches.setdefault(re.sub(r".*\((\d+)\)", r"\1", process or ""), []).append(launch)
    numbers = [launches[process].pop(0) if process in launches else at for at, process in enumerate(rows.values())]
    yield from (replace(cell, launch=numbers[cell.launch]) for cell in cells)


def labelled(row: Mapping[str, str]) -> str | None:
    """The metric of a row of the details page; None where its label is not known, and of rows of a chart."""
    section, label = row["Section Name"], row["Metric Name"]
    if row.get("Body Item Label"):
        return None
    return label if "__" in label else DETAILS_LABELS.get(section, {}).get(label)


def unlabelled(row: Mapping[str, str]) -> str:
    """Name a metric by where it stands."""
    places = (row["Section Name"], row.get("Body Item Label"), row["Metric Name"])
    return "/".join(place for place in places if place)


@dataclass
class Comparison:
    """How many values were compared, and which differ: launch, metric, as printed, as read."""

    compared: int = 0
    wrong: list[tuple[int, str, str, object]] = field(default_factory=list)

    @property
    def words(self) -> str:
        """How many agree."""
        return f"{self.compared - len(self.wrong)} of {self.compared} values agree"


def compare(read: Values, cells: Iterable[Cell]) -> Comparison:
    """Compare what a reader gave with what was printed."""
    found = Comparison()
    for cell in cells:
        found.compared += 1
        # A table has every metric as a column: that of another launch is empty where this one lacks it.
        value = read.get((cell.launch, cell.metric), (math.nan, None))
        if not agree(cell.text, cell.unit, *value):
            found.wrong.append((cell.launch, cell.metric, f"{cell.text} {cell.unit}", value))
    return found


def operands(sass: str) -> list[str]:
    """The words of an instruction: the two disassemblers write the operands of some in another order."""
    return sorted(re.findall(r"[^\s,]+", sass))


def compare_source(report: ParsedReport, export: ParsedReport) -> Comparison:
    """Compare the counters per instruction of a report with those of its source page, at every address.

    Words are bit sets in a report; a metric that a report has no instance of at an address is printed as 0.
    """
    found = Comparison()
    keys = ["launch", "metric", "correlation"]
    printed = export.instances.astype({"metric": object}).set_index(keys)[["value", "text", "sass"]]
    counted = report.instances[report.instances["kind"] == "pc"].astype({"metric": object}).set_index(keys)
    both = printed.join(counted[["value", "sass"]], how="inner", suffixes=("", "_report"))
    for key, value, text, sass, expected, sass_expected in both.itertuples():
        if isinstance(text, str):
            continue
        found.compared += 1
        # The page rounds averages to whole numbers.
        if not (abs(value - expected) <= 0.5 and operands(sass) == operands(LABEL.sub("", sass_expected))):
            found.wrong.append((key[0], key[1], f"{value} {sass}", (expected, sass_expected)))
    return found
