"""Reads ``kernels/stages.toml``, the only registry of stages, and checks every field of it."""

from __future__ import annotations

import difflib
import re
import tomllib
import typing
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from ncu_lab.errors import InputError, UsageError
from ncu_lab.gpu.expectations import read_expectations
from ncu_lab.gpu.launch_plan import PLANS
from ncu_lab.gpu.search_space import fits_kernel, read_space, with_tile
from ncu_lab.model import Dtype, Operation, Stage, Tile
from ncu_lab.resources import kernels_folder

REGISTRY = "stages.toml"

_LIBRARY_MATHS = ("pedantic", "tf32", "fp16", "bf16", "cutlass")
_FIELDS = {item.name: item for item in fields(Stage)}
_REQUIRED = tuple(name for name, item in _FIELDS.items() if item.default is MISSING and item.default_factory is MISSING)
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "dtype": typing.get_args(Dtype),
    "operation": typing.get_args(Operation),
    "library_math": _LIBRARY_MATHS,
    "plan": tuple(PLANS),
}
_NAMES: Mapping[str, str] = {"aligned": "[ABC]", "auxiliary": r"\w+"}
"""Lists of names, each with the pattern that every one of them matches."""

_tiles_in_use: list[Mapping[str, Tile]] = []
"""Tiles in the place of the registered ones, by stage; the last counts."""

_LENGTHS = {"block": 3, "multiples": 3, "grid": 2}


@contextmanager
def using_tiles(tiles: Mapping[str, Tile]) -> Iterator[None]:
    """Let stages have other tiles than the registered ones until the block ends, in all threads of this process.

    Args:
        tiles: Stage id -> tile; a stage that has no such tile, or none at all, keeps its own.
    """
    _tiles_in_use.append(tiles)
    try:
        yield
    finally:
        _tiles_in_use.pop()


def tiles_in_use() -> Mapping[str, Tile] | None:
    """Return what :func:`using_tiles` says; None outside of it."""
    return _tiles_in_use[-1] if _tiles_in_use else None


def load_stages(path: Path | None = None) -> dict[str, Stage]:
    """Return all registered stages by id, in the registry's order, with the tiles of :func:`using_tiles`.

    Args:
        path: A registry other than the bundled one; its sources are looked for beside it.

    Raises:
        InputError: When the file cannot be read or any field of it is wrong; names the file and the stage.
    """
    path = path or kernels_folder() / REGISTRY
    try:
        with path.open("rb") as file:
            document = tomllib.load(file)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not valid TOML: {error}") from error
    entries = document.get("stage")
    if not isinstance(entries, list) or not entries:
        raise InputError(f"{path}: no stages in it", "Each stage is one [[stage]] table.")
    stages: dict[str, Stage] = {}
    for number, entry in enumerate(entries, start=1):
        stage = _stage(entry, number, path)
        if stage.id in stages:
            raise InputError(f'{path}: stage "{stage.id}" is registered twice')
        stages[stage.id] = stage
    for stage in stages.values():
        _check_links(stage, stages, path)
    return {id: _with_tile_in_use(stage) for id, stage in stages.items()}


def _with_tile_in_use(stage: Stage) -> Stage:
    tile = (tiles_in_use() or {}).get(stage.id)
    return with_tile(stage, tile) if tile is not None and stage.tune and fits_kernel(stage, tile) else stage


def find_stage(stages: Mapping[str, Stage], id: str) -> Stage:
    """Return the stage with this id.

    Raises:
        UsageError: When there is none; suggests the nearest.
    """
    if id in stages:
        return stages[id]
    near = difflib.get_close_matches(id, stages, n=1, cutoff=0.4)
    meant = f" Did you mean {near[0]}?" if near else ""
    raise UsageError(f'there is no stage "{id}".{meant} (ncu-lab stages lists all)')


def _stage(entry: object, number: int, path: Path) -> Stage:
    if not isinstance(entry, dict):
        raise InputError(f"{path}: stage {number} is no table", "Each stage is one [[stage]] table.")
    id = entry.get("id")
    where = f'{path}: stage "{id}"' if isinstance(id, str) and id else f"{path}: stage {number}"
    for name in _REQUIRED:
        if not entry.get(name):
            raise InputError(f'{where}: "{name}" is missing')
    values: dict[str, Any] = {}
    for name, value in entry.items():
        if name not in _FIELDS:
            near = difflib.get_close_matches(name, _FIELDS, n=1)
            raise InputError(f'{where}: unknown key "{name}"', f'Did you mean "{near[0]}"?' if near else "")
        if name != "tune":
            values[name] = _value(name, value, where)
    if "tune" in entry:
        values["tune"] = read_space(entry["tune"], where, values.get("tile", {}))
    stage = Stage(**values)
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", stage.id):
        raise InputError(f"{where}: an id is made of a-z, 0-9 and -")
    _check_source(stage, where, path.parent)
    return stage


def _value(name: str, value: object, where: str) -> object:
    """Return the value of one field as the model has it, after checking its type and range."""
    if name in _CHOICES:
        if value not in _CHOICES[name]:
            raise InputError(f"{where}: {name} = {value!r} is unknown", f"Known: {', '.join(_CHOICES[name])}.")
        return value
    if name in _LENGTHS:
        kind = str if name == "grid" else int
        if not isinstance(value, list) or len(value) != _LENGTHS[name] or not all(_is(item, kind) for item in value):
            raise InputError(f"{where}: {name} must be a list of {_LENGTHS[name]} {kind.__name__} values")
        if kind is int and min(value) < 1:
            raise InputError(f"{where}: {name} must be at least 1 everywhere")
        if kind is str and sorted(value) != ["m", "n"]:
            raise InputError(f'{where}: grid must be ["n", "m"] or ["m", "n"]')
        return tuple(value)
    if name in _NAMES:
        if not isinstance(value, list) or not all(
            _is(item, str) and re.fullmatch(_NAMES[name], item) for item in value
        ):
            raise InputError(f"{where}: {name} must be a list of names that match {_NAMES[name]}")
        return tuple(value)
    if name == "expect":
        return read_expectations(value, where)
    if name == "tile":
        if not isinstance(value, dict) or not all(_is(size, int) and size >= 1 for size in value.values()):
            raise InputError(f"{where}: tile must be a table of positive integers")
        return value
    default = _FIELDS[name].default
    expected = str if default is MISSING or default is None else type(default)
    if not _is(value, expected):
        raise InputError(f"{where}: {name} must be of type {expected.__name__}, not {value!r}")
    return value


def _is(value: object, kind: type) -> bool:
    """Whether a value is of exactly this type: true is no integer here."""
    return type(value) is kind


def _check_source(stage: Stage, where: str, folder: Path) -> None:
    """A kernel needs a source, an entry and a tile; a reference needs a name pattern and no source."""
    if stage.is_reference:
        if stage.entry or bool(stage.file) != (stage.library_math == "cutlass"):
            raise InputError(f"{where}: a library reference has no file and no entry, one of CUTLASS a file")
        if stage.file and not (folder / stage.file).is_file():
            raise InputError(f"{where}: its source {folder / stage.file} does not exist")
        try:
            re.compile(stage.kernel_pattern)
        except re.error as error:
            raise InputError(f"{where}: kernel_pattern is no regular expression: {error}") from error
        if not stage.kernel_pattern:
            raise InputError(f"{where}: a library reference needs a kernel_pattern that proves its precision")
        return
    if not stage.file or not stage.entry:
        raise InputError(f"{where}: a kernel needs file and entry")
    if not (folder / stage.file).is_file():
        raise InputError(f"{where}: its source {folder / stage.file} does not exist")
    if stage.second_file and not (folder / stage.second_file).is_file():
        raise InputError(f"{where}: its source {folder / stage.second_file} does not exist")
    if stage.second_level not in range(4):
        raise InputError(f"{where}: second_level must be 0 to 3, a level of ptxas")
    if not {"BM", "BN"} <= set(stage.tile):
        raise InputError(f"{where}: tile needs BM and BN, the part of C that one block computes")
    threads = stage.block[0] * stage.block[1] * stage.block[2]
    if threads > 1024:
        raise InputError(f"{where}: a block of {threads} threads exceeds CUDA's limit of 1024")
    if (stage.multiples != (1, 1, 1) or stage.plan) and not stage.is_complete:
        raise InputError(
            f"{where}: its fast path is choosy (multiples {stage.multiples}) but has_guarded is false and it has no "
            "fallback, so some shapes have no path"
        )
    if stage.has_guarded and stage.fallback is not None:
        raise InputError(f"{where}: has_guarded and fallback exclude each other")


def _check_links(stage: Stage, stages: Mapping[str, Stage], path: Path) -> None:
    for name, target in (("predecessor", stage.predecessor), ("reference", stage.reference)):
        if target is not None and target not in stages:
            raise InputError(f'{path}: stage "{stage.id}": its {name} "{target}" is not registered')
    if stage.reference is not None and not stages[stage.reference].is_reference:
        raise InputError(f'{path}: stage "{stage.id}": its reference "{stage.reference}" is no library reference')
    if stage.fallback is not None and not (stage.fallback in stages and stages[stage.fallback].has_guarded):
        raise InputError(f'{path}: stage "{stage.id}": its fallback "{stage.fallback}" has no guarded path')
    for one in stage.expect:
        if one.against is not None and one.against not in stages:
            raise InputError(
                f'{path}: stage "{stage.id}": {one.key} is expected against "{one.against}", which is not registered'
            )
        if one.against == stage.id or (one.key == "step" and stage.predecessor is None):
            raise InputError(f'{path}: stage "{stage.id}": {one.key} is expected against no other stage')
    if stage.predecessor == stage.id:
        raise InputError(f'{path}: stage "{stage.id}" is its own predecessor')
