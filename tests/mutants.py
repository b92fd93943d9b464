"""Kernels with one mistake each: what was changed, and which mechanism of the product is to catch it.

``mutants.toml`` beside this file has them as replacements of text, which must fit the sources exactly; a mistake that
no kernel can make, but who measures it, has the refusal that keeps it from happening.
"""

from __future__ import annotations

import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path

from ncu_lab.resources import data_dir

MECHANISMS = ("host", "check", "memcheck", "racecheck", "initcheck", "synccheck", "build", "expectation", "bench")
"""``host``: the kernel run on the CPU (CI, no GPU); ``check``: ncu-lab check, a hang and a crash included; the four
tools of compute-sanitizer by their names; ``build``: ncu-lab build refuses; ``expectation``: an expectation of
stages.toml is missed (``key``); ``bench``: ncu-lab bench refuses."""


@dataclass(frozen=True)
class Mutant:
    """One mistake in a copy of the kernels.

    Attributes:
        id: Name.
        mistake: What is wrong, in words.
        stage: The stage that is checked.
        file: Below ``kernels/``.
        replace: Pairs of what stands there, exactly once, and what takes its place.
        caught_by: Mechanisms of :data:`MECHANISMS`, any of which catches it.
        variant: Of the stage, on the CPU and where it is compiled.
        size: M = N = K of the problem that ``check`` is asked for.
        key: Of the expectation that is missed.
    """

    id: str
    mistake: str
    stage: str
    file: str
    replace: tuple[tuple[str, str], ...]
    caught_by: tuple[str, ...]
    variant: str = "fast"
    size: int = 512
    key: str = ""


@dataclass(frozen=True)
class Refusal:
    """A mistake of measuring that the product does not let happen.

    Attributes:
        mistake: What would be wrong, in words.
        how: What keeps it from happening.
        test: ``file::test`` that proves it.
    """

    mistake: str
    how: str
    test: str


def load() -> tuple[list[Mutant], list[Refusal]]:
    """Return all mutants and refusals of ``mutants.toml``."""
    document = tomllib.loads(Path(__file__).with_name("mutants.toml").read_text(encoding="utf-8"))
    mutants = [
        Mutant(
            **{
                **entry,
                "replace": tuple((old, new) for old, new in entry["replace"]),
                "caught_by": tuple(entry["caught_by"]),
            }
        )
        for entry in document["mutant"]
    ]
    return mutants, [Refusal(**entry) for entry in document["refusal"]]


def apply(mutant: Mutant, folder: Path) -> Path:
    """Copy the kernels into ``folder`` with a mutant's mistake; return the copy.

    Raises:
        ValueError: When a replacement does not fit exactly once: the source has changed, and the mutant must follow.
    """
    copy = folder / "kernels"
    shutil.copytree(data_dir("kernels"), copy, ignore=shutil.ignore_patterns("experiments", "published"))
    path = copy / mutant.file
    text = path.read_text(encoding="utf-8")
    for old, new in mutant.replace:
        if text.count(old) != 1:
            raise ValueError(f"mutant {mutant.id}: {text.count(old)} places in {mutant.file} read {old!r}, not one")
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    return copy
