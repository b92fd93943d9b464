"""What ``check --sanitize`` finds of a stage: its results, and what compute-sanitizer says of its kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from ncu_lab.model.stages import CheckCase

SanitizerTool = Literal["memcheck", "racecheck", "initcheck", "synccheck"]

SANITIZER_TOOLS: tuple[SanitizerTool, ...] = get_args(SanitizerTool)


@dataclass(frozen=True, slots=True)
class SanitizerFinding:
    """What one tool said of one stage.

    Attributes:
        stage: Stage id.
        tool: Which tool.
        passed: Whether it ran to its end and found nothing.
        errors: How many errors and hazards it counted; None where it did not come to count.
        detail: Its first finding in its own words, or why it found nothing out.
        seconds: Time taken.
    """

    stage: str
    tool: SanitizerTool
    passed: bool
    errors: int | None = None
    detail: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class StageProof:
    """All that was tried on one stage.

    Attributes:
        stage: Stage id.
        cases: Every correctness case; empty where its program failed.
        findings: One for each tool; empty for a library reference, whose kernels are not ours.
        failure: Why its program did not come to its end (a crash, a hang); empty where it did.
        seconds: Time that the cases took.
    """

    stage: str
    cases: tuple[CheckCase, ...]
    findings: tuple[SanitizerFinding, ...] = ()
    failure: str = ""
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether everything is as it should be."""
        return not self.failure and all(one.passed for one in self.cases) and all(one.passed for one in self.findings)

    @property
    def repetitions(self) -> int:
        """Launches of one input whose results were bit-equal, by the case that was repeated the most."""
        return max((one.repetitions for one in self.cases if one.passed), default=0)
