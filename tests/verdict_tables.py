"""How often the verdict agrees with people and with ncu's own rules: the tables of docs/verdict.md.

    PYTHONPATH=tests python -m verdict_tables [--write]

Prints where verdicts and labels differ, and what in the page is out of date; ``--write`` brings it up to date, the
parts on the corpus only where that is (see corpus/outcomes.py).
"""

from __future__ import annotations

import gzip
import re
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple, get_args

from corpus import outcomes
from example_runs import name_of

from ncu_lab.analyze.summary import summarize
from ncu_lab.analyze.verdict import AT_PEAK, verdict_of
from ncu_lab.errors import InputError
from ncu_lab.model import Bound, LaunchSummary, Run, Verdict
from ncu_lab.render.tables import Column, markdown_table
from ncu_lab.store import Store
from ncu_lab.workflows.reading import read_file

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "verdict.md"
LABELS = ROOT / "tests" / "data" / "verdicts.toml"
GOLDEN = ROOT / "tests" / "data" / "golden"
EXAMPLES = ROOT / "reports" / "examples"
GOLDEN_FILES = ("cupy-nvtx.ncu-rep.gz", "ladder-full.ncu-rep.gz", "ladder-targeted.raw.csv.gz")

BOUNDS: tuple[str, ...] = get_args(Bound)
HERE, CORPUS = ("golden", "examples"), ("corpus",)
"""Places of launches: in the repository, and outside."""

BLOCK = re.compile(r"(?P<open><!-- verdicts: (?P<name>[^\n]*) -->\n)(?P<text>.*?)(?P<close><!-- end -->)", re.DOTALL)


class Place(NamedTuple):
    """A launch by its number, or by its stage and function."""

    where: str
    file: str
    launch: int | None
    stage: str | None
    function: str | None


@dataclass(frozen=True)
class Label:
    """What a person says bounds a launch, and why.

    A launch of a bundled ladder is found by its stage and function, which outlast the next recording; any other by its
    number in the file.
    """

    where: str
    file: str
    function: str
    label: str
    reason: str
    launch: int | None = None
    stage: str | None = None

    @property
    def place(self) -> Place:
        """Where the launch is to be found."""
        return Place(self.where, self.file, self.launch, self.stage, self.function if self.stage else None)


@dataclass(frozen=True)
class Judged:
    """One launch with its verdict and what ncu's rules say: rule -> messages."""

    where: str
    file: str
    summary: LaunchSummary
    verdict: Verdict
    rules: Mapping[str, Sequence[str]]

    @property
    def place(self) -> Place:
        """Where it is, as labels say it."""
        if self.where == "examples" and self.summary.stage is not None:
            return Place(self.where, self.file, None, self.summary.stage, self.summary.function)
        return Place(self.where, self.file, self.summary.launch, None, None)


def labels() -> list[Label]:
    """Return all labels, in their order."""
    return [Label(**one) for one in tomllib.loads(LABELS.read_text(encoding="utf-8"))["launch"]]


@cache
def judged(where: str) -> tuple[Judged, ...]:
    """Judge every launch of a place: ``golden``, ``examples`` or ``corpus``; none where the corpus is not there."""
    return tuple(one for file, run in _runs(where) for one in _of_run(where, file, run))


def _runs(where: str) -> Iterator[tuple[str, Run]]:
    if where == "examples":
        store = Store(EXAMPLES)
        for meta in sorted(store.metas()[0], key=lambda one: one.id):
            yield name_of(meta), store.read_whole(meta.id)
    elif where == "golden":
        with tempfile.TemporaryDirectory() as place:
            for name in GOLDEN_FILES:
                unpacked = Path(place) / name.removesuffix(".gz")
                unpacked.write_bytes(gzip.decompress((GOLDEN / name).read_bytes()))
                yield name, read_file(unpacked)
    elif folder := outcomes.corpus():
        for name in outcomes.index(folder):
            try:
                yield name, read_file(folder / name)
            except InputError:
                continue  # what is refused, and why, is the matter of corpus/test_corpus.py


def _of_run(where: str, file: str, run: Run) -> Iterator[Judged]:
    told: dict[int, dict[str, list[str]]] = {}
    for launch, rule, message in zip(*(run.rules[name] for name in ("launch", "rule", "message")), strict=True):
        told.setdefault(int(launch), {}).setdefault(rule, []).append(message or "")
    for summary in summarize(run):
        yield Judged(where, file, summary, verdict_of(summary), told.get(summary.launch, {}))


def labelled(places: Sequence[str]) -> list[tuple[Label, Judged]]:
    """Pair each label of some places with its launch.

    Raises:
        KeyError: When a label is of a launch that is not there.
    """
    found = {one.place: one for where in places for one in judged(where)}
    return [(one, found[one.place]) for one in labels() if one.where in places]


def confusion(places: Sequence[str]) -> str:
    """Return the table label x verdict, and how many agree."""
    pairs = Counter((label.label, launch.verdict.bound) for label, launch in labelled(places))
    agreeing = sum(count for (label, bound), count in pairs.items() if label == bound)
    table = _table("label", "verdict", BOUNDS, pairs)
    return f"{table}\n{agreeing} of {sum(pairs.values())} agree.\n"


def _table(row: str, column: str, rows: Sequence[str], counts: Mapping[tuple[str, str], int]) -> str:
    """Write counts as a table with the verdicts as columns; rows without any are left out."""
    titles = [f"{row} \\ {column}", *BOUNDS]
    lines = [
        {titles[0]: name, **{bound: str(counts.get((name, bound), 0) or "·") for bound in BOUNDS}}
        for name in rows
        if any(counts.get((name, bound)) for bound in BOUNDS)
    ]
    left, *others = titles
    return markdown_table(lines, [Column(left, left, align="left"), *(Column(one, one) for one in others)])


# --- ncu's own rules -------------------------------------------------------------------------------------------

SPEED_OF_LIGHT: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "over 80 % of peak": (r"greater than 80", ("compute", "memory", "shared", "balanced")),
    "memory more than compute": (r"Memory is more heavily", ("memory", "shared")),
    "compute more than memory": (r"Compute is more heavily", ("compute",)),
    "balanced": (r"well-balanced", ("balanced",)),
    "latency (below 60 %)": (r"low compute throughput and memory bandwidth", ("latency",)),
    "grid too small": (r"grid is too small", ("launch",)),
}
"""What SOLBottleneck concludes -> words of its message, and the verdicts that say the same."""

OTHER_RULES: Mapping[str, tuple[str, str]] = {
    "HighPipeUtilization: a pipe is well used": ("HighPipeUtilization", r"highest-utilized"),
    "HighPipeUtilization: all are under-used": ("HighPipeUtilization", r"under-utilized"),
    "LaunchConfiguration: fewer blocks than SMs": ("LaunchConfiguration", r"which is less than the GPU"),
    "LaunchConfiguration: partial last wave": ("LaunchConfiguration", r"wave of thread blocks"),
    "AchievedOccupancy: below what is possible": ("AchievedOccupancy", r"achieved occupancy"),
    "IssueSlotUtilization: few issues": ("IssueSlotUtilization", r"only issues"),
    "CPIStall: a wait stands out": ("CPIStall", r"cycles being stalled"),
    "WorkloadImbalance: units unequally busy": ("WorkloadImbalance", r""),
    "SharedMemoryConflicts: bank conflicts": ("SharedMemoryConflicts", r""),
    "UncoalescedGlobalAccess: excess sectors": ("UncoalescedGlobalAccess", r"uncoalesced"),
}
"""What another rule tells -> the rule, and words of its message."""


def conclusion(launch: Judged) -> str | None:
    """Return what SOLBottleneck concludes of a launch; None when it did not run."""
    messages = " ".join(launch.rules.get("SOLBottleneck", ()))
    return next((name for name, (words, _) in SPEED_OF_LIGHT.items() if re.search(words, messages)), None)


def same(name: str, verdict: Verdict) -> bool:
    """Whether a verdict says what SOLBottleneck concluded."""
    if verdict.bound not in SPEED_OF_LIGHT[name][1]:
        return False
    return name != "over 80 % of peak" or (verdict.because[0].value or 0.0) >= AT_PEAK


def speed_of_light(places: Sequence[str]) -> str:
    """Return the table of SOLBottleneck's conclusions x verdicts, and how many say the same."""
    told = [(name, one.verdict) for where in places for one in judged(where) if (name := conclusion(one))]
    counts = Counter((name, verdict.bound) for name, verdict in told)
    agreeing = sum(same(name, verdict) for name, verdict in told)
    table = _table("SOLBottleneck", "verdict", tuple(SPEED_OF_LIGHT), counts)
    return f"{table}\n{agreeing} of {len(told)} launches on which the rule ran agree.\n"


def other_rules(places: Sequence[str]) -> str:
    """Return the table of what ncu's other rules tell x verdicts."""
    launches = [one for where in places for one in judged(where)]
    counts = Counter(
        (name, one.verdict.bound)
        for one in launches
        for name, (rule, words) in OTHER_RULES.items()
        if any(re.search(words, message) for message in one.rules.get(rule, ()))
    )
    return _table("rule", "verdict", tuple(OTHER_RULES), counts)


# --- The page --------------------------------------------------------------------------------------------------

TABLES = {"labels": confusion, "SOLBottleneck": speed_of_light, "other rules": other_rules}
PLACES = {"golden and examples": HERE, "corpus": CORPUS}


def renewed(page: str, places: Iterable[str]) -> str:
    """Return the page with the tables of some places (keys of :data:`PLACES`) renewed."""

    def renew(match: re.Match[str]) -> str:
        table, _, place = match["name"].partition(", ")
        if place not in places:
            return match[0]
        return f"{match['open']}\n{TABLES[table](PLACES[place])}\n{match['close']}"

    return BLOCK.sub(renew, page)


def main(arguments: Sequence[str]) -> int:
    """Print the differences, and write the page or tell whether it is up to date."""
    places = [name for name in PLACES if name != "corpus" or outcomes.corpus()]
    try:
        pairs = labelled([one for name in places for one in PLACES[name]])
    except KeyError as error:
        print(f"{LABELS.name} has a label of what is launched no more: {error}")
        return 1
    for label, launch in pairs:
        if label.label != launch.verdict.bound:
            print(
                f"{label.where} {label.file} {launch.summary.launch} {label.function}: {label.label}, verdict", end=" "
            )
            print(launch.verdict.bound, *((one.fact, one.key, one.value) for one in launch.verdict.because))
    before = PAGE.read_text(encoding="utf-8")
    after = renewed(before, places)
    if "--write" in arguments:
        PAGE.write_text(after, encoding="utf-8")
    elif after != before:
        print("docs/verdict.md is out of date: PYTHONPATH=tests python -m verdict_tables --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
