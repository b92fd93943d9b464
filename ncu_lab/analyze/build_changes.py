"""What two compilations of one stage differ in, quantity by quantity, for a gate that needs no GPU. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ncu_lab.analyze.occupancy import occupancy
from ncu_lab.model import ARCHITECTURES, BUILD_UNITS, BlockDemand, Stage, StageBuild
from ncu_lab.model.expectations import BUILD, SASS
from ncu_lab.model.gating import Change, Place
from ncu_lab.model.policy import BLOCKS_PER_SM, INSTRUCTIONS, gated_unit

_OPCODES_TOLD = 3


@dataclass(frozen=True, slots=True)
class Compiled:
    """A stage as it was registered, and one of its builds."""

    stage: Stage
    build: StageBuild


def build_changes(kernel: str, a: Compiled, b: Compiled, place: Place | None = None) -> list[Change]:
    """Return every quantity of two builds: resources, blocks an SM holds, instructions, and each opcode's count.

    Args:
        kernel: What the kernel is called.
        a: Before.
        b: After.
        place: Where it is defined.
    """
    before, after = _quantities(a), _quantities(b)
    return [
        Change(
            kernel=kernel,
            stage=b.stage.id,
            function=b.stage.entry,
            key=key,
            unit=gated_unit(key),
            kind="exact",
            a=before.get(key, _absent(key, a.build)),
            b=after.get(key, _absent(key, b.build)),
            why=_why_missing(key, a.build, b.build),
            detail=_opcodes(a.build.sass_mix, b.build.sass_mix) if key == INSTRUCTIONS else "",
            place=place,
        )
        for key in dict.fromkeys([*after, *before])
    ]


def _quantities(compiled: Compiled) -> dict[str, float | None]:
    build = compiled.build
    mix = build.sass_mix
    return {
        **{BUILD + name: float(getattr(build, name)) for name in BUILD_UNITS},
        BLOCKS_PER_SM: _blocks(compiled),
        INSTRUCTIONS: None if mix is None else float(sum(mix.values())),
        **{SASS + opcode: float(count) for opcode, count in (mix or {}).items()},
    }


def _blocks(compiled: Compiled) -> float | None:
    """Return the blocks that an SM holds; None where its architecture is not known."""
    number = int(compiled.build.arch.removeprefix("sm_").rstrip("af"))
    architecture = ARCHITECTURES.get(divmod(number, 10))
    if architecture is None:
        return None
    x, y, z = compiled.stage.block
    build = compiled.build
    demand = BlockDemand(x * y * z, build.registers, build.shared_bytes, build.barriers)
    return float(occupancy(architecture, demand).blocks)


_NO_DISASSEMBLER = 'no disassembler: pip install "ncu-lab[sass]"'


def _absent(key: str, build: StageBuild) -> float | None:
    """Return what a quantity is that a build does not list: an opcode of which it has none."""
    return 0.0 if key.startswith(SASS) and build.sass_mix is not None else None


def _why_missing(key: str, a: StageBuild, b: StageBuild) -> str:
    if key == BLOCKS_PER_SM:
        return f"what an SM of {b.arch} holds is not known"
    return _NO_DISASSEMBLER if a.sass_mix is None or b.sass_mix is None else ""


def _opcodes(a: Mapping[str, int] | None, b: Mapping[str, int] | None) -> str:
    """Name the opcodes whose counts changed most: ``FFMA +64, LDS.128 +8``."""
    return ", ".join(f"{opcode} {delta:+d}" for opcode, delta in _most_changed(a or {}, b or {})) if a and b else ""


def _most_changed(a: Mapping[str, int], b: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    deltas = {opcode: b.get(opcode, 0) - a.get(opcode, 0) for opcode in dict.fromkeys([*b, *a])}
    ordered = sorted(deltas.items(), key=lambda item: (-abs(item[1]), item[0]))
    yield from [item for item in ordered if item[1]][:_OPCODES_TOLD]
