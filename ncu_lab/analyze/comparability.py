"""What of two runs can be compared: their fingerprints, and what a difference between those forbids.

| where they differ | not comparable |
|---|---|
| model of GPU, number of SMs, problem, data type | all but what the compiler decides |
| compute capability, architecture or flags that code is compiled for | nothing is |
| driver | times |
| version of ncu | durations under the profiler, counters |
| clock or cache control of ncu | durations under the profiler, counters that vary |
| launch shape, where the problem of either is not known | all but what the compiler decides |

Of CUDA, nvcc, sections, another version of ncu-lab, an edited tree or a run cut short one is told, no more: they are
part of what changed, or show in the values themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ncu_lab.model import LaunchSummary, Problem, Run, RunMeta, Stage
from ncu_lab.model.comparison import Comparability, Difference, Fingerprint, QuantityClass

_TIMES: tuple[QuantityClass, ...] = ("time", "profiled_time")
_COUNTERS: tuple[QuantityClass, ...] = ("noisy", "exact")
_MEASURED: tuple[QuantityClass, ...] = (*_TIMES, *_COUNTERS)
_ALL: tuple[QuantityClass, ...] = (*_MEASURED, "static")
_UNDER_PROFILER: tuple[QuantityClass, ...] = ("profiled_time", "noisy")

_RULES: tuple[tuple[str, str, str, tuple[QuantityClass, ...]], ...] = (
    ("device", "other_device", "GPU", _MEASURED),
    ("compute_capability", "other_architecture", "compute capability", _ALL),
    ("sm_count", "other_sm_count", "number of SMs", _MEASURED),
    ("problem", "other_problem", "problem", _MEASURED),
    ("arch", "other_target", "target of the compiler", _ALL),
    ("flags", "other_flags", "set of compiler flags", _ALL),
    ("driver", "other_driver", "driver", _TIMES),
    ("ncu", "other_ncu", "version of ncu", ("profiled_time", *_COUNTERS)),
    ("clock_control", "other_clock_control", "clock control", _UNDER_PROFILER),
    ("cache_control", "other_cache_control", "cache control", _UNDER_PROFILER),
    ("sections", "other_sections", "choice of sections", ()),
    ("cuda", "other_cuda", "version of CUDA", ()),
    ("nvcc", "other_nvcc", "version of nvcc", ()),
    ("unit", "other_unit", "GPU of the same model", ()),
    ("ncu_lab", "other_ncu_lab", "version of ncu-lab", ()),
    ("schema", "other_schema", "schema", ()),
    ("status", "other_status", "status of the run", ()),
)
"""Field of the fingerprint, code, words, and what a difference forbids."""

_TOLD = ("device", "driver", "clock_control", "problem", "ncu")
"""Fields of which it is told when only one side knows them."""


def fingerprint(run: Run, stages: Mapping[str, Stage] | None = None) -> Fingerprint:
    """Return what must agree before a run can be compared with another.

    Args:
        run: The run.
        stages: The registry: it knows the types of data.
    """
    subjects = run.timings["subject"].value_counts(sort=False)
    samples = tuple((str(subject), int(count)) for subject, count in subjects.items())
    return replace(fingerprint_of(run.meta, stages), samples=samples)


def fingerprint_of(meta: RunMeta, stages: Mapping[str, Stage] | None = None) -> Fingerprint:
    """Return what listings of runs tell of it: all but the number of samples."""
    device, environment = meta.device, meta.environment
    arch, flags = _flags(environment.nvcc_flags)
    registered = stages or {}
    return Fingerprint(
        run=meta.id,
        device=device.name if device else None,
        compute_capability=device.compute_capability if device else None,
        sm_count=device.sm_count if device else None,
        unit=device.uuid_hash if device else None,
        driver=environment.driver,
        cuda=environment.cuda,
        ncu=environment.ncu,
        nvcc=environment.nvcc,
        arch=arch,
        flags=flags,
        clock_control=environment.clock_control,
        cache_control=environment.cache_control,
        sections=tuple(sorted(environment.sections)) or None,
        problem=_problem(meta.problem),
        dtypes=tuple((one, registered[one].dtype) for one in meta.stages if one in registered),
        ncu_lab=environment.ncu_lab,
        schema=meta.schema,
        status=meta.status,
        dirty=meta.git.dirty,
    )


def _flags(flags: Iterable[str]) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
    """Divide the compiler's flags in those that name the architecture and the others, without definitions."""
    known = tuple(flags)
    if not known:
        return None, None
    arch = tuple(sorted(one for one in known if "arch=" in one or "code=" in one))
    others = tuple(sorted(one for one in known if one not in arch and not one.startswith(("-D", "-I"))))
    return arch or None, others


def _problem(problem: Problem | None) -> str | None:
    if problem is None:
        return None
    plain = (problem.alpha, problem.beta) == (1.0, 0.0)
    return problem.label if plain else f"{problem.label} (alpha {problem.alpha:g}, beta {problem.beta:g})"


def compare_fingerprints(
    a: Fingerprint, b: Fingerprint, *, stage_a: str | None = None, stage_b: str | None = None, force: bool = False
) -> Comparability:
    """Say what of two runs can be compared, for one stage of each.

    Args:
        a: Of the run to compare with.
        b: Of the run that is compared.
        stage_a: The stage that is meant of A; it tells the type of data.
        stage_b: Likewise of B.
        force: Whether all is compared anyhow.
    """
    differences, unknown = [], []
    for name, code, what, forbids in _RULES:
        before, after = getattr(a, name), getattr(b, name)
        if before is None or after is None:
            if before is not after and name in _TOLD:
                unknown.append(what)
        elif before != after:
            differences.append(Difference(code, what, *_told(before, after), forbids))
    types = dict(a.dtypes).get(stage_a or ""), dict(b.dtypes).get(stage_b or "")
    if types[0] and types[1] and types[0] != types[1]:
        differences.append(Difference("other_dtype", "type of data", types[0], types[1], _MEASURED))
    if a.dirty or b.dirty:
        states = ["edited" if one.dirty else "clean" for one in (a, b)]
        differences.append(Difference("edited_tree", "state of the tree", states[0], states[1]))
    same_model = a.device is not None and a.device == b.device
    other_unit = same_model and a.unit is not None and b.unit is not None and a.unit != b.unit
    return Comparability(tuple(differences), tuple(unknown), other_unit, force)


def with_shapes(
    found: Comparability, a: LaunchSummary, b: LaunchSummary, a_of: Fingerprint, b_of: Fingerprint
) -> Comparability:
    """Add that two launches have other shapes, where it is not known that they are of one problem.

    Between runs of one problem another grid is another tile: a change of the kernel. Of files nobody knows the problem,
    and a kernel that is launched for larger matrices has larger grids, too.

    Args:
        found: What of the runs can be compared.
        a: The launch that speaks for A.
        b: Likewise for B.
        a_of: The fingerprint of A's run.
        b_of: Likewise of B's.
    """
    if (a_of.problem is not None and b_of.problem is not None) or (a.grid, a.block) == (b.grid, b.block):
        return found
    told = _shapes(a, b), _shapes(b, a)
    side = "either" if a_of.problem is b_of.problem else "A" if a_of.problem is None else "B"
    because = f"the problem of {side} is not known"
    shape = Difference("other_shape", "launch shape", *told, _MEASURED, because)
    return replace(found, differences=(*found.differences, shape))


def _shapes(one: LaunchSummary, other: LaunchSummary) -> str:
    """``grid 32×32``: as far as the other has another."""
    parts = [("grid", one.grid, other.grid), ("block", one.block, other.block)]
    return ", ".join(f"{name} {_shape(own)}" for name, own, others in parts if own != others)


def _shape(sizes: tuple[int, ...]) -> str:
    """``16×16``: without the ones at the end."""
    kept = list(sizes)
    while len(kept) > 1 and kept[-1] == 1:
        kept.pop()
    return "×".join(map(str, kept))


def _told(before: object, after: object) -> tuple[str, str]:
    """Write two values that differ; of two sets, what only one has."""
    if isinstance(before, tuple) and isinstance(after, tuple) and all(isinstance(one, str) for one in before + after):
        only_a = [one for one in before if one not in after]
        only_b = [one for one in after if one not in before]
        return " ".join(only_a) or "none more", " ".join(only_b) or "none more"
    if isinstance(before, tuple) and isinstance(after, tuple):
        return ".".join(map(str, before)), ".".join(map(str, after))
    return str(before), str(after)
