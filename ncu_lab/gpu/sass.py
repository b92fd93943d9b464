"""Machine code as text: disassembles a cubin, and normalises it so that equal code gives equal text.

Cubins differ by build path and compiler build; the normalised text holds instructions alone, with branch targets as
numbered labels instead of addresses, so it can be hashed, compared and shown.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections import Counter
from pathlib import Path

from ncu_lab.advice import pip_install
from ncu_lab.errors import InputError
from ncu_lab.gpu.toolkit import find_tool

_INSTRUCTION = re.compile(r"^\s*/\*(?P<address>[0-9a-f]{4,})\*/\s+(?P<text>[^;]+?)\s*;")
_LABEL = re.compile(r"^\s*(?P<name>\.L_[\w.]+):")
_LABEL_TARGET = re.compile(r"`\((?P<name>\.L_[\w.]+)\)")
_ADDRESS_TARGET = re.compile(r"0x(?P<address>[0-9a-f]+)$")
_BRANCHES = ("BRA", "BSSY", "CALL", "JMP", "WARPSYNC", "BRX", "SSY", "PBK")
_REMARK = re.compile(r"\s*\(\*.*?\*\)")
_FUNCTION = re.compile(r"^\s*(?:\.section\s+\.text\.(?P<nvdisasm>[\w$.]+)|Function : (?P<cuobjdump>\S+))")
_MEMORY = re.compile(r"^(?:LD|ST|ATOM|RED|LDGSTS)")
_WIDTH = re.compile(r"\.(?:64|128)\b")


def disassembler() -> Path | None:
    """Return nvdisasm, else cuobjdump, else None."""
    return find_tool("nvdisasm") or find_tool("cuobjdump")


def install_hint() -> str:
    """Say how to get a disassembler."""
    return f"{pip_install('sass')}, or install the CUDA toolkit."


def disassemble(cubin: Path, tool: Path) -> str:
    """Return the normalised SASS of a cubin.

    Raises:
        InputError: When the disassembler cannot read it.
    """
    option = "-sass" if tool.name.startswith("cuobjdump") else "-c"
    try:
        done = subprocess.run([tool, option, cubin], capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise InputError(f"{tool} cannot be started: {error.strerror or error}", install_hint()) from error
    if done.returncode:
        words = (done.stderr or done.stdout).strip().splitlines()
        raise InputError(f"{tool.name} cannot disassemble {cubin.name}: {words[0] if words else done.returncode}")
    return normalise(done.stdout)


def normalise(listing: str) -> str:
    """Return the instructions of an nvdisasm or cuobjdump listing, one a line, functions and labels named.

    Addresses, encodings, scheduling text, the trailing self-branch and its padding of NOPs go; branch targets become
    ``L0``, ``L1`` … in order of their address within a function.
    """
    lines: list[str] = []
    functions: dict[str, list[tuple[int, str]]] = {}
    labels: dict[tuple[str, str], int] = {}
    waiting: list[str] = []
    function = ""
    for line in listing.splitlines():
        if match := _FUNCTION.match(line):
            function = match["nvdisasm"] or match["cuobjdump"]
        elif match := _LABEL.match(line):
            waiting.append(match["name"])
        elif match := _INSTRUCTION.match(line):
            address = int(match["address"], 16)
            labels |= {(function, name): address for name in waiting}
            waiting = []
            functions.setdefault(function, []).append((address, " ".join(_REMARK.sub("", match["text"]).split())))
    for name, code in functions.items():
        lines += [f"{name}:", *_with_labels(_without_padding(code, name, labels), name, labels)]
    return "\n".join(lines) + "\n" if lines else ""


def _target(text: str, function: str, labels: dict[tuple[str, str], int]) -> int | None:
    """Address that an instruction branches to, by label (nvdisasm) or by number (cuobjdump)."""
    if match := _LABEL_TARGET.search(text):
        return labels.get((function, match["name"]))
    if opcode(text).partition(".")[0] in _BRANCHES and (match := _ADDRESS_TARGET.search(text)):
        return int(match["address"], 16)
    return None


def _without_padding(
    code: list[tuple[int, str]], function: str, labels: dict[tuple[str, str], int]
) -> list[tuple[int, str]]:
    end = len(code)
    while end and code[end - 1][1] == "NOP":
        end -= 1
    if end and _target(code[end - 1][1], function, labels) == code[end - 1][0]:
        end -= 1
    return code[:end]


def _with_labels(code: list[tuple[int, str]], function: str, labels: dict[tuple[str, str], int]) -> list[str]:
    targets = {target for _, text in code if (target := _target(text, function, labels)) is not None}
    names = {address: f"L{number}" for number, address in enumerate(sorted(targets))}
    lines: list[str] = []
    for address, text in code:
        if address in names:
            lines.append(f"{names[address]}:")
        target = _target(text, function, labels)
        if target is not None:
            pattern = _LABEL_TARGET if _LABEL_TARGET.search(text) else _ADDRESS_TARGET
            text = pattern.sub(names[target], text)
        lines.append(f"  {text}")
    return lines


def opcode(text: str) -> str:
    """Return the opcode of an instruction's text, modifiers included, without its predicate."""
    words = text.split()
    return words[1] if words[0].startswith("@") and len(words) > 1 else words[0]


def mix(sass: str) -> dict[str, int]:
    """Count instructions by opcode, most frequent first; wide memory accesses apart: ``LDS``, ``LDS.128``."""
    counts: Counter[str] = Counter()
    for line in sass.splitlines():
        if not line.startswith("  "):
            continue
        full = opcode(line)
        base = full.partition(".")[0]
        width = _WIDTH.search(full) if _MEMORY.match(base) else None
        counts[base + (width.group() if width else "")] += 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def digest(sass: str) -> str:
    """Return the SHA-256 of normalised SASS."""
    return hashlib.sha256(sass.encode()).hexdigest()
