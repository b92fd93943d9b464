"""Measures what the GPU at hand reaches, to stand beside what its report and its datasheet say."""

from __future__ import annotations

import time

from ncu_lab.errors import NcuLabError
from ncu_lab.gpu.compile import build_stage, default_arch
from ncu_lab.gpu.peaks import SOURCES, read_peaks
from ncu_lab.gpu.request import Subject, TargetRequest
from ncu_lab.gpu.supervisor import run_target
from ncu_lab.model import MeasuredPeak, Notice, Problem, ProgressEvent, Reporter, silent
from ncu_lab.render.roofs import peak_words
from ncu_lab.resources import data_dir

TIMEOUT_S = 60.0
_SUBJECT = "peaks"


def measure_peaks(
    report: Reporter = silent, *, timeout_s: float = TIMEOUT_S
) -> tuple[tuple[MeasuredPeak, ...], tuple[Notice, ...]]:
    """Measure bandwidths and arithmetic peaks, in a process of their own: under a second beside its start.

    Nothing depends on them, so that what goes wrong is told and stops nothing.

    Args:
        report: Told of it, as part of ``bench``.
        timeout_s: Seconds after which it is given up.

    Returns:
        The peaks, none where they could not be measured; and then why.
    """
    begin = time.monotonic()
    report(ProgressEvent("bench", _SUBJECT, "start"))
    try:
        # The tool's own, whatever kernels take the place of the ladder's.
        builds = [build_stage(source, default_arch(), kernels_dir=data_dir("kernels")) for source in SOURCES]
        subjects = tuple(Subject(source, str(build.cubin)) for source, build in zip(SOURCES, builds, strict=True))
        result = run_target(TargetRequest("peaks", Problem(1, 1, 1), subjects), timeout_s=timeout_s)
    except NcuLabError as error:
        report(ProgressEvent("bench", _SUBJECT, "failed", error.message))
        return (), (Notice("peaks_not_measured", f"what this GPU reaches was not measured: {error.message}"),)
    peaks = read_peaks(result)
    seconds = time.monotonic() - begin
    report(ProgressEvent("bench", _SUBJECT, "done", peak_words(peaks), seconds=seconds))
    return peaks, ()
