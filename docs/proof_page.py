"""docs/proof.md: how a kernel is proven, and which mistakes are caught by what, from tests/mutants.toml."""

from __future__ import annotations

import csv
import textwrap
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import mutants

from ncu_lab.render.tables import Column, markdown_table

WORDS: Mapping[str, str] = {
    "host": "the kernel run on the CPU",
    "build": "the build",
    "expectation": "an expectation",
    "check": "`check`",
    "bench": "`bench`",
}
"""What a mechanism is called; a tool of compute-sanitizer goes by its name."""

SEEN = Path(__file__).parents[1] / "tests" / "data" / "proof"
"""What `tests/gpu/prove.sh` recorded, and of which commit on which GPU."""

EVIDENCE = 100
"""Letters of the evidence that a table has room for; the file has all."""

TEXT = """\
`ncu-lab check --all --sanitize` tries everything that is known to break such kernels, on the GPU at hand:

- each stage at the problem asked for and at edge shapes (one element, primes, one more than a tile, K = 0, tall, wide,
  long rows, unaligned bases, any alpha and beta, a C that holds NaN), every element against float64;
- the same input twenty times: a result that changes by a bit is a race, and the first element that differs is named;
- a workspace that the kernels of a stage share holds NaN before every launch, so that a kernel which reads what is not
  there yet finds nothing that an equal launch left;
- compute-sanitizer's memcheck, racecheck, initcheck and synccheck on whole, cut and odd tiles. Where beta is 0 they
  see a C that nobody wrote, so that a kernel which reads it is found although its result is right.

Each stage's cases, and each tool on each stage, are a program with a time limit: a hang is a failure with a name.

A ratio to the library is the lowest there is: of several processes (`bench --processes 3`), and of the series alone
and in turns A B B A the less favourable; in FP32 against the fastest of cuBLAS in pedantic and in default math and
up to eight algorithms of cublasLt, as many as it offers (`--fastest-reference`), none of them TF32, which the names of
their kernels prove.
`bench --save` keeps every sample with clock and power, and `ncu-lab shapes` makes one table of all sizes.

## Mistakes, and what catches them

Each is one change to a kernel (`tests/mutants.toml`). CI asserts that every one still fits the sources, compiles, and
is caught where that takes no GPU; `tests/gpu/prove.sh` tries all that a GPU can catch, by what is to catch them in
turn, until one does.
"""


def proof_page(notice: str) -> str:
    """Return the page.

    Args:
        notice: What says that it is generated.
    """
    made, refused = mutants.load()
    kernels = [(one.mistake, f"`{one.stage}`", _by(one)) for one in made]
    measuring = [(one.mistake, one.how) for one in refused]
    return "\n".join(
        [
            "# Proof\n",
            notice,
            TEXT,
            _table(("mistake", "in", "caught by"), kernels),
            "## Mistakes of measuring, and what keeps them from happening\n",
            _table(("mistake", "what keeps it from happening"), measuring),
            *_seen(),
        ]
    )


def _seen() -> list[str]:
    """Return what was recorded on a GPU: each mutant's newest try, what caught it first, and at which commit."""
    run = tomllib.loads((SEEN / "run.toml").read_text(encoding="utf-8"))
    with (SEEN / "mutants.csv").open(encoding="utf-8", newline="") as file:
        newest = _newest(list(csv.DictReader(file)))
    caught = [one for one in newest if one["caught"] == "True"]
    rows = [
        (f"`{one['mutant']}`", _called(one["mechanism"]), _cut(one["evidence"]), one["commit"])
        if one in caught
        else (f"`{one['mutant']}`", "nothing", "see below", one["commit"])
        for one in newest
    ]
    by = Counter(_called(one["mechanism"]) for one in caught)
    at = Counter(one["commit"] for one in caught)
    remarks = [f"- `{mutant}`: {words}" for mutant, words in run["remarks"].items()]
    return [
        f"## Seen on an {run['device']}\n",
        f"Commit {run['commit']}, {run['date']}, driver {run['driver']}: {run['note']}\n",
        f"{len(caught)} of {len(newest)} mutants were caught, by {_counted(by)}. Of each the newest try counts, at the "
        f"commit beside it: {_counted(at)}. Those that the CPU alone catches are not tried on a GPU.\n",
        _table(("mutant", "caught by", "evidence", "commit"), rows),
        *([_wrapped(remarks)] if remarks else []),
    ]


def _newest(tried: Sequence[Mapping[str, str]]) -> list[Mapping[str, str]]:
    """Of each mutant what its last commit's mechanisms, tried in turn until one caught it, ended with."""
    return list({one["mutant"]: one for one in tried}.values())


def _counted(names: Counter[str]) -> str:
    return ", ".join(f"{name} ({count})" for name, count in names.most_common())


def _wrapped(items: Sequence[str]) -> str:
    return "\n".join(textwrap.fill(item, 120, subsequent_indent="  ", break_on_hyphens=False) for item in items) + "\n"


def _cut(evidence: str) -> str:
    return evidence if len(evidence) <= EVIDENCE else evidence[: EVIDENCE - 1].rstrip() + "…"


def _by(mutant: mutants.Mutant) -> str:
    words = [_called(one) for one in mutant.caught_by]
    return ", ".join(f"{one} (`{mutant.key}`)" if one == WORDS["expectation"] else one for one in words)


def _called(mechanism: str) -> str:
    return WORDS.get(mechanism, mechanism)


def _table(titles: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    columns = [Column(title, title, align="left", markup=True) for title in titles]
    return markdown_table([dict(zip(titles, row, strict=True)) for row in rows], columns)
