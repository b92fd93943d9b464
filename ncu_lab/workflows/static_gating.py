"""The gate that needs no GPU: compiles the stages of a commit and of the working tree, and compares what came of it."""

from __future__ import annotations

import os
import re
import tempfile
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from ncu_lab.analyze.build_changes import Compiled, build_changes
from ncu_lab.analyze.gate import gate, unmatched, unmatched_notices
from ncu_lab.collect.revisions import Commit, Repository, repository_of
from ncu_lab.errors import InputError, UsageError
from ncu_lab.gpu.compile import capability, default_arch
from ncu_lab.gpu.registry import REGISTRY, find_stage, load_stages
from ncu_lab.model import ProgressEvent, Reporter, Stage, StageBuild, silent
from ncu_lab.model.gating import Change, GateResult, Judged, Place
from ncu_lab.model.policy import GATED_BUILD_UNITS, Policy
from ncu_lab.workflows.building import build_variants, describe_build, stopping

KERNELS = "kernels"
"""The folder of a repository that has its kernels and their registry."""

_PLACE = re.compile(r"(?P<file>[\w./+-]+\.cuh?):(?P<line>\d+):")
_Key = tuple[str, str]
"""Stage id and architecture."""

_Made = Mapping[_Key, "list[StageBuild] | InputError"]
"""What compiling gave: the variants of a stage, or why it does not compile."""


@dataclass(frozen=True, slots=True)
class _Sources:
    """The kernels of one side: where they are, and what is registered there."""

    folder: Path
    stages: Mapping[str, Stage]


def gate_static(
    here: Path,
    policy: Policy,
    *,
    against: str | None = None,
    stages: Sequence[str] = (),
    arches: Sequence[str] = (),
    report: Reporter = silent,
) -> GateResult:
    """Compile the stages of a commit and of the working tree, and judge what they differ in.

    The files of the commit are read with git and compiled in a temporary folder by the compiler of this machine; the
    checkout stays as it is.

    Args:
        here: A folder in the repository.
        policy: What is allowed.
        against: A git revision; by default where HEAD and the default branch parted.
        stages: Only these stages.
        arches: Architectures to compile for; that of the GPU present, else sm_90, by default.
        report: Told of each stage.

    Returns:
        What the policy says; a stage that does not compile any more is a violation, one that did not compile before is
        missing.

    Raises:
        InputError: When there is no repository, commit or registry to compare with.
        UsageError: When neither side has a stage asked for.
        EnvironmentLacksError: When the compiler is missing.
    """
    repository = _repository(here)
    commit = repository.commit(against) if against else repository.merge_base()
    targets = tuple(dict.fromkeys(arches)) or (default_arch(),)
    with tempfile.TemporaryDirectory(prefix="ncu-lab-") as work:
        folder = repository.export(commit, KERNELS, Path(work))
        a = _Sources(folder, _stages_of_commit(folder, commit))
        b = _Sources(repository.root / KERNELS, load_stages(repository.root / KERNELS / REGISTRY))
        wanted = _wanted(stages, a, b)
        made_a = _build(a, wanted, targets, commit.hash[:7], report)
        made_b = _build(b, wanted, targets, "", report)
    judged: list[Judged] = []
    compared: list[Change] = []
    for key in made_b:
        judged += _judged(key, made_a.get(key), made_b[key], a, b, policy, len(targets) > 1, compared)
    # An opcode that no code has is none the less guarded: only rules of other figures can be in vain.
    lost = () if stages else unmatched(compared, policy, GATED_BUILD_UNITS)
    return GateResult(
        a=commit.words,
        b="working tree",
        judged=(*judged, *(one for one in lost if one.fails)),
        added=tuple(dict.fromkeys(id for id, _ in made_b if id not in a.stages)),
        removed=tuple(dict.fromkeys(id for id, _ in made_a if id not in b.stages)),
        policy=policy.file,
        notices=unmatched_notices(lost),
    )


def _repository(here: Path) -> Repository:
    """Return the repository of the kernels here; never that of ncu-lab itself, unless this is it.

    Raises:
        InputError: When there is none with kernels.
    """
    own = repository_of(here)
    if own is not None and (own.root / KERNELS / REGISTRY).is_file():
        return own
    where = f"{own.root} has no {KERNELS}/{REGISTRY}" if own else f"{here} is in no git repository"
    raise InputError(
        f"{where}: there is nothing to compare with",
        f"Run it in a clone that has {KERNELS}/{REGISTRY}; runs and files need no git: ncu-lab diff A B.",
    )


def _stages_of_commit(folder: Path, commit: Commit) -> Mapping[str, Stage]:
    try:
        return load_stages(folder / REGISTRY)
    except InputError as error:
        why = error.message.removeprefix(f"{folder / REGISTRY}: ")
        raise InputError(
            f"{commit.words}: {KERNELS}/{REGISTRY} cannot be used: {why}", "Name another commit: --against REV."
        ) from error


def _wanted(asked: Sequence[str], a: _Sources, b: _Sources) -> tuple[str, ...]:
    """Return the ids of the kernel stages to compile, those of the working tree first.

    Raises:
        UsageError: When one asked for is on neither side, or nothing is left.
    """
    registered = {**b.stages, **{id: stage for id, stage in a.stages.items() if id not in b.stages}}
    ids = [find_stage(registered, id).id for id in asked] or list(registered)
    kernels = tuple(id for id in dict.fromkeys(ids) if not registered[id].is_reference)
    if not kernels:
        raise UsageError(f"{', '.join(ids)}: library references have nothing to compile")
    return kernels


def _build(sources: _Sources, ids: Iterable[str], arches: Sequence[str], of: str, report: Reporter) -> _Made:
    """Compile the stages that one side has, several at a time; a stage that does not compile stops no other."""
    stages = [sources.stages[id] for id in ids if id in sources.stages]
    stop = threading.Event()
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool, stopping(pool, stop):
        waiting = {
            (stage.id, arch): pool.submit(
                build_variants, stage, sources.stages, arch, kernels_dir=sources.folder, stop=stop
            )
            for stage in stages
            for arch in arches
            if stage.runs_on(capability(arch))
        }
        made: dict[_Key, list[StageBuild] | InputError] = {}
        for (id, arch), future in waiting.items():
            report(ProgressEvent("build", id, "start", of or arch))
            try:
                builds = future.result()
            except InputError as error:
                made[id, arch] = error
                report(ProgressEvent("build", id, "failed", f"{of} {error.message}".strip()))
                continue
            made[id, arch] = builds
            seconds = sum(build.seconds for build in builds if not build.cached)
            report(ProgressEvent("build", id, "done", f"{describe_build(builds[0])}  {of}".rstrip(), seconds=seconds))
    return made


def _judged(
    key: _Key,
    before: list[StageBuild] | InputError | None,
    after: list[StageBuild] | InputError,
    a: _Sources,
    b: _Sources,
    policy: Policy,
    several: bool,
    compared: list[Change],
) -> list[Judged]:
    """Judge one stage for one architecture; one that only the working tree has is judged by its compiling alone.

    What was compared of it is added to ``compared``, gated or not.
    """
    id, arch = key
    stage = b.stages[id]
    name = f"{id} {arch}" if several else id
    whole = Change(name, id, stage.entry, "build", "", "exact", None, None, place=kernel_place(b.folder, stage))
    if isinstance(after, InputError):
        why = after.message.removeprefix(f"stage {id} does not compile: ")
        failed = replace(whole, place=place_of_error(why) or whole.place)
        return [Judged(failed, "violation", None, f"does not compile: {why}", fails=True)]
    if before is None:
        return []
    if isinstance(before, InputError):
        return [Judged(whole, "missing", None, "did not compile before", fails=policy.missing == "fail")]
    earlier = {build.variant: build for build in before}
    judged: list[Judged] = []
    for build in after:
        kernel = name if build.variant == "fast" else f"{name} ({build.variant})"
        if build.variant not in earlier:
            change = replace(whole, kernel=kernel)
            judged.append(Judged(change, "missing", None, "is new", fails=policy.missing == "fail"))
            continue
        old = Compiled(a.stages[id], earlier[build.variant])
        changes = build_changes(kernel, old, Compiled(stage, build), whole.place)
        compared += changes
        judged += gate(changes, policy)
    return judged


def kernel_place(folder: Path, stage: Stage) -> Place:
    """Return where the kernel of a stage is defined; the first line of its file where its name is not found."""
    lines = (folder / stage.file).read_text(encoding="utf-8", errors="replace").splitlines()
    defined = re.compile(rf"\b{re.escape(stage.entry)}\s*\(")
    line = next((number for number, words in enumerate(lines, start=1) if defined.search(words)), 1)
    return Place(f"{KERNELS}/{stage.file}", line)


def place_of_error(message: str) -> Place | None:
    """Return the place that a compiler's message begins with: ``kernels/gemm/04_2d.cu:12: …``."""
    found = _PLACE.match(message)
    return None if found is None else Place(found["file"], int(found["line"]))
