"""Hot spots for people and programs: lines of source, or instructions, with what was sampled and counted in them.

Samples land on the instruction that waits, excess on the one that makes others wait; a view of one of the two alone
misleads, so both stand side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from ncu_lab.metrics import OVER_IDEAL
from ncu_lab.model import HotSpots, Json, Spot
from ncu_lab.render import numbers
from ncu_lab.render.numbers import MISSING
from ncu_lab.render.tables import CAPTION, Column, Row, markdown_table
from ncu_lab.render.terminal import BAD, MUTED, Terminal, note_dropped
from ncu_lab.render.wording import reason_name

Sort = Literal["source", "samples", "excess", "executed"]

BAR_WIDTH = 6
NAME_WIDTH = 16
LEAST_CODE = 20
TAB = 4
MOST_LINES = 20
LEAST_WEIGHT = 0.001
"""Share of the samples or of the excess (0 to 1)."""

NO_LINES = "code without line information (compiled without -lineinfo)"


@dataclass(frozen=True, slots=True)
class CodeChoice:
    """What of the code to show.

    Attributes:
        sass: Instructions instead of lines.
        sort: The order.
        lines: At most so many, those that matter most; 0 for all. By default :data:`MOST_LINES`, and none that matters
            less than :data:`LEAST_WEIGHT`.
    """

    sass: bool = False
    sort: Sort = "source"
    lines: int | None = None


@dataclass(frozen=True, slots=True)
class Code:
    """The code of some launches, by launch, and what of it to show."""

    choice: CodeChoice
    spots: Mapping[int, HotSpots]


def print_source(found: HotSpots, terminal: Terminal, choice: CodeChoice) -> None:
    """Print the hot lines or instructions of one launch, and what is left out."""
    if not found.lines:
        terminal.paragraph(f"source: not collected: --section {', '.join(found.missing)}", MUTED)
        return
    for words in remarks(found, choice):
        terminal.paragraph(words, MUTED)
    shown, hidden = chosen_spots(found, choice)
    indent = min((_indent(text) for spot in shown if (text := found.text(spot))), default=0)
    by_file = choice.sort == "source" and not _by_instruction(found, choice)
    rows: list[Row] = []
    for number, spot in enumerate(shown):
        if by_file and (number == 0 or spot.file != shown[number - 1].file):
            rows.append({CAPTION: _file_words(found, spot.file, terminal.width)})
        text = found.text(spot)
        rows.append({**spot_row(found, spot), "text": text and text.expandtabs(TAB)[indent:]})
    note_dropped(terminal, terminal.table(rows, _columns(found, choice, width=terminal.width)))
    if hidden:
        terminal.paragraph(_hidden_words(found, hidden, choice), MUTED)


def source_markdown(found: HotSpots, choice: CodeChoice) -> str:
    """Write the same as a Markdown table."""
    if not found.lines:
        return f"Source: not collected: `--section {', '.join(found.missing)}`\n"
    shown, hidden = chosen_spots(found, choice)
    table = markdown_table([spot_row(found, spot) for spot in shown], _columns(found, choice, places=True))
    told = [f"{words}\n" for words in remarks(found, choice)]
    return "\n".join([*told, table, *([f"{_hidden_words(found, hidden, choice)}\n"] if hidden else [])])


def source_document(found: HotSpots, *, sass: bool) -> Json:
    """Write all lines of one launch, and with ``sass`` all instructions, in full precision.

    ``source`` holds one object a line in the order of files and lines; ``instructions`` one an instruction in the order
    of the code; ``source_files`` tells of each file where its text is from, and whether that is what was compiled.
    """
    document: Json = {
        "samples": found.samples,
        "source_files": {
            file: {"origin": text.origin, "certain": text.certain} for file, text in found.sources.items()
        },
        "source": [spot_row(found, spot) for spot in found.lines],
    }
    if sass:
        document["instructions"] = [spot_row(found, spot) for spot in found.instructions]
    return document


def source_rows(code: Code) -> list[Row]:
    """Return all lines, or all instructions, of all launches as flat rows, for CSV."""
    return [
        {"launch": launch, **spot_row(found, spot)}
        for launch, found in code.spots.items()
        for spot in (found.instructions if code.choice.sass else found.lines)
    ]


def spot_row(found: HotSpots, spot: Spot) -> Row:
    """Return one line or instruction as a flat row, in full precision."""
    place: Json = {"file": spot.file, "line": spot.line, "instructions": spot.instructions}
    if spot.offset is not None:
        place = {"offset": spot.offset, "sass": spot.sass, **place}
    return {
        **place,
        "text": found.text(spot),
        "samples": spot.samples,
        "share": found.share(spot),
        "stalls": dict(spot.stalls),
        "stalls_not_issued": dict(spot.stalls_not_issued),
        "executed": spot.executed,
        "global_sectors": spot.global_sectors,
        "global_sectors_ideal": spot.global_sectors_ideal,
        "global_sectors_over_ideal": spot.sectors_over_ideal,
        "shared_wavefronts": spot.shared_wavefronts,
        "shared_wavefronts_ideal": spot.shared_wavefronts_ideal,
        "shared_wavefronts_over_ideal": spot.wavefronts_over_ideal,
        "local_sectors": spot.local_sectors,
        "live_registers": spot.live_registers,
    }


def chosen_spots(found: HotSpots, choice: CodeChoice) -> tuple[list[Spot], list[Spot]]:
    """Return the spots that matter most, in the order asked for, and those left out.

    What matters is the share of the samples or of the excess; an order other than the source's chooses by itself.
    """
    spots = found.instructions if _by_instruction(found, choice) else found.lines
    weights = [_rank(found, spot, choice.sort) for spot in spots]
    ranked = sorted(range(len(spots)), key=lambda index: (-weights[index], index))
    most = MOST_LINES if choice.lines is None else choice.lines or len(ranked)
    if choice.lines is None and choice.sort != "executed" and found.samples is not None:
        most = min(most, max(1, sum(weight >= LEAST_WEIGHT for weight in weights)))
    kept = ranked[:most]
    in_order = sorted(kept) if choice.sort == "source" else kept
    return [spots[index] for index in in_order], [spots[index] for index in ranked[most:]]


def remarks(found: HotSpots, choice: CodeChoice) -> list[str]:
    """Say what the figures are, which text is not known or not certain, and what else is missing."""
    if found.samples is None:
        words = [f"samples not collected: --section {', '.join(found.missing)}"]
    else:
        words = [
            f"{numbers.count(found.samples)} samples: they land where warps wait; sect÷ and wave÷, sectors and "
            "wavefronts over their ideal, show what they wait for"
        ]
    if not found.has_lines and not choice.sass:
        words.append(f"{NO_LINES}: instructions instead")
    named = dict.fromkeys(spot.file for spot in found.lines if spot.file)
    if unknown := [file for file in named if file not in found.sources]:
        words.append(f"text not in this run: {', '.join(unknown)}")
    if uncertain := [file for file in named if file in found.sources and not found.sources[file].certain]:
        words.append(f"text as it is now, maybe not as it was profiled: {', '.join(uncertain)}")
    return words


def _rank(found: HotSpots, spot: Spot, sort: Sort) -> float:
    if sort == "executed" or (sort == "source" and found.samples is None):
        return spot.executed or 0.0
    if sort == "excess":
        return found.excess_share(spot)
    return found.weight(spot) if sort == "source" else found.share(spot) or 0.0


def _by_instruction(found: HotSpots, choice: CodeChoice) -> bool:
    return choice.sass or not found.has_lines


def _file_words(found: HotSpots, file: str | None, width: int) -> str:
    """Name a file, the end of its name where it is too long, and its share of the samples."""
    lines = [spot for spot in found.lines if spot.file == file]
    share = sum(spot.samples or 0.0 for spot in lines) / found.samples if found.samples else None
    told = "" if share is None else f"   {numbers.share(share)} of samples"
    name = file or NO_LINES
    room = width - len(told)
    return f"{name if len(name) <= room else '…' + name[1 - room :]}{told}"


def _hidden_words(found: HotSpots, hidden: Sequence[Spot], choice: CodeChoice) -> str:
    what = "instruction" if _by_instruction(found, choice) else "line"
    parts = []
    if found.samples:
        parts.append(f"{numbers.share(sum(spot.samples or 0.0 for spot in hidden) / found.samples)} of samples")
    for name, total in (("sectors", found.excess_sectors), ("wavefronts", found.excess_wavefronts)):
        excess = sum(getattr(spot, f"excess_{name}") for spot in hidden)
        if excess:
            parts.append(f"{numbers.share(excess / total)} of excess {name}")
    told = f" ({', '.join(parts)})" if parts else ""
    return f"… and {len(hidden)} more {what}{'' if len(hidden) == 1 else 's'}{told}; all: --lines 0"


def _columns(found: HotSpots, choice: CodeChoice, *, width: int = 0, places: bool = False) -> list[Column]:
    """Return the columns that have anything to tell.

    Args:
        found: The code.
        choice: What of it to show.
        width: Of the terminal; half of it is for the code before columns of lesser interest get any.
        places: Whether to name the file of each line.
    """
    least = max(LEAST_CODE, width // 2 - LEAST_CODE)
    sass = _by_instruction(found, choice)
    by_name = sass or places or choice.sort != "source"
    place = Column("line", "line", _short_place if by_name else None, priority=5 if sass else 0)
    spots = found.instructions if sass else found.lines
    most = max((found.share(spot) or 0.0 for spot in spots), default=0.0)
    columns = [
        *([Column("offset", "offset", lambda row: f"{row['offset']:04x}")] if sass else []),
        *([] if sass and not found.has_lines else [place]),
        Column("share", "samples", lambda row: _bar(row["share"], most), align="left"),
        Column("stalls", "waits mostly", lambda row: _wait(row, 0), align="left", priority=2, least=15),
        *(
            [Column("stalls", "then", lambda row: _wait(row, 1), align="left", priority=7)]
            if _some_wait_twice(spots)
            else []
        ),
        Column("stalls_not_issued", "not issued", _not_issued, priority=8),
        Column("executed", "inst", lambda row: numbers.count(row["executed"]), priority=6),
        _over("global_sectors_over_ideal", "sect÷"),
        _over("shared_wavefronts_over_ideal", "wave÷"),
        Column("local_sectors", "local", lambda row: numbers.count(row["local_sectors"]), priority=4),
        Column("live_registers", "regs", lambda row: numbers.count(row["live_registers"]), priority=4),
        Column("sass", "SASS", _code("sass"), align="left", least=least)
        if sass
        else Column("text", "source", _code("text"), align="left", least=least),
    ]
    absent = {
        "share": found.samples is None,
        "stalls": found.samples is None,
        "stalls_not_issued": not any(spot.stalls_not_issued for spot in spots),
        "global_sectors_over_ideal": not any(spot.global_sectors for spot in spots),
        "shared_wavefronts_over_ideal": not any(spot.shared_wavefronts for spot in spots),
        "local_sectors": not any(spot.local_sectors for spot in spots),
        "live_registers": not any(spot.live_registers for spot in spots),
    }
    return [column for column in columns if not absent.get(column.key, False)]


def _indent(text: str) -> int:
    spread = text.expandtabs(TAB)
    return len(spread) - len(spread.lstrip())


def _short_place(row: Row) -> str:
    """Name a line by the end of its file's name."""
    if not row["file"]:
        return MISSING
    name = PurePosixPath(row["file"]).name
    return f"{name if len(name) <= NAME_WIDTH else '…' + name[1 - NAME_WIDTH :]}:{row['line']}"


def _bar(share: float | None, most: float) -> str:
    """Draw a share against the largest there is, and write it."""
    length = round(BAR_WIDTH * share / most) if share and most else 0
    return f"{'━' * length:<{BAR_WIDTH}} {numbers.share(share, table=True):>6}"


def _wait(row: Row, rank: int) -> str:
    """Name one of a spot's largest waits, and its share of the spot's own samples; issuing is no wait."""
    stalls: Mapping[str, float] = row["stalls"]
    waits = sorted((item for item in stalls.items() if item[0] != "selected"), key=lambda item: -item[1])
    if len(waits) <= rank or not row["samples"]:
        return ""
    reason, samples = waits[rank]
    return f"{numbers.share(samples / row['samples'])} {reason_name(reason, short=True)}"


def _some_wait_twice(spots: Sequence[Spot]) -> bool:
    return any(len(spot.stalls.keys() - {"selected"}) > 1 for spot in spots)


def _not_issued(row: Row) -> str:
    """Write the share of a spot's samples that were taken when its scheduler issued nothing."""
    if not row["samples"]:
        return ""
    return numbers.share(sum(row["stalls_not_issued"].values()) / row["samples"])


def _over(key: str, title: str) -> Column:
    def text(row: Row) -> str:
        value = row[key]
        return "" if value is None else numbers.ratio(value) + (" ✗" if value > OVER_IDEAL else "")

    return Column(key, title, text, style=lambda row: BAD if (row[key] or 0.0) > OVER_IDEAL else "", priority=1)


def _code(key: str) -> Callable[[Row], str]:
    return lambda row: (row[key] or "").expandtabs(TAB).rstrip()
