"""Figures that others published for a stage, to be shown beside the user's own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """One published figure of one stage, from ``kernels/published/``.

    Figures of unlike GPUs, and of unlike quantities, compare only as ratios within their own source.

    Attributes:
        stage: Stage id; of stages that this ladder does not have too.
        gpu: What it was measured on.
        problem: Of which problem; empty where the source does not tell.
        quantity: ``speed`` or ``effective bandwidth``: more is faster in both.
        value: In ``unit``.
        unit: ``GFLOP/s`` or ``GB/s``.
        source: Author, title, date.
        url: Where it stands.
        note: What else is to be known; empty for nothing.
        share_of_reference: It over the reference's figure in the same source, 0 to 1; None without one there.
        step: It over the predecessor's figure in the same source; None without one there.
    """

    stage: str
    gpu: str
    problem: str
    quantity: str
    value: float
    unit: str
    source: str
    url: str
    note: str = ""
    share_of_reference: float | None = None
    step: float | None = None
