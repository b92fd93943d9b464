"""Reads what ``ptxas -v`` and nvcc say about one compilation."""

from __future__ import annotations

import re
from dataclasses import dataclass

SERIALIZED_WGMMA = "wgmma.mma_async instructions are serialized"
"""ptxas's advice that it serialised wgmma (C7510, C7511 and on, by the reason): correct code at a fraction of the
speed, which fails a build here."""

_ENTRY = re.compile(r"Compiling entry function '(?P<name>[^']+)' for '(?P<arch>[^']+)'")
_PROPERTIES = re.compile(r"Function properties for (?P<name>\S+)")
_STACK = re.compile(
    r"(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads"
)
_USED = re.compile(r"Used (?P<registers>\d+) registers")
_BARRIERS = re.compile(r"used (?P<barriers>\d+) barriers")
_SHARED = re.compile(r"(?P<shared>\d+)(?:\+\d+)? bytes smem")
_WARNING = re.compile(r"(?:^ptxas warning\s*:|\bwarning\b|\(C\d{4}\))")
_FRONT_END_ERROR = re.compile(
    r"^(?P<file>[^\s():]+)(?:\((?P<line>\d+)\)|:(?P<gnu>\d+)(?::\d+)?): (?:fatal |catastrophic )?error:? ?(?P<text>.*)$"
)
_PTXAS_ERROR = re.compile(r"^(?:ptxas|nvcc|nvlink)\b.*?\b(?:error|fatal)\s*: (?P<text>.*)$")


@dataclass(frozen=True, slots=True)
class Resources:
    """What one entry function uses: registers and bytes a thread, shared bytes and barriers a block."""

    registers: int
    spill_store_bytes: int
    spill_load_bytes: int
    stack_bytes: int
    shared_bytes: int
    barriers: int


def parse_resources(log: str, entry: str) -> Resources | None:
    """Return what ptxas said about one entry function; None when it said nothing of it.

    Args:
        log: Output of ``nvcc -Xptxas=-v``.
        entry: The function's name as in the cubin.
    """
    resources: dict[str, int] = {}
    compiling = describing = ""
    for line in log.splitlines():
        if match := _ENTRY.search(line):
            compiling = match["name"]
        elif match := _PROPERTIES.search(line):
            describing = match["name"]
        elif (match := _STACK.search(line)) and describing == entry:
            resources |= {name: int(value) for name, value in match.groupdict().items()}
        elif (match := _USED.search(line)) and compiling == entry:
            resources["registers"] = int(match["registers"])
            for pattern, name in ((_BARRIERS, "barriers"), (_SHARED, "shared")):
                found = pattern.search(line)
                resources[name] = int(found[name]) if found else 0
    if "registers" not in resources or "stack" not in resources:
        return None
    return Resources(
        registers=resources["registers"],
        spill_store_bytes=resources["stores"],
        spill_load_bytes=resources["loads"],
        stack_bytes=resources["stack"],
        shared_bytes=resources["shared"],
        barriers=resources["barriers"],
    )


def parse_warnings(log: str) -> tuple[str, ...]:
    """Return the warnings and performance advice of a compilation, each once."""
    return tuple(dict.fromkeys(line.strip() for line in log.splitlines() if _WARNING.search(line)))


def first_error(log: str) -> str:
    """Return the first error of a failed compilation as ``file:line: words``, the first line when none is found."""
    for line in log.splitlines():
        if match := _FRONT_END_ERROR.match(line):
            return f"{match['file']}:{match['line'] or match['gnu']}: {match['text']}"
        if match := _PTXAS_ERROR.match(line):
            return match["text"]
    return next((line.strip() for line in log.splitlines() if line.strip()), "nvcc said nothing")
