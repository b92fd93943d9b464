"""Puts what the parser of options refuses into our words: what is wrong with which value, and what is possible."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import typer

from ncu_lab.advice import program
from ncu_lab.errors import UsageError

ParserError: Any = typer.BadParameter.__mro__[1]
"""What the parser raises, click's ``UsageError``: typer brings its own copy of click, or not, by version."""


def explained(error: Any, arguments: Sequence[str]) -> UsageError:
    """Return a parser's error in two lines.

    Args:
        error: A :data:`ParserError`.
        arguments: The command line without the program: the parser does not tell which value it refused.
    """
    if isinstance(error, typer.BadParameter) and error.param is not None and error.ctx is not None:
        return _refusal(error.param, error.ctx, arguments)
    sentence = error.format_message().strip().rstrip(".")
    command = error.ctx.command_path.removeprefix("ncu-lab") if error.ctx else ""
    return UsageError(sentence[:1].lower() + sentence[1:], f"{program()}{command} --help lists what there is.")


def _refusal(parameter: Any, context: Any, arguments: Sequence[str]) -> UsageError:
    spelling, meaning = parameter.get_help_record(context)
    hint = f"{spelling}: {' '.join(meaning.split())}"
    values = _given(parameter.opts, arguments)
    if values:
        return UsageError(f"{parameter.opts[0]} cannot be {values}", hint)
    variable = str(parameter.envvar)
    if variable in os.environ:
        return UsageError(f'{variable} cannot be "{os.environ[variable]}"', hint)
    return UsageError(f"{spelling} is missing", hint)


def _given(spellings: Sequence[str], arguments: Sequence[str]) -> str:
    """Return what an option is set to, in quotes: ``--size 1``, ``--size=1``, ``-m1``; empty when it is not set."""
    values: list[str] = []
    for word, following in zip(arguments, [*arguments[1:], ""], strict=True):
        if word == "--":
            break
        name, equals, value = word.partition("=")
        if word in spellings:
            values.append(following)
        elif equals and name in spellings:
            values.append(value)
        elif word[:2] in spellings:
            values.append(word[2:])
    return ", ".join(f'"{value}"' for value in values)
