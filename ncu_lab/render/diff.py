"""``diff`` for people: each pair's time and verdict, why it changed, the counters and the lines that moved."""

from __future__ import annotations

import shlex
from collections.abc import Sequence, Set

from rich.cells import cell_len

from ncu_lab.model import Attribution, RunMeta, Unattributed
from ncu_lab.model.comparison import ComparedSide, Comparison, FailedStage, MetricChange, MovedLine, Pair
from ncu_lab.render.attribution import print_waterfall, unattributed_words, waterfall_markdown
from ncu_lab.render.cause_words import change_sentence
from ncu_lab.render.change_words import (
    caution_words,
    comparable_words,
    evidence_words,
    line_words,
    metric_words,
    pair_name,
    pairing_words,
    time_words,
    told_metrics,
)
from ncu_lab.render.history_words import STATUS_WORDS
from ncu_lab.render.tables import escaped
from ncu_lab.render.terminal import BAD, GOOD, MUTED, STRONG, Terminal
from ncu_lab.render.wording import context_words, problem_words

MOST_METRICS = 6
MOST_LINES = 3
"""Of each kind so many are shown beside a pair; the rest are counted, and in ``--format json``."""

_LABEL = 6
_LEAST_TEXT = 12
_MEANING = (
    "Times are medians; ± is half the 99 % interval of the ratio. Why: durations under the profiler, of launches of "
    "median duration; instructions and warps are those of a scheduler, waits cycles per instruction."
)


def print_comparison(comparison: Comparison, terminal: Terminal, *, in_full: bool = False, where: str = "") -> None:
    """Print what is compared, each pair with its verdict and why, and what is in one run alone.

    Args:
        comparison: What to print.
        terminal: Where.
        in_full: Whether to tell why of what did not change too.
        where: The options that name the store, so that what is to be typed works as printed.
    """
    terminal.paragraph(title(comparison), STRONG)
    for words, style in context_lines(comparison):
        terminal.paragraph(words, style)
    told = [pair for pair in comparison.pairs if pair.is_on_both_sides]
    in_full = in_full or len(told) == 1
    shared = shared_reasons(comparison)
    plain = True
    for pair in told:
        short = not in_full and _is_plain(pair, shared)
        if not (short and plain):
            terminal.line()
        plain = short
        _print_pair(comparison, pair, terminal, shared, in_full=in_full, short=short)
    terminal.line()
    terminal.paragraph(tally_words(comparison), STRONG if told else "")
    if told:
        terminal.paragraph(_MEANING, MUTED)
        terminal.command(_next_command(comparison, told[0], where), lead="Next: ")


def _next_command(comparison: Comparison, pair: Pair, where: str) -> str:
    side = comparison.b
    stage = f" --stage {pair.chosen_b.stage}" if pair.chosen_b and pair.chosen_b.stage else ""
    in_store = pair.run_b is not None and pair.run_b.id != pair.run_b.name  # a file that is in none has its name for id
    shown = pair.run_b.id if pair.run_b and in_store else side.reference or side.meta.id
    return f"ncu-lab show {shlex.quote(shown)}{stage}{where if in_store else ''}"


def shared_reasons(comparison: Comparison) -> frozenset[str]:
    """Return the reasons that each of several pairs has: they stand above all, and not once more with each."""
    each = [set(reason_lines(pair)) for pair in comparison.pairs if pair.is_on_both_sides]
    return frozenset(set.intersection(*each)) if len(each) > 1 else frozenset()


def reason_lines(pair: Pair) -> list[str]:
    """Say why the times of a pair are not compared, and why its change is not split."""
    time = pair.duration
    against = [evidence_words(time)] if time and time.verdict == "not_comparable" else []
    return [words for words in (*against, _unsplit(pair)) if words]


def _unsplit(pair: Pair) -> str:
    return unattributed_words(pair.attribution) if isinstance(pair.attribution, Unattributed) else ""


def _is_plain(pair: Pair, shared: Set[str]) -> bool:
    """Whether one line tells all of a pair: nothing changed, or what stands above all says why it is not judged."""
    verdict = pair.duration.verdict if pair.duration else ""
    unjudged = verdict == "not_comparable" and not pair.lines and set(reason_lines(pair)) <= shared
    return (verdict == "same" or unjudged) and not any(told_metrics(pair)) and not pairing_words(pair)


def _line_of(pair: Pair) -> str:
    """``2d   = same   4.53 → 4.53 ms (0.00 ms, 0.0 % ± 0.2)``: where there is no change to tell in a sentence."""
    return f"{pair_name(pair)}   {time_words(pair.duration)}"


def _print_pair(
    comparison: Comparison, pair: Pair, terminal: Terminal, shared: Set[str], *, in_full: bool, short: bool
) -> None:
    context = _pair_context(comparison, pair)
    verdict = pair.duration.verdict if pair.duration else ""
    style = {"faster": GOOD, "slower": BAD}.get(verdict, "")
    sentence = change_sentence(comparison, pair)
    terminal.paragraph(f"{context}{sentence or _line_of(pair)}", style or STRONG)
    if short:
        return
    for words in (time_words(pair.duration) if sentence else "", evidence_words(pair.duration), pairing_words(pair)):
        if words and words not in shared:
            terminal.paragraph(words, MUTED, indent=2)
    if isinstance(pair.attribution, Unattributed):
        if _unsplit(pair) not in shared:
            terminal.paragraph(_unsplit(pair), MUTED, indent=2)
    elif pair.attribution is not None and (in_full or verdict in ("faster", "slower")):
        print_waterfall(pair.attribution, terminal)
    exact, noisy = told_metrics(pair)
    _print_some(terminal, "exact", [metric_words(one) for one in exact], MOST_METRICS)
    _print_some(terminal, "noisy", [metric_words(one) for one in noisy], MOST_METRICS)
    _print_lines(terminal, pair.lines)
    if pair.same_code and exact:
        terminal.paragraph("The machine code is the same.", MUTED, indent=2)


def _print_some(terminal: Terminal, label: str, words: Sequence[str], most: int) -> None:
    """Print short items behind a label, as many in a line as fit; none is divided."""
    if not words:
        return
    left = len(words) - most
    line = f"  {label:<{_LABEL}}"
    for word in (*words[:most], *([f"and {left} more"] if left > 0 else [])):
        if line.strip() not in ("", label) and cell_len(line) + 3 + cell_len(word) > terminal.width:
            terminal.line(line)
            line = " " * (_LABEL + 2)
        line += word if line.strip() in ("", label) else f"   {word}"
    terminal.line(line)


def _print_lines(terminal: Terminal, lines: Sequence[MovedLine]) -> None:
    """Print lines of source that moved; their text as far as there is room."""
    for place, line in enumerate(lines[:MOST_LINES]):
        words = f"  {'lines' if place == 0 else '':<{_LABEL}}{line_words(line)}"
        text = line.text.strip() if line.text else ""
        room = terminal.width - cell_len(words) - 2
        cut = text if cell_len(text) <= room else f"{text[: max(0, room - 1)].rstrip()}…"
        terminal.line(words, *([(f"  {cut}", MUTED)] if text and room > _LEAST_TEXT else []))
    if len(lines) > MOST_LINES:
        terminal.line(f"  {'':<{_LABEL}}and {len(lines) - MOST_LINES} more lines")


def title(comparison: Comparison) -> str:
    """Name both sides: commits where they are of two, two stages of one run, else runs."""
    a, b = comparison.a, comparison.b
    if a.stage and b.stage:
        same = a.meta.id == b.meta.id
        return f"{a.stage} → {b.stage} · {a.meta.id}" if same else f"{a.stage} → {b.stage}"
    commits = [_commit_words(side.meta) for side in (a, b)]
    if all(commits) and commits[0] != commits[1]:
        return " → ".join(commits)
    return f"{_run_words(a)} → {_run_words(b)}"


def _run_words(side: ComparedSide) -> str:
    return side.meta.name or side.meta.id


def _commit_words(meta: RunMeta) -> str:
    git = meta.git
    if not git.commit:
        return ""
    return git.commit[:7] + (f' "{git.subject}"' if git.subject else "") + (" (edited)" if git.dirty else "")


def context_lines(comparison: Comparison) -> list[tuple[str, str]]:
    """Tell what both sides were measured on, whether they can be compared, and which runs they are: words and style.

    What keeps every time from being split stands here, too, where any of them may have changed.
    """
    newest = comparison.b.meta
    problem = [problem_words(newest.problem)] if newest.problem else []
    told = " · ".join([*problem, *context_words(newest.device, newest.environment)])
    comparable = comparable_words(comparison.pairs, forced=comparison.forced)
    lines = [(" · ".join(one for one in (told, comparable) if one), "")]
    cautions = caution_words(pair.comparability for pair in comparison.pairs if pair.is_on_both_sides)
    if cautions:
        lines.append(("To be known: " + "; ".join(cautions) + ".", MUTED))
    shared = shared_reasons(comparison)
    unsplit = {_unsplit(pair) for pair in comparison.pairs if not (pair.duration and pair.duration.verdict == "same")}
    lines += [(f"Why is told of no pair: {words}", MUTED) for words in sorted(shared & unsplit)]
    runs = [" ".join(dict.fromkeys(meta.id for meta in side.runs)) for side in (comparison.a, comparison.b)]
    if not (comparison.a.stage and comparison.b.stage and runs[0] == runs[1]):
        lines += [(f"{letter}  {words}", MUTED) for letter, words in zip("AB", runs, strict=True)]
    return lines


def _pair_context(comparison: Comparison, pair: Pair) -> str:
    """Name the problem of a pair where the comparison is of several."""
    problems = {one.run_b.problem for one in comparison.pairs if one.run_b}
    return f"{pair.run_b.problem.label}  " if len(problems) > 1 and pair.run_b and pair.run_b.problem else ""


def tally_words(comparison: Comparison) -> str:
    """Count the verdicts, and name what is in one run alone: nothing is left out silently."""
    words = [
        f"{comparison.count(verdict)} {verdict.replace('_', ' ')}"
        for verdict in ("faster", "slower", "same", "inconclusive", "not_comparable")
        if verdict != "not_comparable" or comparison.count(verdict)
    ]  # fmt: skip
    failed = (*comparison.failed_a, *comparison.failed_b)
    alone = []
    for status in ("added", "removed"):
        names = list(dict.fromkeys(pair_name(pair) for pair in comparison.pairs if pair.status == status))
        names = [name for name in names if name not in {one.stage for one in failed}]
        alone.append(f"{len(names)} {status}" + (f" ({', '.join(names)})" if names else ""))
    return f"{', '.join(words)}; {', '.join((*alone, *map(_failed_words, failed)))}."


def _failed_words(one: FailedStage) -> str:
    """``gram: build failed at 8ab08b8: kernels/gram.cu:6: expected a ";"``."""
    why = one.why.removeprefix("does not compile: ")
    return f"{one.stage}: {STATUS_WORDS[one.status]} at {one.commit[:7]}: {why}"


def comparison_markdown(comparison: Comparison) -> str:
    """Write a comparison for a pull request or a page: each pair with its verdict, counters, lines and waterfall."""
    blocks = [f"### {escaped(title(comparison))}\n"]
    blocks.append("".join(f"- {escaped(words)}\n" for words, _ in context_lines(comparison)))
    shared = shared_reasons(comparison)
    for pair in comparison.pairs:
        if pair.is_on_both_sides:
            sentence = change_sentence(comparison, pair)
            blocks.append(f"#### {escaped(_pair_context(comparison, pair) + (sentence or _line_of(pair)))}\n")
            blocks.append(_pair_markdown(pair, time_words(pair.duration) if sentence else "", shared))
    blocks.append(escaped(tally_words(comparison)) + "\n")
    return "\n".join(block for block in blocks if block)


def _pair_markdown(pair: Pair, time: str, shared: Set[str]) -> str:
    exact, noisy = told_metrics(pair)
    points = [time, evidence_words(pair.duration), pairing_words(pair)]
    points += [_listed("exact", exact), _listed("noisy", noisy)]
    points += [line_words(line) for line in pair.lines]
    points.append(_unsplit(pair))
    text = "".join(f"- {escaped(point)}\n" for point in points if point and point not in shared)
    if isinstance(pair.attribution, Attribution) and pair.duration and pair.duration.verdict != "same":
        text += f"\n{waterfall_markdown(pair.attribution)}"
    return text


def _listed(label: str, changes: Sequence[MetricChange]) -> str:
    return f"{label}: " + ", ".join(metric_words(one) for one in changes) if changes else ""
