"""What the target process is asked to do, as a JSON file that it reads and nothing else.

The process that ncu profiles knows no command line, no store and no registry: only a request.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from ncu_lab.errors import InputError
from ncu_lab.model import Expectation, Problem, SearchSpace, Stage, StageBuild, TileRule

Mode = Literal["check", "launch", "bench", "contest", "profile", "probe", "peaks"]

NVTX_PREFIX = "ncu-lab/"
"""Profiled launches of a stage lie in the NVTX range ``ncu-lab/<stage id>``."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One stage with what was built of it; a reference that is not compiled here has nothing.

    Attributes:
        stage: The stage.
        cubin: Of its fast path; of a reference that is compiled here, its shared library.
        guarded_cubin: Of its guarded path, or of that of its fallback.
        fallback: The stage whose guarded path serves what the fast path cannot, when it is another's.
    """

    stage: Stage
    cubin: str | None = None
    guarded_cubin: str | None = None
    fallback: Stage | None = None


@dataclass(frozen=True, slots=True)
class TargetRequest:
    """One job of the target process.

    Attributes:
        mode: ``check`` compares with the float64 oracle, ``launch`` launches each subject once at every shape and does
            nothing else, ``bench`` times, ``contest`` times all subjects in turns, ``profile`` launches each subject in
            its bracket, ``probe`` launches one tiny kernel in a bracket (to find out whether counters can be read),
            ``peaks`` measures what the GPU reaches (its subjects: builds of ``peaks.SOURCES``).
        problem: What every subject computes (``Stage.shape`` of it).
        subjects: In the order they run.
        samples: Timed samples of each subject, interleaved and alone (bench).
        warmup: Untimed calls before (bench, profile).
        launches: Profiled launches of each subject (profile).
        seed: Seed of the random inputs.
        shapes: Further shapes to check beside the built-in cases (check), or to launch (launch).
        repeat: Launches of the problem, and of the cases meant for it, whose results must be bit-equal; None for those
            cases alone, twenty times (check).
        quick: Check the problem and the fourteen small cases only (check).
        fast_only: Of these, check what takes the fast path only, so that no guarded cubin is needed (check).
        fastest_reference: Measure against the fastest way of the library in FP32, not the pinned one (bench).
        result: Where the result is written, as JSON.
    """

    mode: Mode
    problem: Problem
    subjects: tuple[Subject, ...]
    samples: int = 10
    warmup: int = 3
    launches: int = 1
    seed: int = 1234
    shapes: tuple[Problem, ...] = ()
    repeat: int | None = None
    quick: bool = False
    fast_only: bool = False
    fastest_reference: bool = False
    result: str = ""


def subjects_of(
    stages: Iterable[Stage], builds: Iterable[StageBuild], registry: Mapping[str, Stage]
) -> tuple[Subject, ...]:
    """Join stages with their builds and fallbacks; a library reference that is not compiled here has no cubin."""
    cubins = {(build.stage, build.variant): str(build.cubin) for build in builds}
    return tuple(
        Subject(
            stage,
            cubins.get((stage.id, "library" if stage.is_reference else "fast")),
            cubins.get((stage.id, "guarded")),
            None if stage.fallback is None else registry[stage.fallback],
        )
        for stage in stages
    )


def second_cubin(cubin: str) -> str:
    """Return where the cubin of a stage's ``second_file`` lies: beside that of its fast path."""
    return str(Path(cubin).with_name("second.cubin"))


def write(request: TargetRequest, path: Path) -> None:
    """Write a request; the file appears whole or not at all."""
    write_json(dataclasses.asdict(request), path)


def write_json(document: object, path: Path) -> None:
    """Write JSON by a temporary name and a rename."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    temporary.write_text(json.dumps(document, indent=1), encoding="utf-8")
    temporary.replace(path)


def read(path: Path) -> TargetRequest:
    """Read a request.

    Raises:
        InputError: When the file is missing or is no request.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return _request(document)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{path}: not a target request: {error}") from error


def _request(document: Mapping[str, Any]) -> TargetRequest:
    if document["mode"] not in get_args(Mode):
        raise ValueError(f"unknown mode {document['mode']!r}")
    return TargetRequest(
        **{
            **document,
            "problem": Problem(**document["problem"]),
            "subjects": tuple(_subject(item) for item in document["subjects"]),
            "shapes": tuple(Problem(**item) for item in document["shapes"]),
        }
    )


def _subject(document: Mapping[str, Any]) -> Subject:
    fallback = None if document["fallback"] is None else _stage(document["fallback"])
    return Subject(_stage(document["stage"]), document["cubin"], document["guarded_cubin"], fallback)


def _stage(document: Mapping[str, Any]) -> Stage:
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in document.items()
    }
    fields["expect"] = tuple(Expectation(**one) for one in document["expect"])
    fields["tune"] = None if document["tune"] is None else _space(document["tune"])
    return Stage(**fields)


def _space(document: Mapping[str, Any]) -> SearchSpace:
    return SearchSpace(
        **{
            **document,
            "values": {name: tuple(values) for name, values in document["values"].items()},
            "multiples": tuple(document["multiples"]),
            "rules": tuple(TileRule(**rule) for rule in document["rules"]),
        }
    )
