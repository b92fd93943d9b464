"""Reads the ``[[stage.expect]]`` tables of ``kernels/stages.toml`` and checks every field of them."""

from __future__ import annotations

import difflib
import math
import typing
from collections.abc import Mapping

from ncu_lab.errors import InputError
from ncu_lab.metrics import METRICS, STALL_ORDER
from ncu_lab.model import BUILD_UNITS, TIMED_UNITS, Expectation, Origin, Relation
from ncu_lab.model.expectations import BUILD, PER_INSTRUCTION, SASS, STALL

_RELATIONS: tuple[Relation, ...] = typing.get_args(Relation)
_ORIGINS: tuple[Origin, ...] = typing.get_args(Origin)
_OTHERS = ("key", "within", "against", "min_size", "per_instruction", "kernel", "source", "derivation")
_PLAIN = (*METRICS, *TIMED_UNITS)


def read_expectations(entries: object, where: str) -> tuple[Expectation, ...]:
    """Return the expectations of one stage, in the order in which they are declared.

    Args:
        entries: What TOML made of ``[[stage.expect]]``.
        where: File and stage, for messages.

    Raises:
        InputError: When anything about them is wrong; names file, stage and expectation.
    """
    if not isinstance(entries, list):
        raise InputError(f"{where}: expect must be tables, [[stage.expect]]")
    found: list[Expectation] = []
    for number, entry in enumerate(entries, start=1):
        one = _expectation(entry, f"{where}: expectation {number}")
        if any(_subject(one) == _subject(other) for other in found):
            raise InputError(f"{where}: expectation {number} ({one.key}) is declared twice")
        found.append(one)
    return tuple(found)


def _subject(one: Expectation) -> tuple[object, ...]:
    return one.key, one.against, one.low, one.high, one.min_size, one.kernel


def _expectation(entry: object, where: str) -> Expectation:
    if not isinstance(entry, dict):
        raise InputError(f"{where} is no table")
    for name in entry:
        if name not in (*_RELATIONS, *_OTHERS):
            close = difflib.get_close_matches(name, (*_RELATIONS, *_OTHERS), n=1)
            raise InputError(f'{where}: unknown key "{name}"', f'Did you mean "{close[0]}"?' if close else "")
    key = _key(entry.get("key"), where)
    where = f"{where} ({key})"
    source, derivation = _origin(entry.get("source"), where), entry.get("derivation")
    if not isinstance(derivation, str) or not derivation.strip():
        raise InputError(f"{where}: derivation is missing", "One sentence with the arithmetic behind the number.")
    against, min_size = entry.get("against"), entry.get("min_size", 1)
    if against is not None and type(against) is not str:
        raise InputError(f"{where}: against must be the id of a stage, not {against!r}")
    if type(min_size) is not int or min_size < 1:
        raise InputError(f"{where}: min_size must be a positive integer, not {min_size!r}")
    per_instruction = entry.get("per_instruction", False)
    if type(per_instruction) is not bool or (per_instruction and key not in PER_INSTRUCTION):
        raise InputError(f"{where}: per_instruction is true or false, and of {', '.join(PER_INSTRUCTION)}")
    kernel = entry.get("kernel", "")
    if type(kernel) is not str or (key.startswith((BUILD, SASS)) and kernel):
        raise InputError(f"{where}: kernel is the name of the one that runs; what is built is always that of entry")
    relation, low, high, near, within = _bounds(entry, where)
    return Expectation(
        *(key, relation, low, high, source, derivation, near, within, against, min_size, per_instruction, kernel)
    )


def _origin(value: object, where: str) -> Origin:
    for origin in _ORIGINS:
        if value == origin:
            return origin
    raise InputError(f"{where}: source = {value!r} is unknown", f"Known: {', '.join(_ORIGINS)}.")


def _key(key: object, where: str) -> str:
    """Check that a key names a quantity that ncu-lab knows."""
    if not isinstance(key, str):
        raise InputError(f"{where}: key is missing")
    for prefix, known in ((STALL, STALL_ORDER), (BUILD, tuple(BUILD_UNITS))):
        if key.startswith(prefix):
            if key.removeprefix(prefix) not in known:
                raise InputError(f'{where}: unknown key "{key}"', f"Known after {prefix} are {', '.join(known)}.")
            return key
    if key.startswith(SASS) and key != SASS:
        return key
    if key not in _PLAIN:
        close = difflib.get_close_matches(key, _PLAIN, n=1)
        hint = f"Did you mean {close[0]}?" if close else "Keys are in docs/metrics.md."
        raise InputError(f'{where}: unknown key "{key}"', hint)
    return key


Bounds = tuple[Relation, float | None, float | None, float | None, float | None]


def _bounds(entry: Mapping[str, object], where: str) -> Bounds:
    """Return relation, low, high, near and within."""
    named = [name for name in _RELATIONS if name in entry]
    if len(named) != 1:
        raise InputError(f"{where}: needs exactly one of {', '.join(_RELATIONS)}")
    relation = named[0]
    value = entry[relation]
    if "within" in entry and relation != "near":
        raise InputError(f"{where}: within belongs to near")
    if relation == "between":
        if not isinstance(value, list) or len(value) != 2:
            raise InputError(f"{where}: between must be a list of two numbers")
        low, high = _number(value[0], relation, where), _number(value[1], relation, where)
        if low > high:
            raise InputError(f"{where}: between must name the lower number first")
        return relation, low, high, None, None
    number = _number(value, relation, where)
    if relation == "at_most":
        return relation, None, number, None, None
    if relation == "at_least":
        return relation, number, None, None, None
    if number <= 0:
        raise InputError(f"{where}: near must be above 0", "What should be 0 is at_most = 0.")
    within = _number(entry.get("within"), "within", where)
    if not 0 <= within < 1:
        raise InputError(f"{where}: within is a share of near, from 0 to below 1")
    return relation, number * (1 - within), number * (1 + within), number, within


def _number(value: object, name: str, where: str) -> float:
    if type(value) not in (int, float) or not math.isfinite(typing.cast("float", value)):
        raise InputError(f"{where}: {name} must be a number, not {value!r}")
    return float(typing.cast("float", value))
