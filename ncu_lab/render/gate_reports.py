"""``gate`` for machines that run it: JUnit XML for a test report, and workflow commands for GitHub's annotations."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator

from ncu_lab.model.gating import GateResult, Judged
from ncu_lab.render.gate import caveats, line_words, merged, title, verdict, whole_line
from ncu_lab.render.numbers import plain_spaces
from ncu_lab.render.visible import visible

_NAME = "ncu-lab gate"


def gate_junit(result: GateResult) -> str:
    """Write a JUnit report: a test case for each quantity; what is inconclusive or missing is skipped."""
    failures = len(result.failing)
    skipped = sum(_is_skipped(one) for one in result.judged)
    counts = {"tests": str(len(result.judged)), "failures": str(failures), "skipped": str(skipped), "errors": "0"}
    root = ElementTree.Element("testsuites", {"name": _NAME, **counts})
    suite = ElementTree.SubElement(root, "testsuite", {"name": _text(title(result)), **counts})
    for one in result.judged:
        change = one.change
        place = {"file": change.place.file, "line": str(change.place.line)} if change.place else {}
        case = ElementTree.SubElement(
            suite, "testcase", {"classname": _text(change.kernel), "name": change.key, **place, "time": "0"}
        )
        if one.fails:
            words = _text(whole_line(one))
            failure = ElementTree.SubElement(case, "failure", message=words, type=one.outcome)
            failure.text = words
        elif _is_skipped(one):
            ElementTree.SubElement(case, "skipped", message=_text(line_words(one)))
    output = ElementTree.SubElement(suite, "system-out")
    output.text = _text("\n".join([*caveats(result), verdict(result)]))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _is_skipped(one: Judged) -> bool:
    return one.outcome in ("inconclusive", "missing") and not one.fails


def _text(words: str) -> str:
    """Return words as XML can hold them: control characters become escapes."""
    return visible(plain_spaces(words))


def gate_annotations(result: GateResult) -> str:
    """Write GitHub's workflow commands: errors at the kernels that fail, warnings where samples cannot tell.

    GitHub shows ten of each level a step, so that what fails comes first and what is missing for one reason is one. The
    verdict follows as plain text, for the log.
    """
    lines = [*_commands(result), *map(_text, [*caveats(result), verdict(result)])]
    return "\n".join(lines) + "\n"


def _commands(result: GateResult) -> Iterator[str]:
    for one in result.failing:
        yield _command("error", one)
    for one in result.reported("inconclusive"):
        yield _command("warning", one)
    for told in merged(result.reported("missing")):
        yield f"::notice title={_property(f'{told.kernels}: missing')}::{_data(f'{told.kernels}: {told.words}')}"


def _command(level: str, one: Judged) -> str:
    change = one.change
    place = f"file={_property(change.place.file)},line={change.place.line}," if change.place else ""
    title_of = _property(f"{change.kernel} {change.key}")
    return f"::{level} {place}title={title_of}::{_data(whole_line(one, ': '))}"


def _data(words: str) -> str:
    """Escape a message as the runner's toolkit does."""
    return _text(words).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(words: str) -> str:
    return _data(words).replace(":", "%3A").replace(",", "%2C")
