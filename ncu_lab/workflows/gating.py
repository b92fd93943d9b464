"""The gate of stored runs: compares two sides and judges what they differ in by a policy."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ncu_lab.analyze.comparison_changes import comparison_changes, one_sided
from ncu_lab.analyze.gate import gate, unmatched, unmatched_notices
from ncu_lab.collect.revisions import repository_of
from ncu_lab.errors import InputError
from ncu_lab.gpu.registry import REGISTRY, load_stages
from ncu_lab.metrics import METRICS
from ncu_lab.model import Notice, Stage, Status
from ncu_lab.model.comparison import ComparedSide, Comparison
from ncu_lab.model.expectations import BUILD, BUILD_UNITS
from ncu_lab.model.gating import Change, GateResult, Judged, Place
from ncu_lab.model.policy import INSTRUCTIONS, Policy
from ncu_lab.render.cause_words import change_sentence
from ncu_lab.render.change_words import power_words
from ncu_lab.resources import kernels_folder
from ncu_lab.workflows.comparing import compare
from ncu_lab.workflows.indexing import list_runs
from ncu_lab.workflows.measuring_noise import read_noise_table
from ncu_lab.workflows.sides import Shelf
from ncu_lab.workflows.static_gating import KERNELS, kernel_place, place_of_error
from ncu_lab.workflows.succession import placed_in_git

LAST = "@last"
_FAILED: Mapping[Status, str] = {"build_failed": "build", "check_failed": "check"}
"""States of runs that are the kernel's fault -> the key by which a gate tells of them."""

_BEFORE: Mapping[str, str] = {"build": "did not compile before", "check": "gave wrong results before"}


@dataclass(frozen=True, slots=True)
class Reference:
    """One side of a gate: what ``compare`` finds it by, what people call it, and where it is, if not in the store."""

    text: str
    words: str = ""
    shelf: Shelf | None = None


def gate_runs(
    a: Reference,
    b: Reference,
    store: Path,
    policy: Policy,
    where: str = "",
    *,
    stages: Sequence[str] = (),
    force: bool = False,
    here: Path | None = None,
) -> GateResult:
    """Compare two sides and judge every quantity that both have.

    Args:
        a: What is compared with.
        b: What is gated.
        store: The folder of runs; what A/A runs in it measured counts.
        policy: What is allowed.
        where: The options that name the store, for commands that are told to be typed.
        stages: Only these stages.
        force: Whether to compare what is not comparable.
        here: A folder in the repository with the kernels, to say where each is defined; the bundled ones by default.

    Raises:
        InputError: When a side means no run.
        UsageError: When a stage asked for is on neither side.
    """
    table, unread = read_noise_table(store)
    comparison = compare(
        a.text, b.text, store, where, stages=stages, force=force, noise=table, shelf=a.shelf or b.shelf
    )
    comparison = placed_in_git(comparison, here) if here else comparison
    added, removed = one_sided(comparison)
    failed = _failed_builds(comparison, here)
    mended = _failed_before(comparison, policy)
    references = {stage.id for stage in load_stages().values() if stage.is_reference}
    measured = comparison_changes(comparison, partial(change_sentence, comparison), power_words)
    own = [one for one in measured if one.stage not in references]
    changes = [replace(one, place=place) for one, place in _placed(own, here)]
    if not (changes or failed or mended):
        raise InputError(
            f"{b.text} and {a.text} have no kernel in common: there is nothing to gate",
            f"ncu-lab diff {a.text} {b.text}{where} shows what each has.",
        )
    keys = (*METRICS, *(BUILD + name for name in BUILD_UNITS), INSTRUCTIONS)
    lost = () if stages else unmatched(measured, policy, keys)
    return GateResult(
        a=a.words or _words(comparison.a, comparison.b),
        b=b.words or _words(comparison.b, comparison.a),
        judged=(*failed, *mended, *gate(changes, policy), *(one for one in lost if one.fails)),
        added=_without(added, mended),
        removed=_without(removed, failed),
        policy=policy.file,
        forced=tuple(one.words for one in comparison.reasons) if force else (),
        notices=(
            *unread,
            *comparison.warnings,
            *_same_runs(comparison),
            *_unmeasured(comparison, table.measured),
            *_left_out(measured, references),
            *unmatched_notices(lost),
        ),
    )


def gated_side(here: Path, store: Path) -> Reference:
    """Return what is gated where nothing is named: the newest run of HEAD; outside of git the last run.

    Raises:
        InputError: When HEAD has no complete run: then the last is of something else.
    """
    repository = repository_of(here)
    if repository is None:
        return Reference(LAST)
    head = repository.commit("HEAD")
    runs = [meta for meta in list_runs(store)[0] if meta.git.commit == head.hash and meta.status == "complete"]
    if not runs:
        raise InputError(
            f"{store} has no complete run of HEAD ({head.hash[:7]})",
            "Make one: ncu-lab profile --all; or name what to gate: ncu-lab gate @last.",
        )
    newest = runs[0]
    # One of an edited tree, made last, is what the user looks at; else all stages that HEAD has runs of count.
    if newest.git.dirty:
        return Reference(f"run:{newest.id}")
    edits = ", without the edits of this checkout" if repository.is_edited else ""
    return Reference(f"rev:{head.hash}", f"HEAD ({head.hash[:7]}){edits}")


def merge_base(here: Path) -> Reference:
    """Return what is compared with where nothing is named: where HEAD and the default branch parted.

    Raises:
        InputError: When there is no repository, default branch or shared commit.
    """
    repository = repository_of(here)
    if repository is None:
        raise InputError(
            "nothing says what to compare with: there is no git repository here",
            "Name a run: --against @last~1, or a file: --baseline FILE.",
        )
    commit = repository.merge_base()
    return Reference(f"rev:{commit.hash}", commit.words)


def _words(side: ComparedSide, other: ComparedSide) -> str:
    """``4f2c9ab "Pad the tile"``; the id of the run where it has no commit, or both sides are of one."""
    git = side.meta.git
    if not git.commit or git.commit == other.meta.git.commit:
        return side.meta.id
    subject = f' "{git.subject}"' if git.subject else ""
    return f"{git.commit[:7]}{subject}{' (edited)' if git.dirty else ''}"


def _failed_builds(comparison: Comparison, here: Path | None) -> tuple[Judged, ...]:
    """Return a violation for each stage that B lacks because it did not compile, or gave wrong results, at B's commit.

    A stage without a measurement must not pass for one that was removed.
    """
    folder, stages = _kernels(here)
    judged = []
    for one in comparison.failed_b:
        known = stages.get(one.stage)
        place = None if known is None or known.is_reference else kernel_place(folder, known)
        place = place_of_error(one.why.removeprefix("does not compile: ")) or place
        change = Change(one.stage, one.stage, "", _FAILED[one.status], "", "exact", None, None, place=place)
        judged.append(Judged(change, "violation", None, one.why, fails=True))
    return tuple(judged)


def _failed_before(comparison: Comparison, policy: Policy) -> tuple[Judged, ...]:
    """Tell of each stage that A lacks for such a reason: it is mended rather than new, and nothing to compare with."""
    return tuple(
        Judged(
            Change(one.stage, one.stage, "", _FAILED[one.status], "", "exact", None, None),
            "missing",
            None,
            _BEFORE[_FAILED[one.status]],
            fails=policy.missing == "fail",
        )
        for one in comparison.failed_a
    )


def _without(names: Sequence[str], told: Iterable[Judged]) -> tuple[str, ...]:
    others = {one.change.kernel for one in told}
    return tuple(name for name in names if name not in others)


def _placed(changes: Iterable[Change], here: Path | None) -> Iterator[tuple[Change, Place | None]]:
    """Find where the kernel of each change is defined now; None for programs that are not ours."""
    folder, stages = _kernels(here)
    places: dict[str | None, Place | None] = {}
    for change in changes:
        if change.stage not in places:
            stage = stages.get(change.stage or "")
            places[change.stage] = None if stage is None or stage.is_reference else kernel_place(folder, stage)
        yield change, places[change.stage]


def _kernels(here: Path | None) -> tuple[Path, Mapping[str, Stage]]:
    """Return the kernels of the repository here and what is registered, else the bundled ones."""
    repository = repository_of(here) if here else None
    folder = repository.root / KERNELS if repository else kernels_folder()
    if not (folder / REGISTRY).is_file():
        folder = kernels_folder()
    try:
        return folder, load_stages(folder / REGISTRY)
    except InputError:
        return folder, {}  # what is being edited here says nothing of runs that were made


def _left_out(changes: Iterable[Change], references: Collection[str]) -> list[Notice]:
    """Say of library references that they are not gated: no change of ours makes them slower."""
    names = dict.fromkeys(one.stage for one in changes if one.stage in references)
    words = ", ".join(name for name in names if name)
    return [Notice("references_not_gated", f"library references are not gated: {words}")] if words else []


def _same_runs(comparison: Comparison) -> list[Notice]:
    """Say when runs are judged against themselves, as as where HEAD is the merge base: that always passes."""
    if {meta.id for meta in comparison.a.runs} != {meta.id for meta in comparison.b.runs}:
        return []
    words = "both sides are the same run, so nothing was tested: name another with --against, as HEAD~1"
    return [Notice("same_run", words)]


def _unmeasured(comparison: Comparison, measured: Mapping[str, object]) -> list[Notice]:
    """Say of GPUs without A/A runs that defaults stand for their noise."""
    devices = {meta.device.name for meta in (*comparison.a.runs, *comparison.b.runs) if meta.device}
    lacking = sorted(devices - set(measured))
    if not lacking:
        return []
    words = f"how well {', '.join(lacking)} repeats was not measured here, defaults stand for it (ncu-lab noise)"
    return [Notice("noise_not_measured", words)]
