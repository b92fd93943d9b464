"""Option types that commands share, so that the same option reads and means the same everywhere."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ncu_lab.errors import UsageError

if TYPE_CHECKING:
    from ncu_lab.model import Problem

DEFAULT_SIZE = 2048


class Format(StrEnum):
    """How a command prints its data."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"
    CSV = "csv"


StoreOption = Annotated[
    Path | None,
    typer.Option(
        "--store",
        metavar="DIR",
        help="Folder of runs. Default: NCU_LAB_STORE, else what ncu-lab.toml names, else reports/ at the git root, "
        "else ./reports.",
        show_default=False,
        readable=False,  # checked where it is read, in our words
    ),
]
ExampleOption = Annotated[bool, typer.Option("--example", help="Read the bundled H200 runs instead of a store.")]
FormatOption = Annotated[Format, typer.Option("--format", help="How to print the data.")]
StageOption = Annotated[
    list[str] | None,
    typer.Option("--stage", metavar="ID", help="A stage of the ladder; repeatable.", show_default=False),
]
DeviceOption = Annotated[
    str | None,
    typer.Option("--device", metavar="NAME", help="Only runs on GPUs whose name has this.", show_default=False),
]
SinceOption = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="WHEN",
        help="Only runs made since a date (UTC), or in the last 12h, 7d, 4w.",
        show_default=False,
    ),
]
RawOption = Annotated[bool, typer.Option("--raw", help="Add every metric of the report, by its own name.")]
AllOption = Annotated[bool, typer.Option("--all", help="All stages of the ladder.")]
SizeOption = Annotated[
    int | None, typer.Option("--size", metavar="N", help=f"M = N = K. Default: {DEFAULT_SIZE}.", show_default=False)
]
MOption = Annotated[
    int | None, typer.Option("-m", metavar="N", help="Rows of A and C; default --size.", show_default=False)
]
NOption = Annotated[
    int | None, typer.Option("-n", metavar="N", help="Columns of B and C; default --size.", show_default=False)
]
KOption = Annotated[
    int | None, typer.Option("-k", metavar="N", help="Columns of A and rows of B; default --size.", show_default=False)
]


_UNITS_H = {"h": 1.0, "d": 24.0, "w": 7 * 24.0}


def moment_from(text: str) -> datetime:
    """Return the time that ``--since`` means: a date or time (UTC unless it says), or so many hours, days, weeks ago.

    Raises:
        UsageError: When it is neither.
    """
    now = datetime.now(UTC)
    try:
        if text[-1:] in _UNITS_H:
            return now - timedelta(hours=float(text[:-1]) * _UNITS_H[text[-1]])
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise UsageError(f'--since cannot be "{text}"', "Give a date (2026-11-30), or 12h, 7d or 4w.") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def refuse_beside(what: str, options: Mapping[str, object], hint: str = "") -> None:
    """Refuse options that mean nothing beside another, or for what is asked, rather than ignore them.

    Args:
        what: What they do not go with.
        options: Their values, by name; None, False and an empty list are as not given.
        hint: What to do.

    Raises:
        UsageError: When one is given; names the first.
    """
    for option, value in options.items():
        if value not in (None, False, [], ()):
            raise UsageError(f"{option} does not go with {what}", hint)


def refuse_below_one(size: int | None) -> None:
    """Refuse a ``--size`` of no matrix.

    Raises:
        UsageError: When the size is given and below 1.
    """
    if size is not None and size < 1:
        raise UsageError(f"--size {size} is too small", "The size must be at least 1.")


def problem_from(
    size: int | None, m: int | None = None, n: int | None = None, k: int | None = None, default: int = DEFAULT_SIZE
) -> Problem:
    """Return the problem that the size options ask for; each of ``m, n, k`` overrides ``size``.

    Raises:
        UsageError: When a size is zero or negative, or a matrix is too large.
    """
    from ncu_lab.model import Problem

    refuse_below_one(size)
    cube = default if size is None else size
    return Problem(*(cube if given is None else given for given in (m, n, k)))


def chosen_stages(named: list[str] | None, all: bool, every: Sequence[str]) -> list[str]:
    """Return the stages that ``--stage`` and ``--all`` ask for, each once.

    Raises:
        UsageError: When neither or both are given, or a named stage is unknown.
    """
    if named and all:
        raise UsageError("--stage and --all exclude each other", "--all takes every stage; give one of the two.")
    if not named and not all:
        raise UsageError("no stage was named", "Name some with --stage ID, or all with --all (ncu-lab stages).")
    if all:
        return list(every)
    from ncu_lab.gpu.registry import find_stage, load_stages

    registry = load_stages()
    return list(dict.fromkeys(find_stage(registry, id).id for id in named or ()))


def asked_for(
    named: list[str] | None, all: bool, size: int | None, m: int | None, n: int | None, k: int | None
) -> tuple[list[str], Problem]:
    """Return the stages of the whole ladder, and the problem, that the options of ``check`` and ``bench`` ask for.

    Raises:
        UsageError: As :func:`chosen_stages` and :func:`problem_from`.
    """
    return chosen_stages(named, all, stages_here() if all else ()), problem_from(size, m, n, k)


def stages_here() -> list[str]:
    """Return the stages that can run here, all of them where there is no GPU; say which are skipped and why."""
    from ncu_lab.cli.messages import complain
    from ncu_lab.gpu.compile import capability
    from ncu_lab.gpu.cutlass_build import lacking
    from ncu_lab.gpu.devices import present_arch
    from ncu_lab.gpu.registry import load_stages

    stages, arch = load_stages(), present_arch()
    if arch is None:
        return list(stages)
    able: list[str] = []
    for id, stage in stages.items():
        if not stage.runs_on(capability(arch)):
            complain(f"note: {id} is skipped: it needs {stage.needs}, the GPU here is {arch}")
        elif stage.is_reference and stage.is_compiled and (why := lacking(stage, arch)) is not None:
            complain(f"note: {id} is skipped: {why}")
        else:
            able.append(id)
    return able


def store_words(store: Path | None, example: bool = False) -> str:
    """Return the options that name a store, to follow a command that is printed for the user to type."""
    if example:
        return " --example"
    return f" --store {shlex.quote(str(store))}" if store else ""


def store_to_read(store: Path | None, example: bool, *, only_runs: bool = False) -> Path:
    """Return the folder of runs that ``--store`` and ``--example`` ask for, to be read.

    Args:
        store: See ``--store``.
        example: See ``--example``.
        only_runs: Whether the command reads nothing else: then a folder that the environment names must be there too.

    Raises:
        UsageError: When both are given.
        InputError: When one that was named is not there, is no folder, or cannot be read.
    """
    from ncu_lab.store import Store
    from ncu_lab.store.location import is_named

    folder = resolve_store(store, example)
    if store is not None or (only_runs and not example and is_named()):
        Store(folder).check_readable()
    return folder


def resolve_store(store: Path | None, example: bool) -> Path:
    """Return the folder of runs that ``--store`` and ``--example`` ask for; it need not be there yet.

    Raises:
        UsageError: When both are given.
    """
    if store is not None and example:
        raise UsageError("--store and --example exclude each other", "--example reads the bundled runs; give one.")
    from ncu_lab.store import default_store

    return default_store(store, example)
