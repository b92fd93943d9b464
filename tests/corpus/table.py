"""Prints what reading every file of the corpus gives, and how many printed values agree with their reports.

    PYTHONPATH=tests python -m corpus.table [GOLDEN]

GOLDEN is a folder of reports with their exports beside them (NAME.ncu-rep, NAME.PAGE.csv, also gzipped), by default
``NCU_LAB_GOLDEN`` or else tests/data/golden. With ``--markdown`` the table is written as Markdown.
"""

from __future__ import annotations

import gzip
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from corpus import outcomes
from printed import Comparison, cells_of, compare, compare_source, in_order_of, values

from ncu_lab.model import ParsedReport
from ncu_lab.parse.files import read_any

PAGES = ("raw", "raw.base", "details", "details.base")
SOURCES = ("source", "source.sass", "source.cuda-sass")


def golden_comparisons(folder: Path) -> Iterator[tuple[str, Comparison]]:
    """Compare every report of a folder with the exports beside it."""
    with tempfile.TemporaryDirectory() as place:
        for report in sorted(path for path in folder.iterdir() if ".ncu-rep" in path.suffixes):
            name = report.name.partition(".ncu-rep")[0]
            parsed: ParsedReport | None = None
            for page in (*PAGES, *SOURCES):
                export = plain(folder / f"{name}.{page}.csv", Path(place))
                if export is None:
                    continue
                parsed = parsed or read_any(report)
                if page in SOURCES:
                    # A report without the section SourceCounters has a source page without counters.
                    if "inst_executed" in set(parsed.metrics["metric"]):
                        yield export.name, compare_source(parsed, read_any(export))
                else:
                    yield export.name, compare(values(parsed), in_order_of(parsed, export, cells_of(export)))


def plain(path: Path, place: Path) -> Path | None:
    """Return a file, unpacked where it is there only gzipped; None where it is not there at all."""
    packed = path.with_name(f"{path.name}.gz")
    if path.is_file() or not packed.is_file():
        return path if path.is_file() else None
    unpacked = place / path.name
    unpacked.write_bytes(gzip.decompress(packed.read_bytes()))
    return unpacked


def write(cells: list[str], *, markdown: bool) -> None:
    """Print one row."""
    print(f"| {' | '.join(cells)} |" if markdown else "\t".join(cells))


def main(arguments: list[str]) -> None:
    """Print the table, then the comparisons and their total."""
    markdown = "--markdown" in arguments
    given = [argument for argument in arguments if argument != "--markdown"]
    default = os.environ.get("NCU_LAB_GOLDEN") or Path(__file__).parents[1] / "data" / "golden"
    comparisons = list(golden_comparisons(Path(given[0] if given else default)))
    folder = outcomes.corpus()
    if folder is None:
        print("no corpus here: NCU_LAB_CORPUS may name its folder")
    else:
        write(["file", "outcome", "what", "why"], markdown=markdown)
        if markdown:
            write(["---"] * 4, markdown=True)
        counts: dict[str, int] = {}
        for name in outcomes.index(folder):
            found = outcomes.read(folder / name)
            counts[found.outcome] = counts.get(found.outcome, 0) + 1
            write([name, found.outcome, found.size, found.why], markdown=markdown)
        print("\n" + ", ".join(f"{count} {outcome}" for outcome, count in counts.items()) + "\n")
        comparisons += outcomes.pairs(folder)
    total = Comparison()
    for export, one in comparisons:
        print(f"{export}: {one.words}")
        total.compared += one.compared
        total.wrong += one.wrong
    print(f"all: {total.words}, {len(comparisons)} exports")
    for wrong in total.wrong[:20]:
        print(f"differs: {wrong}")


if __name__ == "__main__":
    main(sys.argv[1:])
