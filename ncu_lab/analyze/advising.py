"""What to try next: a table of rules, each from evidence to a technique and the stage of the ladder that shows it.

The first rule that holds decides, in the order of :data:`RULES`: the grid first, then as the ladder climbs, since a
rung builds on those below it. A rule whose stage a kernel of the ladder already stands on, or above, has been followed;
the next is asked. Programs that are not of the ladder get the same advice without a stage. Where no rule fits there is
none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from ncu_lab.analyze.stake import ATOMICS, DIRECT_WAITS
from ncu_lab.metrics import OVER_IDEAL, Space
from ncu_lab.model import Access, Advice, Culprit, Evidence, LaunchAccess, LaunchSummary, NextBlock, Stage, Verdict
from ncu_lab.model.explanation import Technique

LEAST_STAKE = 0.10
"""Share of a launch's time, or of its warps' time, from which something is worth a try: saving it gains 11 %."""

COLUMN_WAVEFRONTS = 1.0
"""Shared wavefronts per FMA from which a thread should compute several elements: two scalar loads an FMA are 2, and 1.5
where the compiler widens one of them; 8 elements a thread in a column take (8 + 1) / 8 = 1.125 as written, and 0.625 so
widened."""

TILE_WAVEFRONTS = 0.5
"""Likewise from which it should compute a tile of 8 x 8, which takes 16 / 64 = 0.25 as written."""

SCALAR_SECTORS = 4.0
"""Sectors a global load takes at best with 4 bytes a lane; 16 with 16 bytes."""

MMA_SYNC_PCT = 60.0
"""Percent of the tensor pipe's peak from which mma.sync is near what it reaches on Hopper (62 to 65 %)."""

DRAM = "dram_throughput_pct"

Kind = Literal["fp32", "tensor"]


@dataclass(frozen=True, slots=True)
class Case:
    """All that rules look at.

    Attributes:
        summary: The launch.
        verdict: What bounds it.
        access: Its memory accesses.
        next_block: What one more block an SM would take; None unless that can help.
        capability: Compute capability as 10 * major + minor; None where it is not known.
        functions: Stage -> the function that is its main kernel at this problem, of the stages that were profiled.
    """

    summary: LaunchSummary
    verdict: Verdict
    access: LaunchAccess
    next_block: NextBlock | None = None
    capability: int | None = None
    functions: Mapping[str, str] = field(default_factory=dict)

    def value(self, key: str) -> float:
        """Return a quantity of the catalogue; 0 where it is not known: no rule follows from what is missing."""
        return self.summary.value(key) or 0.0

    def evidence(self, fact: str) -> Evidence | None:
        """Return a figure of the verdict."""
        return next((one for one in self.verdict.because if one.fact == fact), None)

    def waits(self, *reasons: str) -> float:
        """Return the share of warp time that goes to some reasons."""
        return sum(self.summary.stalls.get(reason, 0.0) for reason in reasons)

    def accesses(self, space: Space, *kinds: str) -> list[Access]:
        """Return the accesses of some kinds that the launch makes."""
        return [one for one in self.access.of(space) if one.kind in kinds and one.requests]

    @property
    def busiest(self) -> str | None:
        """Catalogue key of the unit that bounds the launch by being busy; None where none does."""
        busy = self.evidence("busy")
        return busy.key if busy else None

    @property
    def kind(self) -> Kind | None:
        """The unit that does its arithmetic, None where none is known to."""
        if self.value("tensor_flop") or self.value("tensor_pipe_pct") > self.value("fma_pipe_pct"):
            return "tensor"
        return "fp32" if self.value("flop_per_s") else None

    @property
    def staged(self) -> bool:
        """Whether tiles pass through shared memory."""
        return bool(self.accesses("shared", "ld", "ldmatrix", "wgmma"))

    def wasteful(self, space: Space) -> tuple[float, Access, Culprit | None] | None:
        """Return the share at stake in a memory, the kind of access to blame most, and its line; None if it is small.

        Accesses are blamed when they take more than :data:`OVER_IDEAL` times their ideal.
        """
        stake = self.access.stakes.get(space)
        share = stake.upper_bound_share if stake else None
        over = [one for one in self.access.of(space) if (one.over_ideal or 0.0) > OVER_IDEAL and one.excess]
        if share is None or share < LEAST_STAKE or not over:
            return None
        worst = max(over, key=lambda one: one.excess or 0.0)
        return share, worst, next(iter(worst.culprits), None)


def _more_blocks(case: Case) -> Advice | None:
    """Too few blocks for the SMs, or for half of what they hold."""
    if case.verdict.bound != "launch":
        return None
    if blocks := case.evidence("blocks"):
        return Advice("more blocks", "blocks", blocks.value or 0.0, of=float(case.summary.sm_count or 0))
    waves = case.evidence("waves")
    return Advice("more blocks", "waves_per_sm", waves.value or 0.0) if waves else None


def _more_work(case: Case) -> Advice | None:
    """A launch as short as starting and ending it."""
    short = case.evidence("short") if case.verdict.bound == "launch" else None
    return Advice("more work a launch", "duration_ns", short.value or 0.0) if short else None


def _whole_waves(case: Case) -> Advice | None:
    """SMs idle while the last blocks run."""
    idle = case.evidence("idle") if case.verdict.bound == "tail" else None
    share = idle.value if idle else None
    return None if share is None else Advice("whole waves", "idle_share", share, at_most=share)


def _fragments(case: Case) -> Advice | None:
    """Tensor cores fed straight from global memory."""
    if case.kind != "tensor" or case.staged or case.verdict.bound not in ("memory", "latency"):
        return None
    return Advice("tiles for fragments", "tensor_pipe_pct", case.value("tensor_pipe_pct"))


def _fewer_atomics(case: Case) -> Advice | None:
    """Lanes whose atomics meet on the same addresses, with a tenth of the time at stake."""
    found = case.wasteful("global")
    if found is None or found[1].kind not in ATOMICS:
        return None
    share, access, culprit = found
    return Advice("fewer atomics", "over_ideal", access.over_ideal or 0.0, at_most=share, culprit=culprit)


def _coalescing(case: Case) -> Advice | None:
    """Sectors over their ideal, with a tenth of the time at stake."""
    found = case.wasteful("global")
    if found is None or found[1].kind in ATOMICS:
        return None
    share, access, culprit = found
    return Advice("coalescing", "over_ideal", access.over_ideal or 0.0, at_most=share, culprit=culprit)


def _padding(case: Case) -> Advice | None:
    """Bank conflicts, most of them in stores."""
    found = case.wasteful("shared")
    if found is None or found[1].kind != "st":
        return None
    share, access, culprit = found
    return Advice("padding", "over_ideal", access.over_ideal or 0.0, at_most=share, culprit=culprit)


def _tiles(case: Case) -> Advice | None:
    """L1 busy with coalesced loads of a computing kernel that has no tile: what it serves again and again fits in one.

    Where the width of its loads is not known, few sectors a request tell that they are coalesced.
    """
    busy = case.evidence("busy") if case.verdict.bound == "memory" else None
    if busy is None or busy.key != "l1_throughput_pct" or not case.kind or case.staged:
        return None
    for load in case.accesses("global", "ld"):
        excess = load.over_ideal if load.over_ideal is not None else (load.per_request or 0.0) / SCALAR_SECTORS
        if excess > OVER_IDEAL:
            return None
    return Advice("tiles", busy.key, busy.value or 0.0)


def _column(case: Case) -> Advice | None:
    return _wavefronts(case, "a column a thread", COLUMN_WAVEFRONTS)


def _tile(case: Case) -> Advice | None:
    return _wavefronts(case, "a tile a thread", TILE_WAVEFRONTS)


def _wavefronts(case: Case, technique: Technique, least: float) -> Advice | None:
    """Bound by shared memory, with so many wavefronts for each FMA."""
    key = "shared_load_wavefronts_per_fma"
    if case.verdict.bound != "shared" or case.kind != "fp32" or case.value(key) < least:
        return None
    return Advice(technique, key, case.value(key))


def _wide(case: Case) -> Advice | None:
    """A tile copied 4 bytes a lane, by a kernel whose warps wait for it, and not for a DRAM that is full."""
    waited = case.waits(*DIRECT_WAITS["global"])
    ideal = case.value("global_load_sectors_ideal")
    if (
        case.busiest == DRAM
        or case.kind != "fp32"
        or not case.staged
        or not 0 < ideal <= SCALAR_SECTORS
        or waited < LEAST_STAKE
    ):
        return None
    return Advice("wide accesses", "stall_share", waited)


def _overlap(case: Case) -> Advice | None:
    """Warps that wait for a tile on its way through registers, and not for a DRAM that is full."""
    waited = case.waits("long_scoreboard")
    if (
        case.busiest == DRAM
        or not case.kind
        or not case.staged
        or waited < LEAST_STAKE
        or case.accesses("global", "cp.async", "tma")
    ):
        return None
    return Advice("overlapped copies", "stall_share", waited)


def _conflict_free(case: Case) -> Advice | None:
    """Bank conflicts, most of them in loads."""
    found = case.wasteful("shared")
    if found is None or found[1].kind not in ("ld", "ldmatrix"):
        return None
    share, access, culprit = found
    return Advice("conflict-free loads", "over_ideal", access.over_ideal or 0.0, at_most=share, culprit=culprit)


def _ahead(case: Case) -> Advice | None:
    """Tensor cores that are fed from tiles by mma.sync, and idle too much for it."""
    pct = case.value("tensor_pipe_pct")
    if case.kind != "tensor" or not case.staged or case.accesses("shared", "wgmma") or not 0 < pct < MMA_SYNC_PCT:
        return None
    return Advice("fragments ahead", "tensor_pipe_pct", pct)


def _warpgroups(case: Case) -> Advice | None:
    """mma.sync on a GPU that has wgmma."""
    hopper = case.capability is not None and case.capability // 10 == 9
    if case.kind != "tensor" or not case.staged or case.accesses("shared", "wgmma") or not hopper:
        return None
    return Advice("warpgroups", "tensor_pipe_pct", case.value("tensor_pipe_pct"))


def _fma_alone(case: Case) -> Advice | None:
    """Bound by issuing: what is no FMA takes the place of one."""
    busy = case.evidence("busy") if case.verdict.bound == "compute" else None
    if case.kind != "fp32" or busy is None or busy.key not in ("issue_slots_pct", "fma_pipe_pct"):
        return None
    return Advice("FMA alone", "fma_pipe_pct", case.value("fma_pipe_pct"), of=case.value("issue_slots_pct"))


def _fewer_bytes(case: Case) -> Advice | None:
    """DRAM at its peak."""
    busy = case.evidence("busy") if case.verdict.bound == "memory" else None
    if busy is None or busy.key != DRAM:
        return None
    return Advice("fewer bytes", busy.key, busy.value or 0.0)


def _more_warps(case: Case) -> Advice | None:
    """Nothing is busy, and registers or shared memory keep blocks away."""
    found = case.next_block
    if case.verdict.bound != "latency" or found is None or (found.registers is None and found.shared_bytes is None):
        return None
    return Advice("more warps", "achieved_occupancy_pct", case.value("achieved_occupancy_pct"))


def _more_loads(case: Case) -> Advice | None:
    """Nothing is busy, and warps wait for global memory."""
    waited = case.waits("long_scoreboard")
    if case.verdict.bound != "latency" or waited < LEAST_STAKE:
        return None
    return Advice("more loads", "stall_share", waited)


RULES: tuple[tuple[Callable[[Case], Advice | None], tuple[str, ...]], ...] = (
    (_more_blocks, ("splitk",)),
    (_more_work, ()),
    (_whole_waves, ("sgemm-hopper", "wgmma", "wgmma-fp16")),
    (_fragments, ("wmma-tiled",)),
    (_fewer_atomics, ()),
    (_coalescing, ("coalesced",)),
    (_padding, ("smem-padded",)),
    (_tiles, ("smem",)),
    (_column, ("1d",)),
    (_tile, ("2d",)),
    (_wide, ("vectorized",)),
    (_overlap, ("double-buffered", "wmma-tiled")),
    (_conflict_free, ("warptiled", "mma-sync")),
    (_ahead, ("mma-sync",)),
    (_warpgroups, ("wgmma-fp16", "wgmma")),
    (_fma_alone, ("sgemm-hopper",)),
    (_fewer_bytes, ()),
    (_more_warps, ()),
    (_more_loads, ()),
)
"""Evidence -> the stages that do what it asks for; one of the launch's own type of arithmetic is named."""


def advise(case: Case, stage: Stage | None, stages: Mapping[str, Stage]) -> Advice | None:
    """Say what to try next.

    Args:
        case: What is known of the launch.
        stage: Its stage; None for another program.
        stages: The registry.

    Returns:
        The advice of the first rule that holds and is not followed yet; None where no rule fits, and for references.
    """
    if stage is not None and stage.is_reference:
        return None
    for rule, shown_by in RULES:
        found = rule(case)
        if found is None:
            continue
        if stage is None or not shown_by:
            return found
        ahead = list(_ahead_of(stage, shown_by, stages, case))
        if ahead:
            return replace(found, stage=ahead[0])
    return None


def _ahead_of(stage: Stage, candidates: tuple[str, ...], stages: Mapping[str, Stage], case: Case) -> Iterator[str]:
    """Yield candidates that are registered, of the same arithmetic, run here, and no rung that the stage stands on.

    Those of the very type of A and B come first. A stage that launches the same function for this problem has nothing
    to show: `sgemm-hopper` and `splitk` share the kernel for a small C.
    """
    capability = case.capability
    below = {stage.id, *_below(stage, stages)}
    found = [stages[one] for one in candidates if one in stages and one not in below]
    fitting = [
        one
        for one in found
        if (one.dtype == "fp32") == (stage.dtype == "fp32")
        and (capability is None or one.runs_on(capability))
        and case.functions.get(one.id) != case.summary.function
    ]
    yield from (one.id for one in sorted(fitting, key=lambda one: one.dtype != stage.dtype))


def _below(stage: Stage, stages: Mapping[str, Stage]) -> set[str]:
    """Return the stages that a stage was built on, its predecessor and all before."""
    found: set[str] = set()
    before = stages.get(stage.predecessor or "")
    while before is not None and before.id not in found:
        found.add(before.id)
        before = stages.get(before.predecessor or "")
    return found
