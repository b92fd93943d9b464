"""The tiles that a stage may be built with: read from the registry, listed, judged before anything is compiled. Pure.

A tile is refused by what is known without a compiler: the kernel's own assumptions (its ``static_assert`` as rules of
the registry), CUDA's limits, and whether the problem asked for would take the fast path at all.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from ncu_lab.errors import InputError
from ncu_lab.gpu.arithmetic import evaluate, names
from ncu_lab.model import Architecture, Candidate, Problem, SearchSpace, Stage, StageBuild, Tile, TileRule
from ncu_lab.model.architecture import MAX_BLOCK_THREADS, MAX_REGISTERS, REGISTERS_PER_SM, WARP_THREADS

STATIC_SHARED_BYTES = 48 * 1024
"""Static shared memory of a block on every GPU: CUDA C++ Programming Guide, shared memory (more must be asked for)."""

_SEED = 20261130
"""Of the choice among more tiles than the budget allows: the same one every time."""


def read_space(value: object, where: str, tile: Mapping[str, int]) -> SearchSpace:
    """Return the search space of one stage from its table ``tune``, after checking every part of it.

    Args:
        value: The table.
        where: Names file and stage, for messages.
        tile: The registered tile.

    Raises:
        InputError: When a key is unknown or missing, or an expression is no arithmetic on the tile's sizes.
    """
    where = f"{where}: tune"
    if not isinstance(value, dict):
        raise InputError(f"{where} must be a table")
    known = [one.name for one in fields(SearchSpace)]
    if unknown := sorted(set(value) - set(known)):
        raise InputError(f'{where}: unknown key "{unknown[0]}"', f"Known: {', '.join(known)}.")
    lacking = [name for name in ("values", "threads", "shared_bytes", "registers", "multiples") if name not in value]
    if lacking:
        raise InputError(f'{where}: "{lacking[0]}" is missing')
    values = {name: _values(name, found, where) for name, found in _table(value["values"], "values", where).items()}
    derived = {name: str(found) for name, found in _table(value.get("derived", {}), "derived", where).items()}
    multiples = value["multiples"]
    if not isinstance(multiples, list) or len(multiples) != 3:
        raise InputError(f"{where}: multiples must be a list of three expressions, for m, n and k")
    space = SearchSpace(
        values=values,
        threads=str(value["threads"]),
        shared_bytes=str(value["shared_bytes"]),
        registers=str(value["registers"]),
        multiples=(str(multiples[0]), str(multiples[1]), str(multiples[2])),
        derived=derived,
        rules=tuple(_rule(one, where) for one in value.get("rules", ())),
        adopted=value.get("adopted", False) is True,
    )
    _check_names(space, tile, where)
    return space


def _table(value: object, name: str, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{where}: {name} must be a table")
    return value


def _values(name: str, found: object, where: str) -> tuple[int, ...]:
    if not isinstance(found, list) or not found or not all(type(one) is int and one >= 1 for one in found):
        raise InputError(f"{where}: values of {name} must be a list of positive integers")
    return tuple(found)


def _rule(value: object, where: str) -> TileRule:
    if not isinstance(value, dict) or set(value) != {"needs", "why"}:
        raise InputError(f'{where}: a rule is a table of "needs" and "why"')
    return TileRule(str(value["needs"]), str(value["why"]))


def _check_names(space: SearchSpace, tile: Mapping[str, int], where: str) -> None:
    if stray := sorted({*space.values, *space.derived} - set(tile)):
        raise InputError(f"{where}: {stray[0]} is no size of the stage's tile", f"It has {', '.join(tile)}.")
    expressions = [space.threads, space.shared_bytes, space.registers, *space.multiples]
    expressions += [*space.derived.values(), *(rule.needs for rule in space.rules)]
    for expression in expressions:
        try:
            unknown = sorted(names(expression) - set(tile))
        except ValueError as error:
            raise InputError(f"{where}: {error}") from error
        if unknown:
            raise InputError(f'{where}: "{expression}" names {unknown[0]}, which is no size of the stage\'s tile')


def label_of(tile: Tile) -> str:
    """Return a tile in one word: ``BM128-BN128-BK16-TM8-TN8``."""
    return "-".join(f"{name}{size}" for name, size in tile.items())


def with_tile(stage: Stage, tile: Tile) -> Stage:
    """Return a stage with another tile of its search space: block and multiples follow from it.

    Raises:
        ValueError: When the tile has no whole number of threads.
    """
    space = _space(stage)
    m, n, k = (evaluate(one, tile) for one in space.multiples)
    return replace(stage, tile=dict(tile), block=(evaluate(space.threads, tile), 1, 1), multiples=(m, n, k))


def as_built(stage: Stage, build: StageBuild) -> Stage:
    """Return a stage with the tile that a build of it was made with, as its macros say."""
    macros = dict(flag[2:].partition("=")[::2] for flag in build.flags if flag.startswith("-D"))
    tile = {name: int(macros.get(name, size)) for name, size in stage.tile.items()}
    return stage if stage.tune is None or tile == stage.tile else with_tile(stage, tile)


def candidates(stage: Stage, problem: Problem, architecture: Architecture) -> list[Candidate]:
    """Return every tile of a stage's space, the registered one first; a refused one says why.

    Args:
        stage: A stage with a search space.
        problem: What it really computes (``stage.shape`` of what was asked).
        architecture: The SM that it is to run on.
    """
    found: list[Candidate] = []
    for tile in _tiles(stage):
        why = refusal(stage, tile, problem, architecture)
        found.append(Candidate(label_of(tile), tile, "rejected" if why else "untried", why))
    return found


def _tiles(stage: Stage) -> Iterator[dict[str, int]]:
    space = _space(stage)
    yield dict(stage.tile)
    for sizes in itertools.product(*space.values.values()):
        tile = {**stage.tile, **dict(zip(space.values, sizes, strict=True))}
        tile |= {name: evaluate(expression, tile) for name, expression in space.derived.items()}
        if tile != stage.tile:
            yield tile


def refusal(stage: Stage, tile: Tile, problem: Problem, architecture: Architecture) -> str:
    """Say why a tile cannot be built, launched or reached by this problem; empty when nothing speaks against it."""
    return _broken_rule(stage, tile) or _too_large(stage, tile, architecture) or misfit(stage, tile, problem)


def fits_kernel(stage: Stage, tile: Tile) -> bool:
    """Whether the kernel compiles with a tile: it has the sizes of the stage and keeps all rules."""
    return set(tile) == set(stage.tile) and not _broken_rule(stage, tile)


def misfit(stage: Stage, tile: Tile, problem: Problem) -> str:
    """Say why a problem would not take the fast path of a tile; empty when it would."""
    for name, size, expression in zip("mnk", (problem.m, problem.n, problem.k), _space(stage).multiples, strict=True):
        if size % (multiple := evaluate(expression, tile)):
            return f"{name} = {size} is no multiple of {multiple}: the guarded path would run"
    return ""


def _broken_rule(stage: Stage, tile: Tile) -> str:
    for rule in _space(stage).rules:
        try:
            kept = evaluate(rule.needs, tile)
        except ValueError:
            kept = 0  # a step of no thread, or of a part of one
        if not kept:
            return f"{rule.why} ({rule.needs})"
    return ""


def _too_large(stage: Stage, tile: Tile, architecture: Architecture) -> str:
    space = _space(stage)
    threads, shared = evaluate(space.threads, tile), evaluate(space.shared_bytes, tile)
    registers = evaluate(space.registers, tile)
    if threads > MAX_BLOCK_THREADS:
        return f"{threads} threads a block, CUDA allows {MAX_BLOCK_THREADS}"
    if threads % WARP_THREADS:
        return f"{threads} threads are no whole warps"
    most = min(STATIC_SHARED_BYTES, architecture.max_block_shared)
    if shared > most:
        return f"{shared} bytes of static shared memory, a block has {most}"
    if registers > MAX_REGISTERS:
        return f"{registers} registers for sums and fragments alone, a thread has {MAX_REGISTERS}"
    if registers * threads > REGISTERS_PER_SM:
        return f"{registers} registers for sums and fragments of {threads} threads, an SM has {REGISTERS_PER_SM}"
    return ""


def within_budget(found: list[Candidate], budget: int | None) -> tuple[list[Candidate], int]:
    """Return the candidates to go on with, and how many that can be built were left out.

    More than the budget are thinned at random, always by the same choice; the registered tile, the first, stays.
    Refused ones cost nothing and stay too.
    """
    usable = [one for one in found[1:] if one.outcome != "rejected"]
    room = len(usable) if budget is None else max(0, budget - 1)
    if len(usable) <= room:
        return found, 0
    chosen = {one.label for one in random.Random(_SEED).sample(usable, room)}
    kept = [one for one in found if one is found[0] or one.outcome == "rejected" or one.label in chosen]
    return kept, len(usable) - room


def _space(stage: Stage) -> SearchSpace:
    if stage.tune is None:
        raise ValueError(f"stage {stage.id} has no search space")
    return stage.tune
