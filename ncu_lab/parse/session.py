"""What a report's session tells: machines, versions, the command line, and the environment that follows from them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from ncu_lab.model import Environment, Session
from ncu_lab.parse.wire import fields, text, words

# Fields of the session message, of the machines and versions in it.
_CREATED, _HOST, _TARGET, _VERSION, _COMMAND = 2, 3, 4, 8, 11
_MACHINE = {1: "os", 2: "os_version", 3: "processor", 4: "architecture", 5: "name"}
_MACHINE_ADDRESS, _ADDRESS = 7, 1
_VERSION_NAME, _VERSION_VALUE = 1, 2

# Names of components in a session, and ncu's defaults for what its command line does not say.
_NCU, _CUDA, _DRIVER = "Nsight Compute Target", "CUDA Version", "Display Driver Version"
_DEFAULTS = {"clock-control": "base", "cache-control": "all"}

_SWITCHES = frozenset(
    ("f", "force-overwrite", "nvtx", "csv", "call-stack", "q", "quiet", "verbose", "disable-extra-suffixes")
)
"""Options of ncu that take no value; the word after them may be the program."""


def session_from(messages: Sequence[bytes], processes: Mapping[str, str]) -> Session:
    """Put together what the session messages of a report say.

    Args:
        messages: In the order of the file; each tells a part.
        processes: Process id -> path of its executable.

    Raises:
        ValueError: When the bytes are no such messages.
    """
    created, command = None, ""
    machines: dict[int, dict[str, str]] = {_HOST: {}, _TARGET: {}}
    addresses: list[str] = []
    versions: dict[str, str] = {}
    for key, value in (field for message in messages for field in fields(message)):
        if isinstance(value, int):
            created = _time(value) if key == _CREATED and value else created
        elif key == _COMMAND:
            command = text(value)
        elif key in machines:
            known = {_MACHINE[number]: word for number, word in words(value).items() if number in _MACHINE and word}
            machines[key].update(known)
            addresses += [
                words(one).get(_ADDRESS, "")
                for number, one in fields(value)
                if number == _MACHINE_ADDRESS and isinstance(one, bytes)
            ]
        elif key == _VERSION:
            entry = words(value)
            if _VERSION_NAME in entry:
                versions[entry[_VERSION_NAME]] = entry.get(_VERSION_VALUE, "")
    return Session(
        created=created,
        command=command,
        options=options_of(command),
        host=machines[_HOST],
        target=machines[_TARGET],
        addresses=tuple(dict.fromkeys(one for one in addresses if one)),
        versions=versions,
        processes=dict(processes),
    )


def _time(seconds: int) -> str | None:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):  # a garbled number is no time
        return None


def options_of(command: str) -> dict[str, str]:
    """Return the options of ncu's command line, up to the program; see :attr:`Session.options`."""
    try:
        arguments = shlex.split(command, posix="\\" not in command)[1:]
    except ValueError:  # a quote of the program's own arguments that is not closed
        arguments = command.split()[1:]
    options: dict[str, str] = {}
    while arguments and arguments[0].startswith("-"):
        name, given, value = arguments.pop(0).lstrip("-").partition("=")
        if not given and name not in _SWITCHES and arguments and not arguments[0].startswith("-"):
            value = arguments.pop(0)
        value = value.strip('"')
        options[name] = f"{options[name]},{value}" if options.get(name) else value
    return options


def environment_from(versions: Mapping[str, str], command: str) -> Environment:
    """Describe the environment from component versions and the profiler's command line.

    Args:
        versions: Component -> version, as the session spells them.
        command: The command line; empty when it is not known, and then clock and cache control are not either.
    """
    ncu = re.match(r"\d+(?:\.\d+){1,2}", versions.get(_NCU, ""))
    sections = [f"set:{name}" for name in _values(command, "set")] + _values(command, "section")
    return Environment(
        driver=versions.get(_DRIVER),
        cuda=versions.get(_CUDA),
        ncu=ncu.group() if ncu else None,
        clock_control=_control(command, "clock-control"),
        cache_control=_control(command, "cache-control"),
        sections=tuple(sections),
    )


def _control(command: str, option: str) -> str | None:
    if not command:
        return None
    return (_values(command, option) or [_DEFAULTS[option]])[0]


def _values(command: str, option: str) -> list[str]:
    """Return every value given to a long option."""
    return re.findall(rf"(?:^|\s)--{option}[= ]\s*\"?([\w-]+)", command)
