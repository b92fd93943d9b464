"""``ncu-lab doctor``: what is missing or misconfigured here, and the fix for each."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from ncu_lab.advice import as_called
from ncu_lab.cli.options import Format, FormatOption, StoreOption, resolve_store
from ncu_lab.errors import Exit

if TYPE_CHECKING:
    from ncu_lab.render.terminal import Terminal
    from ncu_lab.workflows.diagnosing import Finding

_INDENT = 24
_OPTIONAL = ("disassembler",)


def doctor(store: StoreOption = None, format: FormatOption = Format.TABLE) -> None:
    """Say what this machine lacks, and the fix for each.

    Tries what every command needs, a kernel under ncu included. Exit code 4 when `profile` cannot run.
    """
    from ncu_lab.cli.progress import progress_reporter
    from ncu_lab.render.terminal import Column, Terminal, emit
    from ncu_lab.workflows.diagnosing import NEEDS, can_run, conclusion, diagnose

    with progress_reporter() as report:
        findings = diagnose(resolve_store(store, example=False), report)
    if format is Format.TABLE:
        _print(Terminal(sys.stdout), findings, conclusion(findings))
    else:
        rows = [
            {"name": found.name, "state": found.state, "detail": found.detail, "fix": found.fix or None}
            for found in findings
        ]
        columns = [Column(key, key, align="left") for key in ("name", "state", "detail", "fix")]
        document = {
            "commands": {command: can_run(command, findings) for command in NEEDS},
            "conclusion": conclusion(findings),
        }
        emit(rows, columns, format.value, sys.stdout, name="findings", document=document)
    if not can_run("profile", findings):
        raise typer.Exit(int(Exit.ENVIRONMENT))


def _print(terminal: Terminal, findings: Sequence[Finding], conclusion: str) -> None:
    """Print what is well on few lines, and the rest with its fix."""
    from ncu_lab.render.terminal import BAD, GOOD, MUTED

    # Spelled before it is laid out: in ASCII a sign is a word, which is wider.
    well = [terminal.spell(f"✓ {found.name} {found.detail}") for found in findings if found.state == "ok"]
    for line in _packed(well, terminal.width):
        terminal.line((line, GOOD))
    for found in findings:
        if found.state == "ok":
            continue
        minor = found.state == "skipped" or found.name in _OPTIONAL
        head = terminal.spell(f"{'–' if minor else '✗'} {found.name}")
        width = max(30, terminal.width - _INDENT)
        texts = [terminal.spell(text) for text in (found.detail, found.fix) if text]
        # A package's name must stay whole, to be copied.
        lines = [line for text in texts for line in textwrap.wrap(text, width, break_on_hyphens=False)]
        terminal.line((f"{head:<{_INDENT}}", MUTED if minor else BAD), lines[0])
        for line in lines[1:]:
            terminal.line(" " * _INDENT, line)
    terminal.paragraph(conclusion)
    if all(found.state == "ok" or found.name in _OPTIONAL for found in findings):
        terminal.line(as_called("  ncu-lab profile --stage 2d"))
    else:
        terminal.line(as_called("  ncu-lab ladder --example     ncu-lab dashboard --example"))


def _packed(cells: Sequence[str], width: int) -> list[str]:
    """Put cells side by side, as many as fit, each on a multiple of the indent."""
    lines: list[str] = []
    for cell in cells:
        start = -(-(len(lines[-1]) + 2) // _INDENT) * _INDENT if lines else 0
        if lines and start + len(cell) <= width:
            lines[-1] = f"{lines[-1]:<{start}}{cell}"
        else:
            lines.append(cell)
    return lines
