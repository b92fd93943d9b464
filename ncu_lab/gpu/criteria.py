"""Correctness: which cases a stage must pass, how large an error is, and how large it may be. Pure.

Array arguments may be numpy's or cupy's: nothing here needs to know which.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ncu_lab.errors import UsageError
from ncu_lab.model import Dtype, Operation, Problem, Stage

U = 2.0**-24
"""Unit roundoff of FP32."""

TF32_INPUT = 2.0**-10
"""Largest relative error of one TF32 input: ten bits of mantissa, and a tensor core may truncate, not round."""

REPETITIONS = 20
"""How often one case is repeated: a result that changes is a race."""

MAX_EDGE_ELEMENTS = 2**25
"""Elements of C above which a built-in case is left out: C = A·Aᵀ would make tall cases enormous."""


@dataclass(frozen=True, slots=True)
class Case:
    """One correctness case.

    Attributes:
        name: Words for people.
        problem: Shape, alpha and beta.
        pad: Elements by which each leading dimension exceeds its row.
        offset: Elements by which each base pointer is shifted off its alignment.
        repetitions: Times the launch is repeated; all results must be bit-equal.
    """

    name: str
    problem: Problem
    pad: int = 0
    offset: int = 0
    repetitions: int = 1


def limit(dtype: Dtype, k: int, operation: Operation = "ab") -> float:
    """Return the largest componentwise error allowed for inner products of length ``k``.

    The error is |c - ref| / (|alpha|·Σ|a||b| + |beta·c0|), elementwise.

    ``fp32``: the deterministic bound is (k + 3)·u for any order of summation, with the rounding of alpha, beta and
    their sum (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1). For inputs of zero mean
    the error does not grow with k but stays a small multiple of u (Higham and Mary, Sharper Probabilistic Backward
    Error Analysis …, SIAM J. Sci. Comput. 42, 2020); normal inputs show about 0.5·u (one standard deviation), at most
    some 5·u over all elements. So min(k + 3, 32)·u: rounding the inputs to TF32 exceeds it at every k up to 16384.
    On the diagonal of C = A·Aᵀ all products are positive; there the error grows as √k (Higham and Mary, A New Approach
    to Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41, 2019), hence 2·√k·u more.

    ``fp16``, ``bf16``: products are exact in FP32; tensor cores truncate instead of rounding, so 2·u an operation
    (Blanchard, Higham, Lopez, Mary, Pranesh, Mixed Precision Block Fused Multiply-Add, SIAM J. Sci. Comput. 42, 2020),
    and truncation is biased, so its error does grow, as √k: 2·u·(min(k, 4·√k) + 3). FP16 accumulation exceeds it.

    ``tf32``: that, and two rounded inputs whose errors average out over k: 2·2^-10·min(1, 8 / √k).
    """
    if dtype == "fp32":
        growth = 2.0 * math.sqrt(k) if operation == "aat" else 0.0
        return min(k + 3, 32 + growth) * U
    accumulation = 2.0 * U * (min(k, 4.0 * math.sqrt(k)) + 3)
    if dtype == "tf32":
        return accumulation + 2.0 * TF32_INPUT * min(1.0, 8.0 / math.sqrt(max(k, 1)))
    return accumulation


@dataclass(frozen=True, slots=True)
class Errors:
    """How far a result is off: see :class:`ncu_lab.model.CheckCase`; ``bad`` counts elements not within the limit."""

    max_rel_error: float
    norm_error: float
    bad: int
    first_bad: tuple[int, int] | None

    @property
    def passed(self) -> bool:
        """Whether every element is within the limit; a NaN is not."""
        return self.bad == 0


def errors(c: Any, reference: Any, scale: Any, allowed: float) -> Errors:
    """Compare a result with the float64 reference, every element.

    Args:
        c: Result, m x n.
        reference: alpha·A·B + beta·C0 in float64.
        scale: |alpha|·|A||B| + |beta·C0| in float64.
        allowed: From :func:`limit`.
    """
    difference = abs(c.astype("float64") - reference)
    # Where nothing is summed the result must be exact: any difference becomes huge.
    relative = difference / (scale + (scale == 0) * 1e-200)
    within = relative <= allowed  # False for NaN
    bad = int((~within).sum())
    norm = math.sqrt(float((reference * reference).sum()))
    return Errors(
        max_rel_error=float(relative.max()),
        norm_error=math.sqrt(float((difference * difference).sum())) / (norm or 1.0),
        bad=bad,
        first_bad=divmod(int((~within).argmax()), c.shape[1]) if bad else None,
    )


def explain(found: Errors, c: Any, reference: Any) -> str:
    """Say in words what is wrong with a result: how many elements, and the first of them."""
    if found.first_bad is None:
        return ""
    row, column = found.first_bad
    got = float(c[row, column])
    words = "not written, or NaN" if math.isnan(got) else f"{got:.9g} instead of {float(reference[row, column]):.9g}"
    return f"{found.bad} of {c.shape[0] * c.shape[1]} elements wrong; C[{row}, {column}] is {words}"


def cases(
    stage: Stage, problem: Problem, *, quick: bool, shapes: Iterable[Problem] = (), repeat: int | None = None
) -> list[Case]:
    """Return what a stage is checked with: the problem asked for, fourteen small cases, and without ``quick`` more.

    Cases that the stage refuses (a grid beyond the GPU's limits) or that C = A·Aᵀ makes enormous are left out. With
    ``repeat`` the problem asked for is repeated so often, and so are the cases meant for it.
    """
    asked = [Case("as asked", problem, repetitions=repeat or 1), *(Case("shape", shape) for shape in shapes)]
    built_in = [*_small_cases(stage), *([] if quick else _more_cases(stage, repeat or REPETITIONS))]
    kept = [case for case in built_in if _is_modest(stage, case.problem)]
    return [_shaped(stage, case) for case in asked + kept]


def _shaped(stage: Stage, case: Case) -> Case:
    return Case(case.name, stage.shape(case.problem), case.pad, case.offset, case.repetitions)


def _is_modest(stage: Stage, problem: Problem) -> bool:
    try:
        shape = stage.shape(problem)
    except UsageError:  # beyond 2^31 elements
        return False
    return shape.m * shape.n <= MAX_EDGE_ELEMENTS


def _tile(stage: Stage) -> tuple[int, int, int]:
    """BM, BN, BK of a stage; a library reference, which has none, is checked around 128 x 128 x 32."""
    return stage.tile.get("BM", 128), stage.tile.get("BN", 128), stage.tile.get("BK", 32)


def _small_cases(stage: Stage) -> list[Case]:
    bm, bn, bk = _tile(stage)
    whole = (2 * bm, 2 * bn, 4 * bk)
    return [
        Case("one element", Problem(1, 1, 1)),
        Case("one tile", Problem(bm, bn, bk)),
        Case("one more than a tile", Problem(bm + 1, bn + 1, bk + 1)),
        Case("one less than a tile", Problem(max(1, bm - 1), max(1, bn - 1), max(1, bk - 1))),
        Case("primes", Problem(127, 131, 137)),
        Case("k = 1", Problem(64, 96, 1)),
        Case("k beyond a tile", Problem(bm, bn, 2 * bk + 3)),
        Case("odd", Problem(35, 79, 19)),
        Case("tall", Problem(1031, 17, 64)),
        Case("wide", Problem(17, 1031, 64)),
        Case("alpha, beta", Problem(*whole, alpha=-1.5, beta=0.5)),
        Case("rows longer than n, k", Problem(*whole, beta=1.0), pad=7),
        Case("bases off by one element", Problem(*whole), offset=1),
        Case("k = 0", Problem(65, 33, 0, beta=0.5)),
    ]


def _more_cases(stage: Stage, repetitions: int) -> list[Case]:
    bm, bn, bk = _tile(stage)
    whole = (3 * bm, 2 * bn, 5 * bk)
    return [
        Case("tiny", Problem(3, 3, 431)),
        Case("very tall", Problem(30000, 64, 64)),
        Case("uneven", Problem(1752, 4720, 584)),
        Case("long k", Problem(64, 64, 16384)),
        Case("k = 0, beta = 0", Problem(65, 33, 0)),
        Case("alpha = 0", Problem(*whole, alpha=0.0, beta=1.25)),
        Case("alpha = beta = 0", Problem(*whole, alpha=0.0)),
        Case("beta = 0, C is NaN", Problem(*whole, alpha=2.0)),
        Case("beta = 1", Problem(*whole, beta=1.0)),
        Case("rows longer, aligned", Problem(*whole, alpha=0.5, beta=-2.0), pad=64),
        Case("rows longer, odd shape", Problem(bm + 3, bn + 5, bk + 1, beta=0.5), pad=5, offset=1),
        Case("bit-equal, whole tiles", Problem(4 * bm, 4 * bn, 8 * bk), repetitions=repetitions),
        Case("bit-equal, odd shape", Problem(257, 263, 269), repetitions=repetitions),
        Case("bit-equal, odd k", Problem(4 * bm, 4 * bn, 8 * bk + 1), repetitions=repetitions),
        Case("bit-equal, many slices", Problem(bm, bn, 64 * bk, alpha=1.5, beta=-0.5), repetitions=repetitions),
    ]
