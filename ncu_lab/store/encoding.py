"""The model's types as JSON and back, driven by their annotations."""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from ncu_lab.model import Json

_WORDS: Mapping[type, str] = {
    str: "text", int: "a whole number", float: "a number", bool: "true or false", list: "a list", dict: "an object",
    type(None): "null",
}  # fmt: skip
"""What people call the types of JSON."""

_NOT_FINITE = ("nan", "inf", "-inf")
"""Numbers that JSON has no word for, as texts: the error of a wrong result is one of them as often as not."""


def encode(value: Any) -> Any:
    """Return a value of the model as what JSON can say: dataclasses as objects, tuples as lists, paths as text."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: encode(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): encode(one) for key, one in value.items()}
    if isinstance(value, (tuple, list)):
        return [encode(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value.as_posix() if isinstance(value, Path) else value


def decode(kind: Any, value: Any, where: str = "") -> Any:
    """Return JSON as a value of a type of the model.

    Keys that the type does not know are ignored (a later version may add some); absent ones take their default.

    Args:
        kind: A dataclass, or anything its fields are annotated with.
        value: What JSON said.
        where: Path to the value, for messages.

    Raises:
        ValueError: When the value does not fit the type; the message says where.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if dataclasses.is_dataclass(kind):
        return _decode_object(kind, value, where)
    if origin in (Union, types.UnionType):
        return _decode_union(arguments, value, where)
    if origin is Literal:
        if value not in arguments:
            raise ValueError(f"{where} is {value!r}, not one of {', '.join(map(str, arguments))}")
        return value
    if origin is tuple:
        return _decode_tuple(arguments, value, where)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        entries = _expect(dict, value, where)
        return {key: decode(arguments[1], one, f"{where}.{key}") for key, one in entries.items()}
    if kind is Path:
        return Path(_expect(str, value, where))
    if kind is float:
        return _float(value, where)
    return _expect(kind, value, where)


def _expect(kind: type, value: Any, where: str) -> Any:
    # In Python True is an int; in JSON it is not.
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{where or 'it'} is {_WORDS[type(value)]}, not {_WORDS[kind]}")
    return value


def _float(value: Any, where: str) -> float:
    if value in _NOT_FINITE:
        return float(value)
    number = value if isinstance(value, float) else _expect(int, value, where)
    try:
        return float(number)
    except OverflowError:
        raise ValueError(f"{where} is too large a number") from None


def _decode_object(kind: Any, value: Any, where: str) -> Any:
    entries: Json = _expect(dict, value, where)
    hints, fields = _hints(kind), dataclasses.fields(kind)
    paths = {field.name: f"{where}.{field.name}".lstrip(".") for field in fields}
    if lacking := [paths[field.name] for field in fields if field.name not in entries and _is_required(field)]:
        raise ValueError(f"{', '.join(lacking)} missing")
    return kind(**{name: decode(hints[name], entries[name], path) for name, path in paths.items() if name in entries})


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _decode_union(options: tuple[Any, ...], value: Any, where: str) -> Any:
    if value is None and type(None) in options:
        return None
    problems = []
    for option in options:
        if option is type(None):
            continue
        try:
            return decode(option, value, where)
        except ValueError as error:
            problems.append(str(error))
    raise ValueError("; ".join(problems))


def _decode_tuple(arguments: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
    entries = _expect(list, value, where)
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return tuple(decode(arguments[0], one, f"{where}[{index}]") for index, one in enumerate(entries))
    if len(entries) != len(arguments):
        raise ValueError(f"{where} has {len(entries)} entries, not {len(arguments)}")
    pairs = zip(arguments, entries, strict=True)
    return tuple(decode(kind, one, f"{where}[{index}]") for index, (kind, one) in enumerate(pairs))


@lru_cache(maxsize=32)
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)
