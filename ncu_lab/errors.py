"""The one error type a user ever sees, and the exit codes it carries."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of every command."""

    OK = 0
    FAILED_CHECK = 1  # a gate or a correctness check failed
    USAGE = 2  # the command was called wrongly
    BAD_INPUT = 3  # unreadable or unusable input, or no baseline
    ENVIRONMENT = 4  # something this machine lacks: ncu, a GPU, permission, a compiler
    PROGRAM = 5  # the profiled program, or ncu itself, failed


class NcuLabError(Exception):
    """An error told in one or two lines: what happened where, and what to do.

    Attributes:
        message: What happened, and where.
        hint: What the user can do about it; empty when nothing sensible can be said.
        exit_code: The exit code of the command that meets it.
    """

    exit_code: Exit = Exit.BAD_INPUT

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(NcuLabError):
    """The request itself is wrong: an unknown stage, a size of zero."""

    exit_code = Exit.USAGE


class InputError(NcuLabError):
    """A file, a run or a revision cannot be read or used."""

    exit_code = Exit.BAD_INPUT


class NothingExportedError(InputError):
    """An export that holds only what ncu complained of.

    Attributes:
        said: All that ncu, and the program, printed instead.
    """

    def __init__(self, message: str, hint: str, said: str) -> None:
        super().__init__(message, hint)
        self.said = said


class EnvironmentLacksError(NcuLabError):
    """This machine lacks something: nvcc, ncu, a GPU, a permission, a writable store."""

    exit_code = Exit.ENVIRONMENT


class CheckFailedError(NcuLabError):
    """A kernel gave a wrong result."""

    exit_code = Exit.FAILED_CHECK


class ProgramError(NcuLabError):
    """The profiled program, or ncu around it, failed."""

    exit_code = Exit.PROGRAM
