"""Reads the policy of a gate from ``ncu-lab.toml``, and says of what is wrong in which line it is."""

from __future__ import annotations

import difflib
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, cast

from ncu_lab.errors import InputError
from ncu_lab.metrics import METRICS, Kind
from ncu_lab.model.expectations import SASS
from ncu_lab.model.policy import GATED_BUILD_UNITS, Consequence, Direction, Limit, Policy, Rule
from ncu_lab.store.location import PROJECT_FILE

_KEYS = ("rule", "defaults", "inconclusive", "missing", "unmatched")
_RULE_KEYS = ("metric", "stage", "kernel", "limit", "class", "direction", "inconclusive", "missing")
_CONSEQUENCES = ("report", "fail")
_DIRECTIONS = ("lower", "higher", "either")
_KINDS = ("exact", "noisy")
_PERCENT = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*%\s*")
_HEADER = re.compile(r"\s*\[{1,2}\s*(?P<table>[\w.\s-]+?)\s*\]{1,2}")


def find_policy(here: Path) -> Policy:
    """Return the policy of the nearest ``ncu-lab.toml`` at or above a folder; the default one where it has none.

    Raises:
        InputError: When the file is broken or says what no gate can do; names the file and the line.
    """
    here = here.resolve()
    file = next((one for folder in (here, *here.parents) if (one := folder / PROJECT_FILE).is_file()), None)
    return (None if file is None else _policy_in(file)) or Policy()


def read_policy(file: Path) -> Policy:
    """Return the policy of a file that the user named.

    Raises:
        InputError: As :func:`find_policy`; and when it has no table ``policy``: defaults are not what was asked for.
    """
    policy = _policy_in(file)
    if policy is None:
        raise InputError(f"{file} has no table policy", "Begin it with [policy], or leave --policy out.")
    return policy


def _policy_in(file: Path) -> Policy | None:
    try:
        text = file.read_text("utf-8")
        document = tomllib.loads(text)
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{file} is not valid TOML: {error}", "Correct it.") from error
    if "policy" not in document:
        return None
    return _Reader(file, text).policy(document["policy"])


@dataclass(frozen=True, slots=True)
class _Reader:
    """One file, and the words for what is wrong in it."""

    file: Path
    text: str

    def policy(self, table: object) -> Policy:
        """Read the table ``policy``."""
        if not isinstance(table, dict):
            raise self._error(
                "policy", 0, "policy must be a table", "Write [policy], and [[policy.rule]] for each rule."
            )
        for key in table:
            self._known(key, _KEYS, 0)
        defaults = table.get("defaults", True)
        if not isinstance(defaults, bool):
            raise self._error("defaults", 0, f"defaults must be true or false, not {defaults!r}")
        rules = table.get("rule", [])
        if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
            raise self._error("rule", 0, "a rule must be a table", "Begin each with [[policy.rule]].")
        return Policy(
            rules=tuple(self._rule(rule, number) for number, rule in enumerate(rules, start=1)),
            defaults=defaults,
            inconclusive=self._consequence(table, "inconclusive", 0) or "report",
            missing=self._consequence(table, "missing", 0) or "report",
            unmatched=self._consequence(table, "unmatched", 0) or "report",
            file=self.file.name,
        )

    def _rule(self, table: Mapping[str, Any], number: int) -> Rule:
        for key in table:
            self._known(key, _RULE_KEYS, number)
        if "metric" not in table:
            raise self._error("metric", number, "a rule names no metric", 'Say of what it is: metric = "duration_ns".')
        return Rule(
            metric=self._metric(table["metric"], number),
            stage=self._pattern(table, "stage", number),
            kernel=self._pattern(table, "kernel", number),
            limit=self._limit(table["limit"], number) if "limit" in table else None,
            kind=cast(Kind | None, self._choice(table, "class", _KINDS, number)),
            better=cast(Direction | None, self._choice(table, "direction", _DIRECTIONS, number)),
            inconclusive=self._consequence(table, "inconclusive", number),
            missing=self._consequence(table, "missing", number),
        )

    def _metric(self, value: object, number: int) -> str:
        known = [*METRICS, *GATED_BUILD_UNITS]
        if not isinstance(value, str) or not value:
            raise self._error("metric", number, f"metric must be a key in quotes, not {value!r}")
        if value.startswith(SASS) or any(fnmatchcase(key, value) for key in known):
            return value
        near = difflib.get_close_matches(value, known, n=1, cutoff=0.5)
        meant = f"Did you mean {near[0]}? " if near else ""
        raise self._error("metric", number, f'there is no metric "{value}"', f"{meant}docs/metrics.md lists all.")

    def _pattern(self, table: Mapping[str, Any], key: str, number: int) -> str:
        value = table.get(key, "*")
        if not isinstance(value, str) or not value:
            raise self._error(key, number, f"{key} must be a name or pattern in quotes, not {value!r}")
        return value

    def _limit(self, value: object, number: int) -> Limit | Literal["off"]:
        hint = 'Write limit = "3 %" of what it was, limit = 8 in its own unit, or limit = "off".'
        if value == "off":
            return "off"
        if isinstance(value, str) and (percent := _PERCENT.fullmatch(value)):
            return Limit(float(percent[1]) / 100.0)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0:
            return Limit(float(value), relative=False)
        raise self._error("limit", number, f"limit cannot be {value!r}", hint)

    def _consequence(self, table: Mapping[str, Any], key: str, number: int) -> Consequence | None:
        return cast(Consequence | None, self._choice(table, key, _CONSEQUENCES, number))

    def _choice(self, table: Mapping[str, Any], key: str, choices: tuple[str, ...], number: int) -> str | None:
        value = table.get(key)
        if value is None or value in choices:
            return value
        raise self._error(key, number, f"{key} cannot be {value!r}", f"Choose one of {', '.join(choices)}.")

    def _known(self, key: str, keys: tuple[str, ...], number: int) -> None:
        if key not in keys:
            near = difflib.get_close_matches(key, keys, n=1)
            meant = f"Did you mean {near[0]}?" if near else f"Known: {', '.join(keys)}."
            where = "a rule" if number else "policy"
            raise self._error(key, number, f'{where} has no key "{key}"', meant)

    def _error(self, key: str, number: int, message: str, hint: str = "") -> InputError:
        return InputError(f"{self.file}:{self._line(key, number)}: {message}", hint)

    def _line(self, key: str, number: int) -> int:
        """Return the line of a key, else that of its table; ``number`` 0 is the table ``policy``, n its nth rule."""
        own = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*=""")
        found, rules, inside = 1, 0, False
        for line, words in enumerate(self.text.splitlines(), start=1):
            if header := _HEADER.match(words):
                table = re.sub(r"\s", "", header["table"])
                rules += table == "policy.rule"
                inside = table == "policy.rule" and rules == number if number else table == "policy"
                found = line if inside else found
            elif inside and own.match(words):
                return line
        return found
