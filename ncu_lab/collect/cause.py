"""What is known of one cause of failure."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_lab.errors import NcuLabError


@dataclass(frozen=True, slots=True)
class Cause:
    """A known cause of failure.

    Attributes:
        code: Stable name.
        when: How it comes about, for the documentation.
        pattern: What betrays it in ncu's words; named groups fill ``message``. Empty where no words do: then it is
            told from how the run ended and what the report holds.
        message: What happened, for people.
        hint: What to do.
        error: The error it becomes, which carries the exit code.
        seen: Where its words come from: a recorded output (``recorded/NAME`` in ``tests/data/ncu``), NVIDIA's
            documentation, or public reports.
        retryable: Whether the same command may succeed a little later.
        is_consequence: Whether ncu says it also after another failure; then it only counts where no cause is known.
        in_output: Whether it is looked for in the program's own output too.
    """

    code: str
    when: str
    pattern: str
    message: str
    hint: str
    error: type[NcuLabError]
    seen: str
    retryable: bool = False
    is_consequence: bool = False
    in_output: bool = False
