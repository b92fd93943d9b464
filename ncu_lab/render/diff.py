"""``diff`` for people and programs: each pair's duration, and why it changed."""

from __future__ import annotations

from collections.abc import Sequence

from ncu_lab.model import Attribution, Comparison, Json, LaunchSummary, Pair, RunMeta, Unattributed
from ncu_lab.render import numbers
from ncu_lab.render.attribution import (
    attribution_document,
    lacking_document,
    part_rows,
    print_waterfall,
    unattributed_words,
    waterfall_markdown,
)
from ncu_lab.render.documents import notices_document, run_document
from ncu_lab.render.ladder import NO_CHANGE
from ncu_lab.render.markdown import escaped
from ncu_lab.render.numbers import MISSING, THIN
from ncu_lab.render.tables import Column, Row
from ncu_lab.render.terminal import MUTED, STRONG, Terminal
from ncu_lab.render.wording import context_words, extent, problem_words

MOST_PERCENT = 1000.0
"""Above it a change is written as a factor."""

FLAT_COLUMNS = tuple(
    Column(key, key)
    for key in (
        "status", "stage_a", "stage_b", "kernel_a", "kernel_b", "launch_a", "launch_b", "a_ns", "b_ns", "delta_ns",
        "factor", "value_a", "value_b", "ns", "log2",
    )
)  # fmt: skip


_MEANING = (
    "Durations are the profiler's, of launches of median duration. Instructions and warps are those of a scheduler, "
    "waits cycles per instruction."
)


def print_comparison(comparison: Comparison, terminal: Terminal, *, in_full: bool = False, where: str = "") -> None:
    """Print what is compared, each pair with where its nanoseconds went, and what is in one run alone.

    Args:
        comparison: What to print.
        terminal: Where.
        in_full: Whether to split changes of less than half a percent too.
        where: The options that name the store, so that what is to be typed works as printed.
    """
    for title in _titles(comparison):
        terminal.paragraph(title, STRONG)
    for notice in comparison.differences:
        terminal.paragraph(notice.message, MUTED)
    matched = [pair for pair in comparison.pairs if pair.status == "matched"]
    in_full = in_full or len(matched) == 1
    for pair in matched:
        terminal.line()
        terminal.paragraph(pair_words(pair), STRONG)
        _print_why(pair, terminal, in_full=in_full)
    terminal.line()
    terminal.paragraph(_tally(comparison.pairs))
    if matched:
        terminal.paragraph(_MEANING, MUTED)
        stage = next((pair.chosen_b.stage for pair in matched if pair.chosen_b and pair.chosen_b.stage), None)
        chosen = f" --stage {stage}" if stage else ""
        terminal.command(f"ncu-lab show {comparison.b.meta.id}{chosen}{where}", lead="Next: ")


def _print_why(pair: Pair, terminal: Terminal, *, in_full: bool) -> None:
    if isinstance(pair.attribution, Unattributed):
        terminal.paragraph(unattributed_words(pair.attribution), MUTED, indent=2)
    elif pair.attribution is not None and (in_full or not _unchanged(pair)):
        print_waterfall(pair.attribution, terminal)


def pair_words(pair: Pair) -> str:
    """``1d → 2d   ▼ 1.86× shorter   8.47 → 4.55 ms (−3.92 ms, −46.3 %)``."""
    return f"{pair_name(pair)}   {change_words(pair)}"


def pair_name(pair: Pair) -> str:
    """Name what is compared: a stage, or a kernel with its launches; two names where they differ."""
    a, b = pair.chosen_a, pair.chosen_b
    if a is None or b is None:
        return _launch_name(a or b)
    before, after = _launch_name(a), _launch_name(b)
    name = before if before == after else f"{before} → {after}"
    return name if a.stage and b.stage else f"{name} (launch {a.launch} → {b.launch})"


def _launch_name(launch: LaunchSummary | None) -> str:
    """``2d``, or ``saxpy<<<4096, 256>>>`` for a launch of no stage."""
    if launch is None:
        return MISSING
    return launch.stage or f"{launch.function}<<<{extent(launch.grid)}, {extent(launch.block)}>>>"


def change_words(pair: Pair) -> str:
    """Write how a duration changed: the factor and its direction, both durations in one unit, the difference."""
    before, after = pair.a_ns, pair.b_ns
    if before is None or after is None or pair.delta_pct is None or not after:
        return f"{numbers.duration(before)} → {numbers.duration(after)}"
    scale = max(before, after)
    unit = numbers.duration(scale).rpartition(THIN)[2]
    texts = [numbers.duration_change(value, scale).removeprefix("+") for value in (before, after)]
    change = numbers.duration_change(pair.delta_ns, scale)
    share = numbers.signed(numbers.percent(pair.delta_pct, table=True))
    if pair.delta_pct > MOST_PERCENT:
        share = f"×{numbers.significant(after / before)}"
    direction = "= same length" if _unchanged(pair) else _direction(before, after)
    return f"{direction}   {texts[0].removesuffix(THIN + unit)} → {texts[1]} ({change}, {share})"


def _direction(before: float, after: float) -> str:
    if after < before:
        return f"▼ {numbers.ratio(before / after)} shorter"
    return f"▲ {numbers.ratio(after / before)} longer"


def _unchanged(pair: Pair) -> bool:
    return pair.delta_pct is not None and abs(pair.delta_pct) < NO_CHANGE * 100.0


def _titles(comparison: Comparison) -> list[str]:
    """Name both sides; two stages of one run in one line."""
    a, b = comparison.a, comparison.b
    if a.meta.id == b.meta.id and a.stage and b.stage:
        return [" · ".join((f"{a.stage} → {b.stage}", *_run_words(a.meta)))]
    return [
        f"{letter}  " + " · ".join((*([side.stage] if side.stage else []), *_run_words(side.meta)))
        for letter, side in (("A", a), ("B", b))
    ]


def _run_words(meta: RunMeta) -> list[str]:
    problem = [problem_words(meta.problem)] if meta.problem else []
    return [meta.id, *_commit_words(meta), *problem, *context_words(meta.device, meta.environment)]


def _commit_words(meta: RunMeta) -> list[str]:
    git = meta.git
    if not git.commit:
        return []
    return [git.commit[:7] + (f' "{git.subject}"' if git.subject else "") + (" (edited)" if git.dirty else "")]


def _tally(pairs: Sequence[Pair]) -> str:
    """Count what is matched, and name what is in one run alone: nothing is left out silently."""
    matched = sum(pair.status == "matched" for pair in pairs)
    words = [f"{matched} matched"]
    for status, letter in (("removed", "A"), ("added", "B")):
        names = list(dict.fromkeys(pair_name(pair) for pair in pairs if pair.status == status))
        if names:
            words.append(f"only in {letter}: {', '.join(names)}")
    return "; ".join(words) + "."


def comparison_markdown(comparison: Comparison) -> str:
    """Write a comparison for a pull request or a page: each pair with its waterfall as a table."""
    blocks = ["".join(f"- {escaped(title)}\n" for title in _titles(comparison))]
    blocks += [f"- {escaped(notice.message)}\n" for notice in comparison.differences]
    for pair in comparison.pairs:
        if pair.status == "matched":
            blocks.append(f"### {escaped(pair_words(pair))}\n")
            blocks.append(_why_markdown(pair))
    blocks.append(escaped(_tally(comparison.pairs)) + "\n")
    return "\n".join(blocks)


def _why_markdown(pair: Pair) -> str:
    if isinstance(pair.attribution, Attribution):
        return waterfall_markdown(pair.attribution)
    return (escaped(unattributed_words(pair.attribution)) if pair.attribution else MISSING) + "\n"


def comparison_rows(comparison: Comparison) -> list[Row]:
    """Return a row for each part of each pair; one without a factor where a pair cannot be split."""
    rows: list[Row] = []
    for pair in comparison.pairs:
        a, b = pair.chosen_a, pair.chosen_b
        whole = {
            "status": pair.status,
            **{f"{key}_{side}": getattr(one, key) if one else None
               for key in ("stage", "kernel", "launch") for side, one in (("a", a), ("b", b))},
            "a_ns": pair.a_ns,
            "b_ns": pair.b_ns,
            "delta_ns": pair.delta_ns,
        }  # fmt: skip
        parts = part_rows(pair.attribution) if isinstance(pair.attribution, Attribution) else [{}]
        rows += [{**whole, **part} for part in parts]
    return rows


def comparison_document(comparison: Comparison) -> Json:
    """Build the document of ``diff``."""
    return {
        "a": {**run_document(comparison.a.meta), "stage": comparison.a.stage},
        "b": {**run_document(comparison.b.meta), "stage": comparison.b.stage},
        "differences": notices_document(comparison.differences),
        "pairs": [_pair(pair) for pair in comparison.pairs],
        "warnings": notices_document(comparison.warnings),
    }


def _pair(pair: Pair) -> Json:
    return {
        "status": pair.status,
        "matched_by": pair.matched_by,
        "stage_a": pair.chosen_a.stage if pair.chosen_a else None,
        "stage_b": pair.chosen_b.stage if pair.chosen_b else None,
        "kernels_a": list(dict.fromkeys(one.kernel for one in pair.launches_a)),
        "kernels_b": list(dict.fromkeys(one.kernel for one in pair.launches_b)),
        "launches_a": [one.launch for one in pair.launches_a],
        "launches_b": [one.launch for one in pair.launches_b],
        "duration": {
            "a_ns": pair.a_ns,
            "b_ns": pair.b_ns,
            "delta_ns": pair.delta_ns,
            "delta_pct": pair.delta_pct,
            "n_a": len(pair.launches_a),
            "n_b": len(pair.launches_b),
            "source": "profiler",
        },
        "attribution": attribution_document(pair.attribution),
        "attribution_lacks": lacking_document(pair.attribution),
    }
