"""Words that the terminal's pages share: problems, devices, stall reasons, what was not collected."""

from __future__ import annotations

from collections.abc import Mapping

from ncu_lab.metrics import METRICS, OVER_IDEAL, Reading
from ncu_lab.model import Device, Environment, LaunchSummary, Problem, Stage
from ncu_lab.render import numbers

_SHORT_REASONS: Mapping[str, str] = {
    "math_pipe_throttle": "math pipe",
    "dispatch_stall": "dispatch",
    "not_selected": "not selected",
    "no_instruction": "no instruction",
    "branch_resolving": "branch",
}

DTYPES: Mapping[str, str] = {"fp32": "FP32", "tf32": "TF32", "fp16": "FP16", "bf16": "BF16"}


def reason_name(reason: str, *, short: bool = False) -> str:
    """Name a stall reason: ``long_scoreboard`` is ``long scoreboard``, ``long scoreb.`` in the cells of tables."""
    name = _SHORT_REASONS.get(reason, reason.replace("_", " "))
    return name.replace("scoreboard", "scoreb.").replace("not selected", "not sel.") if short else name


def top_stalls(summary: LaunchSummary, count: int) -> list[tuple[str, float]]:
    """Return the largest waits and their shares of all warp-cycles (0 to 1), the largest first.

    ``selected`` is not among them: a warp that issues does not wait.
    """
    waits = [item for item in summary.stalls.items() if item[0] != "selected"]
    return sorted(waits, key=lambda item: -item[1])[:count]


def within_ideal(value: float | None, ideal: float | None) -> bool | None:
    """Whether an access stays within :data:`OVER_IDEAL` of its ideal; None when either is unknown."""
    return None if value is None or ideal is None else value <= OVER_IDEAL * ideal


_BY_SECTION = ": --section "


def not_collected(reading: Reading) -> str:
    """Say how to collect what a reading lacks."""
    return collected_by(METRICS[reading.key].section)


def collected_by(*sections: str) -> str:
    """Say that something was not collected, and which sections would."""
    return f"not collected{_BY_SECTION}{', '.join(sections)}"


def apart_from_sections(words: str) -> tuple[str, tuple[str, ...]]:
    """Return words without the sections that :func:`collected_by` named at their end, and these."""
    told, named, sections = words.partition(_BY_SECTION)
    return told, tuple(sections.split(", ")) if named else ()


def clock_words(environment: Environment) -> str:
    """Say how the clocks were controlled; empty when it is not known."""
    known = {"none": "clocks not locked", "base": "clocks locked to base"}
    control = environment.clock_control
    return "" if control is None else known.get(control, f"clock control {control}")


def context_words(device: Device | None, environment: Environment) -> list[str]:
    """Name what a measurement was made on and with."""
    ncu = f"ncu {environment.ncu}" if environment.ncu else ""
    return [words for words in (device.name if device else "", ncu, clock_words(environment)) if words]


def problem_words(problem: Problem, stage: Stage | None = None) -> str:
    """Name a problem and the type of its operands: ``2048³ FP32``; alpha and beta where they are not 1 and 0."""
    words = problem.label + (f" {DTYPES[stage.dtype]}" if stage else "")
    if (problem.alpha, problem.beta) != (1.0, 0.0):
        words += f" (alpha {problem.alpha:g}, beta {problem.beta:g})"
    return words


def extent(size: tuple[int, int, int]) -> str:
    """Write a grid or block without trailing ones: ``32×32``; some exports tell none, which are zeros in a table."""
    if 0 in size:
        return numbers.MISSING
    kept = size[:3] if size[2] > 1 else size[:2] if size[1] > 1 else size[:1]
    return "×".join(numbers.plain_spaces(numbers.integer(n)) for n in kept)
