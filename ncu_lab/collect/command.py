"""From options to ncu's command line: pure, so that tests assert the exact words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ncu_lab.metrics import ATTRIBUTION_METRICS, TARGETED_SECTIONS

ClockControl = Literal["none", "base"]
CacheControl = Literal["all", "none"]

_RANGE_QUANTIFIERS = "/[]@*+"
"""What makes an NVTX filter an expression instead of a plain name (Nsight Compute CLI, NVTX Filtering)."""


@dataclass(frozen=True, slots=True)
class Collection:
    """What ncu collects, and under which control of the machine.

    Attributes:
        sections: Section identifiers; with no section and no set, the targeted ones.
        section_set: A set of sections (``full``); None for none.
        metrics: Further metrics by Nsight Compute's names, beside the sections.
        clock_control: ``none`` leaves the clocks alone, ``base`` lets ncu lock them to base.
        cache_control: ``all`` flushes the caches before every pass, ``none`` leaves them.
    """

    sections: tuple[str, ...] = ()
    section_set: str | None = None
    metrics: tuple[str, ...] = ()
    clock_control: ClockControl = "none"
    cache_control: CacheControl = "all"

    @property
    def is_targeted(self) -> bool:
        """Whether the targeted sections are collected: nobody asked for others."""
        return not self.sections and self.section_set is None

    def all_sections(self) -> tuple[str, ...]:
        """Return the sections named on ncu's command line, each once."""
        return TARGETED_SECTIONS if self.is_targeted else tuple(dict.fromkeys(self.sections))

    def all_metrics(self) -> tuple[str, ...]:
        """Return the metrics named on ncu's command line, each once.

        The targeted sections lack some counters of the attribution identity; those are always collected with them.
        """
        needed = ATTRIBUTION_METRICS if self.is_targeted else ()
        return tuple(dict.fromkeys((*needed, *self.metrics)))


@dataclass(frozen=True, slots=True)
class Selection:
    """Which launches of the program are profiled.

    Attributes:
        kernel: Regular expression on kernel names; None for every kernel.
        nvtx_range: Name of an NVTX range, or an expression in Nsight Compute's syntax; None for everywhere.
        launches: Profile at most so many launches; None for all.
        from_start: False where the program itself starts the profiler (``cudaProfilerStart``).
    """

    kernel: str | None = None
    nvtx_range: str | None = None
    launches: int | None = None
    from_start: bool = True


def build_argv(
    ncu: str,
    target: Sequence[str],
    *,
    report: Path,
    log: Path,
    collection: Collection,
    selection: Selection,
    ignore_config: bool = False,
) -> list[str]:
    """Return the command line that profiles ``target``.

    Args:
        ncu: Path of ncu.
        target: The program and its arguments.
        report: Where ncu writes its report; must end in ``.ncu-rep``, or newer versions choose another format.
        log: Where ncu writes its own messages, apart from the program's output.
        collection: What to collect.
        selection: Which launches to profile.
        ignore_config: Keep a configuration file in the current or home folder from changing what is collected; only
            for versions that know the option.
    """
    argv = [ncu]
    if ignore_config:
        argv += ["--config-file", "off"]
    argv += ["--force-overwrite", "--export", str(report), "--log-file", str(log)]
    argv += ["--target-processes", "all", "--replay-mode", "kernel"]
    argv += ["--clock-control", collection.clock_control, "--cache-control", collection.cache_control]
    argv += ["--import-source", "yes"]
    if collection.section_set is not None:
        argv += ["--set", collection.section_set]
    for section in collection.all_sections():
        argv += ["--section", section]
    if metrics := collection.all_metrics():
        argv += ["--metrics", ",".join(metrics)]
    return [*argv, *_selection_argv(selection), "--", *target]


def _selection_argv(selection: Selection) -> list[str]:
    argv = ["--nvtx"]
    if selection.nvtx_range is not None:
        for expression in _range_expressions(selection.nvtx_range):
            argv += ["--nvtx-include", expression]
    if selection.kernel is not None:
        # Function names carry no template arguments: an expression that asks for them means the demangled name.
        base = "demangled" if "<" in selection.kernel else "function"
        argv += ["--kernel-name-base", base, "--kernel-name", f"regex:{selection.kernel}"]
    if selection.launches is not None:
        argv += ["--launch-count", str(selection.launches)]
    if not selection.from_start:
        argv += ["--profile-from-start", "off"]
    return argv


def _range_expressions(nvtx_range: str) -> tuple[str, ...]:
    """Return the filters for a range: a plain name means it however it was made.

    Nsight Compute reads ``name`` as a start/end range and ``name/`` as a push/pop range; people rarely know which of
    the two a program uses. Several filters are alternatives.
    """
    if any(character in nvtx_range for character in _RANGE_QUANTIFIERS):
        return (nvtx_range,)
    return (nvtx_range, f"{nvtx_range}/")
