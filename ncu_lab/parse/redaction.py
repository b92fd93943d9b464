"""A session without what is private: what may be stored with a run, shown and exported."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import replace

from ncu_lab.model import Session

HOST, USER, ADDRESS, PATH = "<host>", "<user>", "<address>", "<path>"
"""What stands in the place of what was taken out."""

_PATH = re.compile(
    r'"(?P<quoted>(?:[A-Za-z]:[\\/]|\\\\|/|~)[^"]*)"'
    r"|(?<![\w./~>\\])(?P<plain>(?:~[\w.-]*)?/(?!/)[^\s\"'=,;:]*|[A-Za-z]:[\\/](?!/)[^\s\"',;]*|\\\\[^\s\"']+)"
)
"""Absolute paths in a text, of Linux and Windows, in quotes or not."""

_ABSOLUTE = re.compile(r"[A-Za-z]:[\\/]|\\\\|/|~")
_SEPARATORS = re.compile(r"[/\\]+")
_HOME = re.compile(r"(?:/home/|/Users/|[A-Za-z]:[\\/]+Users[\\/]+)(?P<user>[^\s/\\\"':;,]+)")
_ADDRESS_LIKE = re.compile(
    r"(?<![\w.:])(?:\d+(?:\.\d+){3}(?![\w.])|[\da-fA-F:]*:[\da-fA-F:]*:[\da-fA-F:.]*(?:%\w+)?(?![\w:]))"
)


def redact(session: Session) -> Session:
    """Return a session fit to be shown to anyone: no names of hosts and users, no addresses, no folders.

    Of absolute paths the last part is kept, as it names the program; relative ones are as they were.
    """
    texts = [session.command, *session.processes.values()]
    users = {found["user"] for one in texts for found in _HOME.finditer(one)}
    hosts = {machine["name"] for machine in (session.host, session.target) if machine.get("name")}
    private = [*((name, HOST) for name in hosts), *((name, USER) for name in users)]

    def clean(words: str) -> str:
        shown = _PATH.sub(lambda path: _last_part(path["quoted"] or path["plain"]), words)
        shown = _ADDRESS_LIKE.sub(lambda found: ADDRESS if _is_address(found.group()) else found.group(), shown)
        for name, mark in private:
            shown = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", mark, shown)
        return shown

    def clean_value(value: str) -> str:
        # A value stands for itself, without the quotes that would hold a path with spaces together.
        return _last_part(value) if _ABSOLUTE.match(value) else clean(value)

    def machine(known: Mapping[str, str]) -> dict[str, str]:
        return {key: HOST if key == "name" else word for key, word in known.items()}

    return replace(
        session,
        command=clean(session.command),
        options={name: clean_value(value) for name, value in session.options.items()},
        host=machine(session.host),
        target=machine(session.target),
        addresses=(ADDRESS,) * len(session.addresses),
        processes={number: clean_value(path) for number, path in session.processes.items()},
    )


def _last_part(path: str) -> str:
    if _HOME.fullmatch(path.rstrip("/\\")):
        return PATH
    return f"{PATH}/{['', *filter(None, _SEPARATORS.split(path))][-1]}"


def _is_address(word: str) -> bool:
    try:
        ipaddress.ip_address(word.partition("%")[0])
    except ValueError:
        return False
    return True
