"""Reads ``kernels/published/*.csv``: figures that others published, each with its source and hardware."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from ncu_lab.errors import InputError
from ncu_lab.model import PublishedFigure, Stage
from ncu_lab.resources import data_dir

FOLDER = "published"

_COLUMNS = ("stage", "gpu", "problem", "quantity", "value", "unit", "source", "url", "note")
_NEEDED = ("gpu", "quantity", "value", "unit", "source", "url")
_QUANTITIES = {"speed": "GFLOP/s", "effective bandwidth": "GB/s"}


def load_published(stages: Mapping[str, Stage], folder: Path | None = None) -> tuple[PublishedFigure, ...]:
    """Return the published figures of stages, with their ratios within their own source.

    Args:
        stages: The registry, which tells references and predecessors.
        folder: Where the CSV files are, by default the bundled ones. A row without a stage is of what no stage does; it
            is checked like all others, and left out.

    Returns:
        Figures in the order of files and lines.

    Raises:
        InputError: When a file cannot be read or a figure lacks its source, hardware or unit; names file and line.
    """
    found: list[PublishedFigure] = []
    for path in sorted((folder or data_dir("kernels") / FOLDER).glob("*.csv")):
        figures = [figure for figure in _figures(path) if figure.stage]
        found += [_with_ratios(figure, figures, stages, path) for figure in figures]
    return tuple(found)


def _figures(path: Path) -> list[PublishedFigure]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            rows = [(reader.line_num, row) for row in reader]
            columns = tuple(reader.fieldnames or ())
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not valid CSV: {error}") from error
    if columns != _COLUMNS:
        raise InputError(f"{path}: its columns must be {', '.join(_COLUMNS)}", f"They are {', '.join(columns)}.")
    return [_figure(row, f"{path}, line {line}") for line, row in rows]


def _figure(row: Mapping[str, str | None], where: str) -> PublishedFigure:
    if None in row or None in row.values():
        raise InputError(f"{where}: needs {len(_COLUMNS)} fields")
    fields = {name: (row[name] or "").strip() for name in _COLUMNS}
    for name in _NEEDED:
        if not fields[name]:
            raise InputError(f'{where}: "{name}" is missing', "No figure without its source and hardware.")
    if _QUANTITIES.get(fields["quantity"]) != fields["unit"]:
        known = ", ".join(f"{quantity} in {unit}" for quantity, unit in _QUANTITIES.items())
        raise InputError(f"{where}: {fields['quantity']} in {fields['unit']} is unknown", f"Known: {known}.")
    try:
        value = float(fields["value"])
    except ValueError as error:
        raise InputError(f"{where}: value is no number: {error}") from error
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"{where}: value must be above 0, not {value}")
    return PublishedFigure(
        stage=fields["stage"],
        gpu=fields["gpu"],
        problem=fields["problem"],
        quantity=fields["quantity"],
        value=value,
        unit=fields["unit"],
        source=fields["source"],
        url=fields["url"],
        note=fields["note"],
    )


def _with_ratios(
    figure: PublishedFigure, figures: Iterable[PublishedFigure], stages: Mapping[str, Stage], path: Path
) -> PublishedFigure:
    """Add the ratios to the reference's and to the predecessor's figure of the same kind in the same file."""
    values: dict[str, float] = {}
    for other in figures:
        if _kind(other) == _kind(figure):
            if other.stage in values:
                raise InputError(f"{path}: two figures of {other.stage}: {other.quantity} on {other.gpu}")
            values[other.stage] = other.value
    stage = stages.get(figure.stage)
    reference = values.get(_reference(figure.stage, stages, values) or "")
    before = values.get(stage.predecessor or "") if stage else None
    return replace(
        figure,
        share_of_reference=figure.value / reference if reference else None,
        step=figure.value / before if before else None,
    )


def _reference(id: str, stages: Mapping[str, Stage], values: Mapping[str, float]) -> str | None:
    """Return the reference of a stage; of one that this ladder lacks, the only one of its source."""
    if id in stages:
        return stages[id].reference
    found = [other for other in values if other in stages and stages[other].is_reference]
    return found[0] if len(found) == 1 else None


def _kind(figure: PublishedFigure) -> tuple[str, ...]:
    return figure.gpu, figure.problem, figure.quantity, figure.unit, figure.source
