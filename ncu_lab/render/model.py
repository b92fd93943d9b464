"""``model`` for people and programs: theory of one kernel in a few lines, of several in a table."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import get_args

from ncu_lab.model import BlockDemand, Ceiling, Datasheet, Dtype, Json, Occupancy, Theory
from ncu_lab.render import numbers
from ncu_lab.render.numbers import MISSING
from ncu_lab.render.summary import LABEL_WIDTH
from ncu_lab.render.tables import Column, Row
from ncu_lab.render.terminal import MUTED, STRONG, Terminal
from ncu_lab.render.wording import DTYPES, problem_words

_BEATEN_BY = {"dram_uncached": "caches beat it", "shared_scalar": "wider ones beat it"}
"""Ceiling -> what may exceed it."""

_UNITS = {"registers": "registers", "shared memory": "shared memory", "warps": "threads", "blocks": "blocks",
          "barriers": "barriers"}  # fmt: skip
"""Resource -> what of it a user thinks in."""

Line = tuple[str, str]
"""A label, empty where the line before goes on, and the words."""


def device_words(device: Datasheet) -> str:
    """Say what a GPU's datasheet tells: ``RTX A6000 (84 SMs, 1.80 GHz, 768 GB/s)``."""
    facts = (f"{device.sm_count} SMs", numbers.frequency(device.boost_hz), numbers.byte_rate(device.dram_bytes_per_s))
    return f"{device.name} ({', '.join(facts)})"


def theory_title(theory: Theory) -> str:
    """Name the kernel, the problem and the GPU."""
    words = f"{problem_words(theory.problem)} {DTYPES[theory.shape.dtype]}"
    return " · ".join([theory.shape.name, words, device_words(theory.device)])


def theory_lines(theory: Theory) -> list[Line]:
    """Tell of one kernel: work, loads, ceilings, the time nothing goes below, occupancy and what limits it."""
    return [
        ("work", _work(theory)),
        ("global loads", _global_loads(theory)),
        ("shared loads", _shared_loads(theory)),
        *(("ceilings" if place == 0 else "", _ceiling(one)) for place, one in enumerate(theory.ceilings)),
        ("binds first", _binding(theory)),
        ("at least", _bound(theory)),
        *_occupancy_lines(theory),
    ]


def _work(theory: Theory) -> str:
    moved = f"{_flop(theory)}, {numbers.byte_count(theory.minimum_bytes)} at least"
    return f"{moved}: {_intensity(theory.intensity)}{_ridge(theory.ceiling('dram'))}"


def _flop(theory: Theory) -> str:
    return numbers.si(theory.flop, "FLOP", least=0)


def _intensity(value: float) -> str:
    return f"{numbers.significant(value)}{numbers.THIN}FLOP/B"


def _ridge(ceiling: Ceiling | None) -> str:
    known = ceiling is not None and ceiling.ridge is not None
    return f" (ridge {numbers.significant(ceiling.ridge)})" if ceiling is not None and known else ""


def _global_loads(theory: Theory) -> str:
    rows, columns = theory.shape.fetch
    reuse = "no reuse" if rows * columns == 1 else f"{rows}×{columns} of C share each"
    words = f"{numbers.byte_count(theory.global_bytes)}, {reuse}: {_intensity(theory.global_intensity)}"
    return words + _ridge(theory.ceiling("dram_uncached"))


def _shared_loads(theory: Theory) -> str:
    if theory.shape.lane is None:
        return "none that feed FMAs"
    rows, columns = theory.shape.lane
    scalar = theory.ceiling("shared_scalar")
    words = f"{numbers.significant(theory.fma_per_shared_load)} FMA for each scalar one, {rows}×{columns} a thread"
    return words if scalar is None or scalar.intensity is None else f"{words}: {_intensity(scalar.intensity)}"


def _ceiling(one: Ceiling) -> str:
    beaten = _BEATEN_BY.get(one.key)
    return f"{numbers.flop_rate(one.flop_per_s):<14} {one.label}" + (f" ({beaten})" if beaten else "")


def _binding(theory: Theory) -> str:
    if theory.binding is None:
        return f"not known: the datasheet has no {DTYPES[theory.shape.dtype]} peak"
    return theory.binding.label


def _bound(theory: Theory) -> str:
    compute = "not known" if theory.compute_ns is None else numbers.duration(theory.compute_ns)
    return f"{numbers.duration(theory.lower_bound_ns)}: compute {compute}, DRAM {numbers.duration(theory.dram_ns)}"


def _occupancy_lines(theory: Theory) -> list[Line]:
    held, demand = theory.occupancy, theory.shape.demand
    if held is None or demand is None:
        return [("occupancy", f"not known: {theory.shape.demand_from}")]
    block = f"{demand.threads} threads, {demand.registers} registers, {numbers.byte_count(demand.shared_bytes)} shared"
    lines = [
        ("a block", block),
        ("", theory.shape.demand_from),
        ("occupancy", f"{_blocks(held.blocks)} an SM, {numbers.share(held.share)}: limit {', '.join(held.limited_by)}"),
        ("", _room(held)),
        *_next_block(theory, demand),
    ]
    if theory.waves is not None and theory.shape.grid is not None:
        blocks = numbers.integer(theory.shape.grid)
        lines.append(("waves", f"{numbers.significant(theory.waves)} for {blocks} blocks"))
    return lines


def _blocks(count: int) -> str:
    return "1 block" if count == 1 else f"{count} blocks"


def _room(held: Occupancy) -> str:
    """Say how many blocks the resources that do not limit have room for."""
    others = [f"{name} {blocks}" for name, blocks in held.limits.items() if name not in held.limited_by]
    return f"room by {', '.join(others)}"


def _next_block(theory: Theory, demand: BlockDemand) -> list[Line]:
    """Say what one more block an SM would take, one resource a line."""
    step = theory.next_block
    label = "one more block"
    if step is None:
        return []
    if step.prevented_by:
        return [(label, f"cannot be: no more {' or '.join(_UNITS[one] for one in step.prevented_by)} fit an SM")]
    lines = []
    if step.registers is not None:
        lines.append((label, f"at most {step.registers} registers (now {demand.registers})"))
    if step.shared_bytes is not None:
        now, then = (numbers.integer(count) for count in (demand.shared_bytes, step.shared_bytes))
        lines.append(("" if lines else label, f"at most {then} B shared (now {now})"))
    return lines


def print_theory(theory: Theory, terminal: Terminal) -> None:
    """Print one kernel."""
    terminal.paragraph(theory_title(theory), STRONG)
    terminal.line()
    for label, words in theory_lines(theory):
        terminal.line((f"  {label:<{LABEL_WIDTH}}", MUTED), words)
    for words in _notes(theory):
        terminal.line()
        terminal.paragraph(f"{theory.device.name}: {words}.", MUTED)


def _notes(theory: Theory) -> list[str]:
    """Return what the datasheet says of the figures that this kernel meets."""
    met = ("fp32" if theory.shape.dtype == "fp32" else "tensor", "dram")
    return [theory.device.notes[key] for key in met if key in theory.device.notes]


def theory_markdown(theory: Theory) -> str:
    """Write one kernel as a Markdown list."""
    lines: list[str] = []
    for label, words in theory_lines(theory):
        said = re.sub(r" {2,}", " ", words)
        if label:
            lines.append(f"- {label}: {said}")
        else:
            lines[-1] += f"; {said}"
    return f"**{theory_title(theory)}**\n\n" + "\n".join(lines) + "\n"


def theory_row(theory: Theory) -> Row:
    """Return one kernel as a flat row, full precision, base units."""
    held, demand, step = theory.occupancy, theory.shape.demand, theory.next_block
    rows, columns = theory.shape.fetch
    return {
        "stage": theory.shape.name,
        "device": theory.device.id,
        "dtype": theory.shape.dtype,
        "m": theory.problem.m, "n": theory.problem.n, "k": theory.problem.k,
        "flop": theory.flop,
        "minimum_bytes": theory.minimum_bytes,
        "intensity": theory.intensity,
        "fetch_rows": rows,
        "fetch_columns": columns,
        "global_bytes": theory.global_bytes,
        "global_intensity": theory.global_intensity,
        "fma_per_shared_load": theory.fma_per_shared_load,
        "wavefronts_per_fma": theory.wavefronts_per_fma,
        **{f"{key}_flop_per_s": _speed(theory, key) for key in CEILINGS},
        "binding": theory.binding and theory.binding.key,
        "compute_ns": theory.compute_ns,
        "dram_ns": theory.dram_ns,
        "lower_bound_ns": theory.lower_bound_ns,
        "threads": demand and demand.threads,
        "registers": demand and demand.registers,
        "shared_bytes": demand and demand.shared_bytes,
        "demand_from": theory.shape.demand_from,
        "blocks_per_sm": held and held.blocks,
        "occupancy": held and held.share,
        "limited_by": held and ", ".join(held.limited_by),
        "next_block_registers": step and step.registers,
        "next_block_shared_bytes": step and step.shared_bytes,
        "next_block_prevented_by": step and (", ".join(step.prevented_by) or None),
        "waves": theory.waves,
    }  # fmt: skip


CEILINGS = ("peak", "dram", "dram_uncached", "shared_scalar", "shared_measured")
"""Keys of :class:`ncu_lab.model.Ceiling`, in their order."""


def _speed(theory: Theory, key: str) -> float | None:
    found = theory.ceiling(key)
    return None if found is None else found.flop_per_s


def theory_columns() -> list[Column]:
    """Return the columns of the table of several kernels."""
    return [
        Column("stage", "stage", align="left"),
        Column("global_intensity", "FLOP/B", _figure("global_intensity")),
        Column("fma_per_shared_load", "FMA/load", _figure("fma_per_shared_load"), priority=2),
        Column("shared_scalar_flop_per_s", "scalar", _figure("shared_scalar_flop_per_s", 1e12), priority=3),
        Column("shared_measured_flop_per_s", "measured", _figure("shared_measured_flop_per_s", 1e12), priority=3),
        Column("binding", "binds first", lambda row: _BINDS.get(row["binding"], MISSING), align="left", priority=1),
        Column("lower_bound_ns", "at least", lambda row: numbers.duration(row["lower_bound_ns"])),
        Column("registers", "regs", priority=1),
        Column("shared_bytes", "shared", lambda row: numbers.byte_count(row["shared_bytes"]), priority=4),
        Column("blocks_per_sm", "blocks", priority=1),
        Column("occupancy", "occup.", lambda row: numbers.share(row["occupancy"]), priority=1),
        Column("limited_by", "limit", align="left", priority=2),
        Column("waves", "waves", _figure("waves"), priority=5),
    ]  # fmt: skip


_BINDS = {
    "peak": "peak",
    "dram": "DRAM",
    "dram_uncached": "fetches",
    "shared_scalar": "shared",
    "shared_measured": "shared",
}


def _figure(key: str, unit: float = 1.0) -> Callable[[Row], str]:
    """Return the cell of a plain number, in multiples of ``unit``."""
    return lambda row: numbers.significant(None if row[key] is None else row[key] / unit)


def print_theories(theories: Sequence[Theory], terminal: Terminal) -> list[Column]:
    """Print the table of several kernels on one GPU and what its columns mean; return the columns left out."""
    first = theories[0]
    terminal.paragraph(f"{problem_words(first.problem)} · {device_words(first.device)}", STRONG)
    terminal.line()
    return terminal.table([theory_row(one) for one in theories], theory_columns())


def explain_columns(terminal: Terminal) -> None:
    """Say what the columns of the table mean that their titles cannot."""
    terminal.paragraph(
        "FLOP/B: operations per byte fetched from global memory; fetches: that, were nothing cached. scalar, measured: "
        "TFLOP/s that shared memory allows with scalar loads, and with the wavefronts that were measured.",
        MUTED,
    )


def theory_document(device: Datasheet, theories: Sequence[Theory]) -> Json:
    """Return kernels on one GPU as one JSON document."""
    return {
        "device": {
            "id": device.id,
            "name": device.name,
            "compute_capability": list(device.compute_capability),
            "sm_count": device.sm_count,
            "boost_hz": device.boost_hz,
            "dram_bytes_per_s": device.dram_bytes_per_s,
            "peak_flop_per_s": {dtype: device.peak_flop_per_s(dtype) for dtype in get_args(Dtype)},
            "source": device.source,
            "notes": dict(device.notes),
        },
        "models": [_document(one) for one in theories],
    }


def _document(theory: Theory) -> Json:
    held, step = theory.occupancy, theory.next_block
    row = dict(theory_row(theory))
    return {
        **{key: value for key, value in row.items() if not key.endswith("_flop_per_s")},
        "ceilings": [
            {
                "key": one.key,
                "label": one.label,
                "flop_per_s": one.flop_per_s,
                "hard": one.hard,
                "binds": one.binds,
                "intensity": one.intensity,
                "ridge": one.ridge,
            }
            for one in theory.ceilings
        ],
        "occupancy_limits": None if held is None else dict(held.limits),
        "limited_by": None if held is None else list(held.limited_by),
        "registers_allocated": held and held.registers_allocated,
        "shared_allocated": held and held.shared_allocated,
        "next_block_prevented_by": None if step is None else list(step.prevented_by),
    }
