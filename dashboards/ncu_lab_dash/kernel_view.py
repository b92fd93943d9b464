"""What the Kernel page shows, as its address says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args
from urllib.parse import parse_qsl, urlencode

from ncu_lab.render.palette import ThemeName
from ncu_lab_dash.told import number_of, one_of, reference_of, text_of

CodeView = Literal["source", "sass", "both"]
SpotSort = Literal["samples", "source", "excess", "executed"]
Amounts = Literal["amount", "rate"]
Units = Literal["largest", "all"]


@dataclass(frozen=True, slots=True)
class KernelView:
    """One view of the page; None leaves the choice to the page.

    Attributes:
        run: Id of a run, or key of an opened file; in an address also what else means a run.
        launch: Row of its launches table; what stands there and is no number, as it was asked for.
        stage: Stage to open with, where no launch is named.
        units: The six largest units of each side, or all.
        amounts: The memory chart in amounts, or per second.
        code: Lines of source, instructions, or both.
        sort: Order of the hot spots.
        rows: Only the hot spots that matter, or all.
        line: The chosen line, as :func:`ncu_lab_dash.kernel_spots.spot_key` writes it.
        metric: What is searched for among the metrics.
        theme: Only if chosen.
    """

    run: str | None = None
    launch: int | str | None = None
    stage: str | None = None
    units: Units = "largest"
    amounts: Amounts = "amount"
    code: CodeView = "source"
    sort: SpotSort = "samples"
    rows: Literal["hot", "all"] = "hot"
    line: str | None = None
    metric: str | None = None
    theme: ThemeName | None = None

    @property
    def launch_number(self) -> int | None:
        """The launch; None where none is named that could be one."""
        return self.launch if isinstance(self.launch, int) else None

    def search(self) -> str:
        """Write the view as the query of an address; what is as by default is left out."""
        default = KernelView()
        changed = {
            name: value
            for name in self.__slots__
            if (value := getattr(self, name)) not in (None, getattr(default, name))
        }
        return f"?{urlencode(changed)}" if changed else ""


def kernel_address(run: str, *, launch: int | None = None, stage: str | None = None) -> str:
    """Return the address of the page that shows a launch, or a stage of a run."""
    return f"/kernel{KernelView(run=run, launch=launch, stage=stage).search()}"


def read_search(search: Any) -> KernelView:
    """Read a query; a value this page does not know falls back to the default."""
    text = search if isinstance(search, str) else ""
    return read_view(dict(parse_qsl(text.removeprefix("?"))))


def _launch_of(value: Any) -> int | str | None:
    number = number_of(value)
    return number if number is not None else reference_of(value)


def read_view(found: Mapping[str, Any]) -> KernelView:
    """Read a view from values by field, of whatever kind a browser sent; what is unknown falls back to the default."""
    default = KernelView()
    return KernelView(
        run=reference_of(found.get("run")),
        launch=_launch_of(found.get("launch")),
        stage=reference_of(found.get("stage")),
        units=one_of(found.get("units"), get_args(Units), default.units),
        amounts=one_of(found.get("amounts"), get_args(Amounts), default.amounts),
        code=one_of(found.get("code"), get_args(CodeView), default.code),
        sort=one_of(found.get("sort"), get_args(SpotSort), default.sort),
        rows=one_of(found.get("rows"), ("hot", "all"), default.rows),
        line=text_of(found.get("line")),
        metric=text_of(found.get("metric")),
        theme=one_of(found.get("theme"), get_args(ThemeName), None),
    )
