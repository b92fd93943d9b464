"""What is expected of every file of the corpus, and what reading it gives.

The corpus is a folder of public reports and exports of many versions and GPUs, which is not part of the repository.
Its INDEX.tsv tells of each file what another program counted in it: results, metrics, instances, rows.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from printed import Comparison, cells_of, compare, values

from ncu_lab.errors import InputError
from ncu_lab.model import ParsedReport
from ncu_lab.parse.files import read_any

LOSSES = {"damaged", "lost_results", "hollow_result", "csv_cut_row", "csv_encoding"}
"""Notices of what a file does not give: it was read in part."""

NO_HEADER = "no header with the columns ID and Kernel Name"
REFUSED = {
    "Phase_3_-_Occupancy_Voxelization.ncu-rep": "is empty (0 bytes)",
    "Phase_3_-_Occupancy_Voxelization_raw.csv": NO_HEADER,
    "Phase_3_-_Occupancy_Voxelization_summary.csv": NO_HEADER,
    "nsight_systems_timeline.csv": NO_HEADER,
}
"""End of a file's name -> why it is refused: a report of no bytes, and tables that people made themselves."""

PAIRS = [("algo64__ncu__profile.ncu-rep", f"algo64__ncu__{page}.csv") for page in ("raw", "details")]
"""Reports and exports of them that lie side by side, by the ends of their names."""


@dataclass(frozen=True)
class Outcome:
    """What reading a file gave: ``read``, ``partly`` or ``refused``, and why."""

    file: str
    outcome: str
    why: str
    parsed: ParsedReport | None

    @property
    def size(self) -> str:
        """How much was read."""
        if self.parsed is None:
            return ""
        tables = {"launches": self.parsed.launches, "values": self.parsed.metrics, "instances": self.parsed.instances}
        return ", ".join(f"{len(table)} {name}" for name, table in tables.items() if len(table))


def corpus() -> Path | None:
    """Return the folder of the corpus, None where it is not there: ``NCU_LAB_CORPUS``, else beside the checkout."""
    given = os.environ.get("NCU_LAB_CORPUS")
    folder = Path(given) if given else Path(__file__).parents[3] / "shared" / "corpus"
    return folder if (folder / "INDEX.tsv").is_file() else None


def index(folder: Path) -> dict[str, str]:
    """Return file -> what INDEX.tsv notes of it."""
    with (folder / "INDEX.tsv").open(newline="", encoding="utf-8") as file:
        return {row["file"]: row["notes"] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)}


def read(path: Path) -> Outcome:
    """Read one file."""
    try:
        parsed = read_any(path)
    except InputError as error:
        return Outcome(path.name, "refused", error.message.replace(str(path), "the file"), None)
    lost = [notice.message for notice in parsed.notices if notice.code in LOSSES]
    told = [notice.message for notice in parsed.notices]
    return Outcome(path.name, "partly" if lost else "read", " ".join(lost or told), parsed)


def expected_refusal(name: str) -> str | None:
    """Return why a file should be refused, None when it should be read completely."""
    return next((why for end, why in REFUSED.items() if name.endswith(end)), None)


def differences(parsed: ParsedReport, notes: str) -> Iterator[str]:
    """Tell where a file that was read holds another number of things than INDEX.tsv counted in it."""
    launches, metrics = len(parsed.launches), parsed.metrics
    per_launch = metrics.groupby("launch").size()
    found: dict[str, object] = {}
    if match := re.search(r"(\d+) results, ([\d/]+) metrics, max (\d+) instances", notes):
        # Of launches with other counts the least and the most are noted; instances were counted in the first launch.
        counts = "/".join(str(count) for count in sorted({per_launch.min(), per_launch.max()}))
        first = parsed.instances[parsed.instances["launch"] == 0]
        instances = first.groupby("metric", observed=True).size().max()
        found[match[0]] = f"{launches} results, {counts} metrics, max {instances} instances"
    if match := re.search(r"(\d+) kernels x (\d+) cols", notes):
        found[match[0]] = f"{launches} kernels x {per_launch.max() + 11} cols"
    if match := re.search(r"ncu (\d+\.\d+\.\d+)", notes):
        found[match[0]] = f"ncu {parsed.environment.ncu}"
    if match := re.search(r"CC (\d+\.\d+)", notes):
        capability = parsed.device.compute_capability if parsed.device else None
        found[match[0]] = f"CC {capability[0]}.{capability[1]}" if capability else "no CC"
    yield from (f"{told} counted, {got} read" for told, got in found.items() if told != got)


def self_comparison(path: Path, parsed: ParsedReport) -> Comparison:
    """Compare what was read of an export with what stands in it."""
    return compare(values(parsed), cells_of(path, unknown=True))


def pairs(folder: Path) -> Iterator[tuple[str, Comparison]]:
    """Compare every report with its exports; name -> comparison."""
    names = sorted(path.name for path in folder.iterdir())
    for report_end, export_end in PAIRS:
        report, export = (next(name for name in names if name.endswith(end)) for end in (report_end, export_end))
        yield export, compare(values(read_any(folder / report)), cells_of(folder / export))
