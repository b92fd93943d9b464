"""What a gate lets pass: limits by stage, kernel and metric, and what to do where nothing certain can be said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from typing import Literal

from ncu_lab.metrics import CATALOGUE, METRICS, Kind
from ncu_lab.model.comparison import MARGIN
from ncu_lab.model.expectations import BUILD, BUILD_UNITS, SASS

Direction = Literal["lower", "higher", "either"]
"""Which way is better; ``either`` allows no change in any."""

Consequence = Literal["report", "fail"]

BLOCKS_PER_SM, INSTRUCTIONS = f"{BUILD}blocks_per_sm", f"{BUILD}instructions"
"""Keys of the blocks that an SM holds of a build, and of the instructions in its machine code."""

GATED_BUILD_UNITS: Mapping[str, str] = {
    **{BUILD + name: unit for name, unit in BUILD_UNITS.items()},
    BLOCKS_PER_SM: "block/SM",
    INSTRUCTIONS: "inst",
}
"""Key of each quantity of the compiler that can be gated -> unit; ``sass:<opcode>`` beside them."""


@dataclass(frozen=True, slots=True)
class Limit:
    """How much worse a quantity may become: a share of what it was, or so much in its own unit."""

    value: float
    relative: bool = True

    def allowance(self, before: float) -> float:
        """Return by how much it may get worse, in its unit."""
        return self.value * abs(before) if self.relative else self.value


@dataclass(frozen=True, slots=True)
class Rule:
    """What a policy says of some quantities of some kernels; what is None is left to the rules before it.

    Attributes:
        metric: Pattern (``*``) of catalogue keys, ``build:…`` and ``sass:<opcode>``.
        stage: Pattern of stage ids; launches of no stage match ``*`` alone.
        kernel: Pattern of function names.
        limit: How much worse is allowed; ``off`` where the quantity is not gated.
        kind: Whether it is held exactly or statistically; as the catalogue says where no rule does.
        better: Which way is better; likewise.
        inconclusive: What follows when the samples cannot tell.
        missing: What follows when one side lacks it.
    """

    metric: str
    stage: str = "*"
    kernel: str = "*"
    limit: Limit | Literal["off"] | None = None
    kind: Kind | None = None
    better: Direction | None = None
    inconclusive: Consequence | None = None
    missing: Consequence | None = None

    def fits(self, stage: str | None, function: str, key: str) -> bool:
        """Return whether it speaks of a quantity of a kernel."""
        return (
            fnmatchcase(key, self.metric)
            and (self.stage == "*" if stage is None else fnmatchcase(stage, self.stage))
            and fnmatchcase(function, self.kernel)
        )

    @property
    def words(self) -> str:
        """``duration_ns of kernel saxpy*``: what it speaks of."""
        named = [(one, name) for one, name in (("stage", self.stage), ("kernel", self.kernel)) if name != "*"]
        return self.metric + (f" of {' and '.join(f'{one} {name}' for one, name in named)}" if named else "")

    def over(self, earlier: Rule) -> Rule:
        """Return the earlier rule with all that this one says."""
        said = {item.name: value for item in fields(Rule) if (value := getattr(self, item.name)) is not None}
        return replace(earlier, **said)


@dataclass(frozen=True, slots=True)
class Held:
    """What holds for one quantity of one kernel, once all rules are read; see :class:`Rule`."""

    limit: Limit
    kind: Kind
    better: Direction
    inconclusive: Consequence
    missing: Consequence


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of a gate. Of those that fit a quantity the later wins, in each thing that it says.

    Attributes:
        rules: The user's, in the order of the file.
        defaults: Whether :data:`DEFAULT_RULES` come before them.
        inconclusive: What follows when samples cannot tell, unless a rule says otherwise.
        missing: What follows when one side lacks a quantity, unless a rule says otherwise.
        unmatched: What follows when a rule of the file speaks of nothing that was compared.
        file: Where it is from, for people; empty where there is no file.
    """

    rules: tuple[Rule, ...] = ()
    defaults: bool = True
    inconclusive: Consequence = "report"
    missing: Consequence = "report"
    unmatched: Consequence = "report"
    file: str = ""

    def held(self, stage: str | None, function: str, key: str) -> Held | None:
        """Return what holds for a quantity of a kernel; None where it is not gated."""
        said: Rule | None = None
        for rule in (*DEFAULT_RULES, *self.rules) if self.defaults else self.rules:
            if rule.fits(stage, function, key):
                said = rule if said is None else rule.over(said)
        if said is None or said.limit is None or said.limit == "off":
            return None
        return Held(
            limit=said.limit,
            kind=said.kind or gated_kind(key),
            better=said.better or gated_direction(key),
            inconclusive=said.inconclusive or self.inconclusive,
            missing=said.missing or self.missing,
        )


NO_WORSE = Limit(0.0)

DEFAULT_RULES: tuple[Rule, ...] = (
    Rule("duration_ns", limit=Limit(MARGIN), kind="noisy", better="lower"),
    *(
        Rule(one.key, limit=NO_WORSE)
        for one in CATALOGUE
        if one.kind == "exact" and one.better == "lower" and one.key != "duration_ns"
    ),
    *(Rule(key, limit=NO_WORSE, better="lower") for key in ("registers_per_thread", "shared_memory_per_block")),
    *(Rule(BUILD + name, limit=NO_WORSE, better="lower") for name in BUILD_UNITS),
    Rule(BLOCKS_PER_SM, limit=NO_WORSE, better="higher"),
    # Machine code of a tenth more is worth a look; less than that comes with any change, and costs nothing by itself.
    Rule(INSTRUCTIONS, limit=Limit(0.10), better="lower"),
)
"""What is gated where no file says otherwise: durations by the margin, exact counters of which less is better, and what
a block takes of an SM."""


def gated_unit(key: str) -> str:
    """Return the unit of a quantity that can be gated.

    Raises:
        KeyError: When there is no such quantity.
    """
    if key.startswith(SASS):
        return "inst"
    return GATED_BUILD_UNITS[key] if key in GATED_BUILD_UNITS else METRICS[key].unit


def gated_kind(key: str) -> Kind:
    """Return the class of a quantity: what the compiler says is exact."""
    return METRICS[key].kind if key in METRICS else "exact"


def gated_direction(key: str) -> Direction:
    """Return which way is better by the catalogue; ``either`` where it does not say."""
    better = METRICS[key].better if key in METRICS else "neutral"
    return "either" if better == "neutral" else better
