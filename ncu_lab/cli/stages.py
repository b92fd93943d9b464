"""``ncu-lab stages``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ncu_lab.advice import as_called
from ncu_lab.cli.options import Format, FormatOption

if TYPE_CHECKING:
    from ncu_lab.model import Stage


def stages(format: FormatOption = Format.TABLE) -> None:
    """List the stages of the ladder and what each changes.

    Beside it the tile, the bottleneck expected and what the stage needs. Works without a GPU.
    """
    from ncu_lab.gpu.registry import load_stages
    from ncu_lab.render.terminal import Column, Terminal, emit

    columns = [
        Column("id", "stage", align="left"),
        Column("change", "changes", align="left", priority=1, least=34),
        Column("tile", "tile", _short_tile, "left", priority=2),
        Column("bottleneck", "expected bottleneck", align="left", priority=4, least=24),
        Column("needs", "needs", align="left", priority=3),
    ]
    emit([_row(stage) for stage in load_stages().values()], columns, format.value, sys.stdout, name="stages")
    if format is Format.TABLE:
        Terminal(sys.stdout).line(
            as_called("\nNext: ncu-lab build --stage 2d, or on a machine with a GPU ncu-lab profile --stage 2d")
        )


def _row(stage: Stage) -> dict[str, Any]:
    return {
        "id": stage.id,
        "title": stage.title,
        "change": stage.change,
        "bottleneck": stage.bottleneck,
        "dtype": stage.dtype,
        "operation": stage.operation,
        "tile": dict(stage.tile) or None,
        "block": None if stage.is_reference else list(stage.block),
        "needs": stage.needs,
        "predecessor": stage.predecessor,
        "reference": stage.reference,
        "file": stage.file or None,
    }


def _short_tile(row: Any) -> str:
    tile = row["tile"]
    return "×".join(str(tile[name]) for name in ("BM", "BN", "BK") if name in tile) if tile else "–"
