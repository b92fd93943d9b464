"""Sentences with the number in them about one launch: what bounds it, and the title of every card of its page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from ncu_lab.metrics import METRICS, OVER_IDEAL
from ncu_lab.model import Access, HotSpots, Inspection, LaunchSummary, OccupancyPicture, Spot
from ncu_lab.render import numbers
from ncu_lab.render.figures.launch_stalls import LEAST_SHARE, by_size
from ncu_lab.render.figures.launch_units import AT_LIMIT
from ncu_lab.render.figures.memory_chart import PLACE_NAMES, link_name
from ncu_lab.render.figures.occupancy_curves import warps_at
from ncu_lab.render.headlines import count_word
from ncu_lab.render.verdict import verdict_words
from ncu_lab.render.wording import reason_name, top_stalls

_IDLE = 5.0
"""Percent of its peak below which a link is said to idle."""

KIND_NAMES: Mapping[str, str] = {
    "ld": "loads", "st": "stores", "atom": "atomics", "red": "reductions", "tma": "TMA copies",
    "cp.async": "copies by cp.async", "other": "other accesses",
}  # fmt: skip

_WAITS: Mapping[str, str] = {
    "long_scoreboard": "wait for global memory (long scoreboard)",
    "short_scoreboard": "wait for shared memory (short scoreboard)",
    "mio_throttle": "wait for the MIO queue",
    "lg_throttle": "wait for the queue of global memory",
    "tex_throttle": "wait for the texture queue",
    "barrier": "wait at barriers",
    "membar": "wait at memory barriers",
    "wait": "wait for a fixed latency",
    "math_pipe_throttle": "wait for a busy arithmetic pipe",
    "dispatch_stall": "wait to be dispatched",
    "gmma": "wait for warp-group matrix instructions",
    "no_instruction": "wait for instructions",
    "branch_resolving": "wait for a branch",
    "imc_miss": "wait for the constant cache",
    "not_selected": "are ready, but another warp issues",
    "drain": "wait for stores to drain",
    "sleeping": "sleep",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of the strip below the verdict: its name, the value, and what else tells of it."""

    label: str
    value: str
    beside: str


def banner(found: Inspection) -> tuple[str, str]:
    """Return what bounds the launch, and the evidence behind it."""
    summary = found.view.summaries[0]
    verdict = found.view.verdicts.get(summary.launch)
    if verdict is None:
        return "What bounds this launch is not known", ""
    head, _, rest = verdict_words(verdict).removesuffix(".").partition("; ")
    evidence = [part for part in rest.split("; ") if part]
    worst = worst_access(found)
    if worst is not None and worst.over_ideal is not None:
        # "What it moves" is of the unit that the head names, and stays next to it.
        at = 1 if evidence and "of what it moves" in evidence[0] else 0
        told = f"{access_name(worst)} take {numbers.ratio(worst.over_ideal)} the {worst.unit}s they need"
        evidence.insert(at, told)
    return head, " · ".join(part[:1].upper() + part[1:] for part in evidence)


def is_at_limit(found: Inspection) -> bool:
    """Whether the verdict rests on a unit that is at its limit."""
    verdict = found.view.verdicts.get(found.view.summaries[0].launch)
    because = verdict.because if verdict else ()
    return any(one.fact == "busy" and (one.value or 0.0) >= AT_LIMIT for one in because)


def strip(found: Inspection) -> list[Figure]:
    """Return the numbers below the verdict."""
    summary, eligible = found.view.summaries[0], found.eligible_warps
    value = summary.value
    speed = max((value(key) or 0.0 for key in ("flop_per_s", "tensor_flop_per_s", "fp64_flop_per_s")), default=0.0)
    blocks = min(summary.occupancy_limits.values(), default=None)
    a_wave = blocks * summary.sm_count if blocks and summary.sm_count else None
    waves = value("waves_per_sm")
    spills = value("local_spill_requests")
    return [
        Figure("Duration", numbers.duration(value("duration_ns")), _joined(numbers.flop_rate(speed or None), "n = 1")),
        Figure("Memory throughput", numbers.percent(value("memory_throughput_pct")), "of peak sustained"),
        Figure("SM throughput", numbers.percent(value("sm_throughput_pct")), "of peak sustained"),
        Figure(
            "Issue slots busy",
            numbers.percent(value("issue_slots_pct")),
            f"{numbers.significant(eligible)} eligible warps" if eligible is not None else "",
        ),
        Figure(
            "Occupancy",
            numbers.percent(value("achieved_occupancy_pct")),
            f"of {numbers.percent(value('theoretical_occupancy_pct'))} possible",
        ),
        Figure(
            "Registers / thread",
            numbers.integer(value("registers_per_thread")),
            f"{numbers.count(spills)} spill requests" if spills is not None else "spills not collected",
        ),
        Figure(
            "Waves",
            numbers.significant(waves),
            f"{numbers.integer(a_wave)} blocks a wave" if a_wave is not None else "",
        ),
    ]


def _joined(*parts: str) -> str:
    return " · ".join(part for part in parts if part and part != numbers.MISSING)


def worst_access(found: Inspection) -> Access | None:
    """Return the access that takes most over its ideal, of those over the limit; None when all keep to it."""
    access = found.view.accesses.get(found.view.summaries[0].launch)
    over = [one for one in (access.accesses if access else ()) if one.over_ideal and one.over_ideal > OVER_IDEAL]
    return max(over, key=lambda one: (one.excess_share or 0.0, one.over_ideal or 0.0), default=None)


def access_name(access: Access) -> str:
    """Name a kind of access: ``Shared stores``."""
    return f"{access.space.capitalize()} {KIND_NAMES.get(access.kind, access.kind)}"


def units_headline(found: Inspection) -> str:
    """Say which units are at their limit, or which comes nearest."""
    if not found.units:
        return "Throughput of units"
    at_limit = [use for use in found.units if use.pct >= AT_LIMIT]
    busiest = max(found.units, key=lambda use: use.pct)
    if not at_limit:
        # L2 as a whole (lts__throughput) counts more than the units that breakdown metrics list, and may be above them.
        return f"Of these units {busiest.label} comes nearest its peak: {numbers.percent(busiest.pct)}"
    if len(at_limit) == 1:
        return f"One unit is at its limit: {at_limit[0].label}, {numbers.percent(at_limit[0].pct)}"
    word = count_word(len(at_limit)).capitalize()
    return f"{word} units are at their limit, the busiest is {busiest.label}, {numbers.percent(busiest.pct)}"


def memory_headline(found: Inspection) -> str:
    """Say which link of the memory is the busiest, and how DRAM does beside it."""
    links = [link for link in found.traffic.links if link.pct is not None and link.amount]
    if not links:
        return "What moved through memory"
    busiest = max(links, key=lambda link: link.pct or 0.0)
    dram = sum(link.pct or 0.0 for link in links if "dram" in (link.source, link.target))
    name = PLACE_NAMES[busiest.target] if busiest.target == "shared" else link_name(busiest)
    told = f"{name} is the busiest, at {numbers.percent(busiest.pct)} of its peak"
    if "dram" in (busiest.source, busiest.target):
        return told
    return f"{told}; DRAM {'idles' if dram < _IDLE else 'is at'}{'' if dram < _IDLE else ' ' + numbers.percent(dram)}"


def main_file(spots: HotSpots) -> str | None:
    """Return the file of most samples, or of most executions where none were taken; None without lines."""
    weights: dict[str, float] = {}
    for spot in spots.lines:
        if spot.file:
            weight = spot.executed if spots.samples is None else spot.samples
            weights[spot.file] = weights.get(spot.file, 0.0) + (weight or 0.0)
    return max(weights, key=lambda file: weights[file], default=None)


def spot_name(spot: Spot, main: str | None = None) -> str:
    """Name a line or an instruction: ``line 34``, with its file where that is not the main one."""
    if spot.offset is not None:
        return f"instruction {spot.offset:04x}"
    if spot.line is None or spot.file is None:
        return "code without line information"
    return f"line {spot.line}" if spot.file == main else f"line {spot.line} of {PurePosixPath(spot.file).name}"


def spots_headline(spots: HotSpots) -> str:
    """Say on which line warps wait, and which one causes it where that is another."""
    lines = spots.lines if spots.has_lines else spots.instructions
    waited = max(lines, key=lambda spot: spots.share(spot) or 0.0, default=None)
    caused = max(lines, key=lambda spot: spots.excess_share(spot), default=None)
    over = caused is not None and max(caused.sectors_over_ideal or 0.0, caused.wavefronts_over_ideal or 0.0)
    if waited is None or spots.share(waited) is None:
        return "Source hot spots"
    share, main = numbers.share(spots.share(waited)), main_file(spots)
    on = spot_name(waited, main)
    if caused is None or not over or over <= OVER_IDEAL:
        return f"{_capital(on)} holds {share} of the samples"
    if caused is waited:
        return f"{_capital(on)} holds {share} of the samples and takes {numbers.ratio(over)} its ideal"
    return f"Warps wait on {on} ({share}); {spot_name(caused, main)} takes {numbers.ratio(over)} its ideal"


def stalls_headline(summary: LaunchSummary) -> str:
    """Say what most warps wait for."""
    found = top_stalls(summary, 1)
    if not found:
        return "What the warps wait for"
    reason, share = found[0]
    return f"{numbers.share(share)} of warp-cycles {_WAITS.get(reason, f'are {reason_name(reason)}')}"


def stalls_note(summary: LaunchSummary) -> str:
    """Say the sum of the stalls, and how many reasons are too small to be drawn."""
    small = sum(1 for _, share, _ in by_size(summary) if share < LEAST_SHARE)
    total = sum(summary.stall_cycles.values())
    told = f"{numbers.significant(total)} warp-cycles per issued instruction" if total else "By samples"
    least = numbers.share(LEAST_SHARE)
    return f"{told}. {small} reasons under {least} are in the table only." if small else f"{told}."


def occupancy_headline(picture: OccupancyPicture, summary: LaunchSummary) -> str:
    """Say how much room there is: until occupancy falls where it is at its maximum, else to the next block."""
    demand, most = picture.demand, picture.most_warps
    if demand is None or picture.warps is None:
        return "What occupancy hangs on"
    if most is not None and picture.warps >= most:
        room, falls = _register_room(picture, demand.registers)
        if room is None:
            return "Occupancy is at its maximum"
        to = f" before it falls to {numbers.percent(100.0 * falls / most)}" if falls is not None else ""
        words = "no register" if not room else f"{room} register{'' if room == 1 else 's'}"
        return f"Occupancy is at its maximum; {words} of headroom{to}"
    share = f"{numbers.percent(100.0 * picture.warps / most)} of the warps are possible" if most else ""
    limits = " and ".join(summary.limited_by)
    told = f"{share}, limited by {limits}" if limits and share else share or "What occupancy hangs on"
    step = picture.next_block
    if step is None or step.prevented_by:
        return told
    needs = [f"{step.registers} registers" if step.registers is not None else ""]
    needs.append(f"{numbers.byte_count(step.shared_bytes)} of shared memory" if step.shared_bytes is not None else "")
    asked = " and ".join(one for one in needs if one)
    return f"{told}; {step.blocks} blocks an SM need at most {asked}" if asked else told


def _register_room(picture: OccupancyPicture, registers: int) -> tuple[int | None, int | None]:
    """Return registers a thread may have more with the same warps, and the warps beyond; None where not known."""
    curve = next((one for one in picture.curves if one.varies == "registers"), None)
    now = warps_at(curve, registers) if curve is not None else None
    if curve is None or now is None:
        return None, None
    beyond = [(x, warps) for x, warps in zip(curve.x, curve.warps, strict=True) if x > registers and warps < now]
    return (beyond[0][0] - 1 - registers, beyond[0][1]) if beyond else (None, None)


def limits_note(summary: LaunchSummary) -> str:
    """Say how many blocks each resource allows."""
    if not summary.occupancy_limits:
        return f"Limits not collected: profile with --section {METRICS['theoretical_occupancy_pct'].section}"
    told = ", ".join(f"{name} {numbers.integer(blocks)}" for name, blocks in summary.occupancy_limits.items())
    return f"Blocks an SM holds by each resource: {told}."


def accesses_headline(found: Inspection) -> str:
    """Say which access takes more than it needs."""
    access = found.view.accesses.get(found.view.summaries[0].launch)
    if access is None or not access.accesses:
        return "Memory accesses"
    worst = worst_access(found)
    if worst is None:
        return f"Every access that can be judged stays within {OVER_IDEAL}× of its ideal"
    return f"{access_name(worst)} take {numbers.ratio(worst.over_ideal)} the {worst.unit}s they need"


def rules_headline(found: Inspection) -> str:
    """Say how many rules see room, and the largest estimate."""
    estimates: Sequence[float] = [rule.speedup_pct for rule in found.rules if rule.speedup_pct is not None]
    if not found.rules:
        return "What Nsight Compute's rules say"
    if not estimates:
        return "Nsight Compute's rules estimate no speed-up"
    many = "One rule of Nsight Compute estimates" if len(estimates) == 1 else (
        f"{_capital(count_word(len(estimates)))} rules of Nsight Compute estimate"
    )  # fmt: skip
    return f"{many} a speed-up, the largest {numbers.percent(max(estimates))}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
