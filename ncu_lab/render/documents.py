"""The JSON documents of ``show`` and ``ladder``; their shapes are stable and only grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ncu_lab.metrics import METRICS
from ncu_lab.model import Device, Json, Ladder, LadderRow, LaunchSummary, Notice, Problem, RunView
from ncu_lab.render.access import access_document
from ncu_lab.render.attribution import attribution_document, chain_document, lacking_document
from ncu_lab.render.expectations import findings_document, row_of
from ncu_lab.render.explanation import ladder_sentences, launch_sentences, sentences_document
from ncu_lab.render.published import published_document
from ncu_lab.render.roofs import peak_documents, point_document, roof_document, roofline_document
from ncu_lab.render.source import Code, source_document
from ncu_lab.render.verdict import verdict_document

if TYPE_CHECKING:
    from ncu_lab.model import RunMeta


def show_document(
    view: RunView, summaries: Sequence[LaunchSummary], *, raw: bool = False, code: Code | None = None
) -> Json:
    """Build the document of ``show``: the source, what it was measured on, and the launches.

    Args:
        view: The run.
        summaries: The launches to tell of.
        raw: Whether to add every metric of the report to each launch, by its Nsight Compute name.
        code: What of their code to add to those launches that it has.
    """
    meta = view.run.meta
    launches = [_launch(view, summary) for summary in summaries]
    if raw:
        for launch, metrics in zip(launches, _raw(view, summaries), strict=True):
            launch["raw"] = metrics
    if code is not None:
        for launch in launches:
            launch.update(source_document(code.spots[launch["launch"]], sass=code.choice.sass))
    return {
        "source": run_document(meta),
        "device": _device(meta.device),
        "environment": asdict(meta.environment),
        "session": asdict(meta.session) if meta.session else None,
        "peaks": peak_documents(meta.peaks, view.datasheet),
        "tiles": {id: asdict(choice) for id, choice in meta.tiles.items()},
        "launches": launches,
        "warnings": notices_document(meta.warnings),
    }


def ladder_document(ladder: Ladder) -> Json:
    """Build the document of ``ladder``: one entry a stage, then the references, roofs and what was left out."""
    return {
        "device": _device(ladder.device),
        "environment": asdict(ladder.environment),
        "problem": asdict(ladder.problem),
        "stages": [_stage(row, ladder) for row in ladder.rows],
        "references": [_stage(row, ladder) for row in ladder.references],
        **_fp32_chart(ladder),
        "rooflines": [roofline_document(chart) for chart in ladder.rooflines],
        "peaks": peak_documents(ladder.measured, ladder.datasheet),
        "chain": chain_document(ladder.chain),
        "explanation": sentences_document(ladder_sentences(ladder.explanation)),
        "omitted": notices_document(ladder.omitted),
        "warnings": notices_document(ladder.warnings),
    }


def _fp32_chart(ladder: Ladder) -> Json:
    """Keep the FP32 chart where it stood before there were others."""
    chart = ladder.roofline("fp32")
    if chart is None:
        return {"roofs": [], "points": []}
    document = roofline_document(chart)
    return {"roofs": document["roofs"], "points": document["points"]}


def run_document(meta: RunMeta) -> Json:
    """Say which run something is from, and of which commit and problem it is."""
    git = meta.git
    return {
        "run": meta.id,
        "kind": meta.source,
        "name": meta.name,
        "status": meta.status,
        "error": meta.error,
        "created": meta.created,
        "stages": list(meta.stages),
        "problem": _problem(meta.problem),
        "commit": git.commit,
        "branch": git.branch,
        "dirty": git.dirty,
        "subject": git.subject,
    }


def _problem(problem: Problem | None) -> Json | None:
    return asdict(problem) if problem else None


def _device(device: Device | None) -> Json | None:
    """Describe the GPU; all attributes of the report stay in the run, as they are many."""
    if device is None:
        return None
    capability = device.compute_capability
    return {
        "name": device.name,
        "compute_capability": ".".join(str(part) for part in capability) if capability else None,
        "sm_count": device.sm_count,
        "memory_bytes": device.memory_bytes,
        "l2_bytes": device.l2_bytes,
        "max_sm_clock_hz": device.max_sm_clock_hz,
    }


def notices_document(notices: Sequence[Notice]) -> list[Json]:
    """Write notices with their codes."""
    return [asdict(notice) for notice in notices]


def _size(size: tuple[int, int, int]) -> list[int] | None:
    """Return a grid or block; None where an export does not tell it, which is zeros in a table."""
    return None if 0 in size else list(size)


def _launch(view: RunView, summary: LaunchSummary) -> Json:
    return {
        "launch": summary.launch,
        "stage": summary.stage,
        "kernel": summary.kernel,
        "function": summary.function,
        "grid": _size(summary.grid),
        "block": _size(summary.block),
        "workload": summary.workload,
        "role": summary.role,
        "nvtx": list(summary.nvtx),
        "metrics": _metrics(summary),
        "stalls": summary.stalls,
        "stalls_from": summary.stalls_from,
        "stall_cycles": dict(summary.stall_cycles),
        "occupancy_limits": dict(summary.occupancy_limits),
        "roofs": [roof_document(roof) for roof in view.roofs.get(summary.launch, ())],
        "points": [point_document(point) for point in view.points.get(summary.launch, ())],
        "verdict": verdict_document(view.verdicts.get(summary.launch)),
        "expectations": findings_document(row_of(view, summary)),
        **access_document(view.accesses.get(summary.launch)),
        "explanation": _explanation(view, summary),
    }


def _explanation(view: RunView, summary: LaunchSummary) -> list[Json]:
    explanation = view.explanations.get(summary.launch)
    return sentences_document(launch_sentences(explanation)) if explanation else []


def _metrics(summary: LaunchSummary) -> Json:
    """Return every key of the catalogue; one that was not collected with the section that collects it."""
    return {
        key: {
            "value": reading.value,
            "unit": reading.unit,
            "metric": reading.metric,
            **({"section": METRICS[key].section} if reading.missing else {}),
        }
        for key, reading in summary.readings.items()
    }


def _raw(view: RunView, summaries: Sequence[LaunchSummary]) -> list[Mapping[str, Any]]:
    """Return, for each launch, every metric of the report: a number, else the word it is."""
    table = view.run.metrics
    found: dict[int, Json] = {summary.launch: {} for summary in summaries}
    wanted = table[table["launch"].isin(list(found))]
    columns = (wanted[name] for name in ("launch", "metric", "value", "text", "unit"))
    for launch, metric, value, text, unit in zip(*columns, strict=True):
        word = text if isinstance(text, str) else None
        found[launch][metric] = {"value": word if value != value else value, "unit": unit}
    return [found[summary.launch] for summary in summaries]


def _stage(row: LadderRow, ladder: Ladder) -> Json:
    summary = row.summary
    share = row.share_of_reference
    return {
        "stage": row.stage.id,
        "title": row.stage.title,
        "dtype": row.stage.dtype,
        "run": row.run,
        "problem": _problem(row.problem),
        "median_ns": row.median_ns,
        "samples_ns": list(row.samples_ns),
        "time_source": row.time_source,
        "gflops": None if row.flop_per_s is None else row.flop_per_s / 1e9,
        "pct_of_reference": None if share is None else share * 100.0,
        "reference": row.stage.reference,
        "predecessor": row.stage.predecessor,
        "step": row.step,
        "metrics": _metrics(summary) if summary else {},
        "stalls": summary.stalls if summary else {},
        "build": None if row.build is None else _build(row),
        "verdict": verdict_document(row.verdict),
        "expectations": findings_document(row),
        "published": published_document(ladder.published, row.stage.id),
        "attribution": attribution_document(row.attribution),
        "attribution_lacks": lacking_document(row.attribution),
    }


def _build(row: LadderRow) -> Json:
    build = row.build
    assert build is not None
    names = ("variant", "arch", "registers", "spill_store_bytes", "spill_load_bytes", "stack_bytes", "shared_bytes")
    return {name: getattr(build, name) for name in names}
