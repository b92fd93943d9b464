"""The shapes of every command's JSON, read off real documents: what docs/json.md holds, so that it cannot drift.

Commands that need a GPU or a compiler are run with what a bundled run recorded of theirs.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from ncu_lab.analyze.timings import timing, timing_samples
from ncu_lab.gpu.registry import load_stages
from ncu_lab.model import Run
from ncu_lab.resources import data_dir
from ncu_lab.store import Store
from ncu_lab.workflows.benching import Bench
from ncu_lab.workflows.diagnosing import Finding

ROOT = Path(__file__).resolve().parents[1]
HISTORY = ROOT / "tests" / "data" / "history"

BY_NAME = frozenset(
    {
        "metrics", "stalls", "raw", "sass_mix", "commands", "log2", "stall_families_log2", "attributes", "values",
        "derived", "sizes", "tile", "by_level",
    }
)  # fmt: skip
"""Objects whose keys are names of things, not of fields."""

COMMANDS: Mapping[str, tuple[str, Sequence[str]]] = {
    "show": ("A run, file or commit.", ("show", "1d", "--example")),
    "ladder": ("", ("ladder", "--example")),
    "diff": ("[What its verdicts mean](comparing.md).", ("diff", "d65bf95", "fb5c188")),
    "gate": (
        "[What fails it](gating.md). `inconclusive` and `missing` hold rows as `violations` does.",
        ("gate", "fb5c188", "--against", "d65bf95"),
    ),
    "history": ("[How it is made](history.md).", ("history", "--stage", "gram")),
    "bisect": (
        "`commit` is null where skipped commits leave several suspects.",
        ("bisect", "--good", "8bb91d8", "--bad", "main", "--stage", "gram", "--stored-only"),
    ),
    "noise": ("[What was measured](gating.md#noise), else the defaults.", ("noise",)),
    "runs": ("", ("runs", "--example")),
    "store check": ("`damages` is empty in a store that is as it was written.", ("store", "check", "--example")),
    "stages": ("", ("stages",)),
    "model": ("", ("model", "--stage", "2d", "--device", "h200")),
    "build": ("", ("build", "--stage", "2d")),
    "check": ("", ("check", "--stage", "2d")),
    "bench": ("", ("bench", "--stage", "2d")),
    "doctor": ("", ("doctor",)),
}
"""Command -> what to know of it, and an example."""


def shapes_page(output_of: Callable[[Sequence[str]], str], notice: str) -> str:
    """Return docs/json.md.

    Args:
        output_of: Runs a command in the repository of known history and returns what it prints.
        notice: Who wrote the page.
    """
    lines = [
        "# JSON\n",
        notice.format(source="docs/json_shapes.py"),
        "What `--format json` prints, alone on stdout, read off real documents. Every document has `schema`, 1; keys",
        "are added, never renamed. Numbers are at full precision in base units, with the unit beside them or in the",
        "key (`_ns`, `_bytes`, `_pct` 0 to 100; shares and confidences 0 to 1); every delta is B - A. What is missing",
        "is null, in any place, never 0 and never NaN; `list` is one that was empty here. `<name>` stands for names of",
        "stages, counters ([metrics.md](metrics.md)), stall reasons or opcodes.\n",
    ]
    with _stood_in():
        for name, (words, arguments) in COMMANDS.items():
            document = json.loads(output_of((*arguments, "--format", "json")))
            command = " ".join(arguments)
            lines += [f"## {name}\n", f"{words} `ncu-lab {command}`:\n".lstrip(), "| key | holds |", "|---|---|"]
            lines += [f"| `{path}` | {' or '.join(kinds)} |" for path, kinds in shape(document).items()]
            lines.append("")
    return "\n".join(lines)


def shape(document: object) -> dict[str, list[str]]:
    """Return the paths of a document (``pairs[].duration.a_ns``), each with the types that are found there."""
    found: dict[str, list[str]] = {}
    for path, kind in _paths(document, ""):
        kinds = found.setdefault(path, [])
        if kind not in kinds:
            kinds.append(kind)
    return {path: sorted(kinds, key=lambda kind: kind == "null") for path, kinds in found.items()}


def _paths(value: object, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        names = path.rpartition(".")[2] in BY_NAME
        for key, one in value.items():
            yield from _paths(one, f"{path}{'.' if path else ''}{'<name>' if names else key}")
    elif isinstance(value, list) and value:
        for one in value:
            yield from _paths(one, f"{path}[]")
    else:
        yield path, _kind(value)


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    return {str: "text", int: "number", float: "number", list: "list", dict: "object"}[type(value)]


@contextlib.contextmanager
def _stood_in() -> Iterator[None]:
    """Let a bundled run stand for what the GPU and the compiler of this machine would say."""
    examples = Store(data_dir("examples"))
    metas = [meta for meta in examples.metas()[0] if "2d" in meta.stages]
    run = examples.read(metas[0].id)
    findings = [Finding("nvcc", "ok", "13.0"), Finding("GPU", "missing", "none", "Use a machine with one.")]
    workflows: Mapping[str, Any] = {
        "building.build_stages": [build for build in run.builds if build.stage == "2d"],
        "checking.check_stages": [case for case in run.checks if case.stage == "2d"],
        "benching.time_stages": _bench(run),
        "diagnosing.diagnose": findings,
        "diagnosing.can_run": True,
    }
    with contextlib.ExitStack() as stack:
        for name, result in workflows.items():
            stack.enter_context(patch(f"ncu_lab.workflows.{name}", return_value=result))
        yield


def _bench(run: Run) -> Bench:
    samples = tuple(timing_samples(run.timings))
    reference = load_stages()["2d"].reference
    found = {stage: timing(samples, stage, other) for stage, other in (("2d", reference), (reference or "", None))}
    timings = {stage: one for stage, one in found.items() if one is not None}
    if run.meta.device is None or run.meta.problem is None:
        raise ValueError(f"{run.meta.id} tells no GPU or problem")
    return Bench(samples, timings, run.meta.problem, run.meta.device)
