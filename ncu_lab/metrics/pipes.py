"""The units that compute: issue slots and arithmetic pipes, apart from the pipe of loads and stores.

``sm__throughput`` is the busiest unit of an SM, and its pipe of loads and stores counts among them (coalesced on an
H200: 76 %, by loads alone). So it does not tell whether a kernel computes; these counters do.
"""

from __future__ import annotations

from ncu_lab.metrics.quantity import Counter, Way, counter

_ELAPSED = "avg.pct_of_peak_sustained_elapsed"

ISSUE_SLOTS = counter(f"sm__issue_active.{_ELAPSED}", f"sm__inst_executed.{_ELAPSED}")
"""Cycles in which a scheduler issued, of elapsed ones."""

_ALU = counter(
    *(
        f"sm__{name}.{_ELAPSED}"
        for name in ("pipe_alu_cycles_active", "pipe_aluheavy_cycles_active", "inst_executed_pipe_alu")
    )
)
_FMA = counter(f"sm__pipe_fma_cycles_active.{_ELAPSED}", f"sm__inst_executed_pipe_fma.{_ELAPSED}")
_FMA_HEAVY = counter(f"sm__pipe_fmaheavy_cycles_active.{_ELAPSED}")
_FP64 = counter(f"sm__pipe_fp64_cycles_active.{_ELAPSED}", f"sm__inst_executed_pipe_fp64.{_ELAPSED}")
_TENSOR = counter(f"sm__pipe_tensor_cycles_active.{_ELAPSED}", f"sm__inst_executed_pipe_tensor.{_ELAPSED}")
_XU = counter(f"sm__inst_executed_pipe_xu.{_ELAPSED}")
_INSTRUCTIONS = counter(f"sm__instruction_throughput.{_ELAPSED}")


def _busiest(*counters: Counter) -> Way:
    return Way(counters, max, f"max({', '.join(f'{{{number}}}' for number in range(len(counters)))})")


COMPUTE = _busiest(ISSUE_SLOTS, _ALU, _FMA, _FMA_HEAVY, _FP64, _TENSOR, _XU)
"""The busiest of issue slots and arithmetic pipes: integer, FMA (and its half that multiplies integers), FP64, tensor,
XU."""

COMPUTE_OTHERWISE: tuple[Way, ...] = (
    _busiest(ISSUE_SLOTS, _ALU, _FMA, _FP64, _TENSOR, _XU),  # CC 7.x does not divide its FMA pipe
    _busiest(ISSUE_SLOTS, _FMA, _FP64, _TENSOR, _XU),
    Way((_INSTRUCTIONS,)),
)
