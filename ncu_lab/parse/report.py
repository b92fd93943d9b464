"""A .ncu-rep into tables. The only module that touches ``ncu_report``, NVIDIA's reader.

That reader hides damage (a cut file simply has fewer results), so the container is walked first and what is lost is
said. It also never gives back the memory of a result it has touched, and works on one core, so large reports are read
in pieces, each in a process of its own (:mod:`ncu_lab.parse.pieces`).
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_lab.errors import InputError
from ncu_lab.model import INSTANCE_COLUMNS, METRIC_COLUMNS, RULE_COLUMNS, Device, Notice, ParsedReport, Stage, table
from ncu_lab.parse.container import VERSION, Container, read_container
from ncu_lab.parse.files import room_told
from ncu_lab.parse.identity import Identity, number_launches
from ncu_lab.parse.pieces import read_apart, spans, workers
from ncu_lab.parse.results import Piece, ResultReader
from ncu_lab.parse.session import environment_from

if TYPE_CHECKING:
    import pandas as pd
    from ncu_report import IContext

Tables = Mapping[str, "pd.DataFrame"]
"""Some rows of the tables ``metrics``, ``instances`` and ``rules``, which are its keys."""


def read_report(
    path: Path, *, stages: Mapping[str, Stage] | None = None, take: Callable[[Tables], None] | None = None
) -> ParsedReport:
    """Read every result, metric, instance and rule of a report, in base units.

    Args:
        path: A .ncu-rep file, not compressed.
        stages: The registered stages; a launch inside a range ``ncu-lab/<id>`` of another id is noticed.
        take: Given the rows of metrics, instances and rules as they are read, so that the memory which a large report
            needs stays bounded; these tables of the report returned are then empty.

    Raises:
        InputError: When the file is no report, or nothing in it can be read.
    """
    container = read_container(path)
    kept: list[Tables] = []
    with _sound_part(path, container) as sound:
        context = _load(sound)
        counts = [context.range_by_idx(index).num_actions() for index in range(context.num_ranges())]
        if not any(counts):
            raise _nothing_readable(path, container)
        whole = _Whole()
        with closing(_pieces(sound, context, container.sizes, sum(counts))) as pieces:
            for piece in pieces:
                (take or kept.append)({"metrics": piece.metrics, "instances": piece.instances, "rules": piece.rules})
                whole.add(piece)
    if not whole.identities:
        raise InputError(f"{path}: no results; NVIDIA's reader ends on each", "pip install --upgrade ncu-report")
    notices = [*_loss(container, sum(counts)), *whole.notices()]
    in_order = (
        len(counts) == 1 and counts[0] == container.complete and len({one.workload for one in whole.identities}) == 1
    )
    if len(set(container.processes)) <= 1 or in_order:
        whole.place(container)
    else:  # only their order tells which result is of which process
        notices.append(Notice("unknown_process", "which process each result comes from cannot be told."))
    return ParsedReport(
        launches=whole.launches(),
        metrics=_joined([one["metrics"] for one in kept], METRIC_COLUMNS),
        instances=_joined([one["instances"] for one in kept], INSTANCE_COLUMNS),
        rules=_joined([one["rules"] for one in kept], RULE_COLUMNS),
        device=next(iter(whole.devices.values()), None),
        environment=environment_from(container.session.versions, container.session.command),
        notices=(*notices, *_unknown_stages(whole.identities, stages)),
        session=container.session,
        sources=whole.sources,
    )


def read_results(path: Path, numbers: range) -> ResultReader:
    """Read some results of a sound report, by their numbers, into columns.

    Raises:
        InputError: When NVIDIA's reader does not take the file.
    """
    return _read_results(_load(path), numbers)


def _read_results(context: IContext, numbers: range) -> ResultReader:
    reader = ResultReader(numbers.start)
    start = 0
    for one in (context.range_by_idx(index) for index in range(context.num_ranges())):
        count = one.num_actions()
        for index in range(max(numbers.start - start, 0), min(numbers.stop - start, count)):
            reader.add(one.action_by_idx(index))
        start += count
    return reader


def _pieces(path: Path, context: IContext, sizes: Sequence[int], count: int) -> Generator[Piece, None, None]:
    """Read a small report as a whole, a large one in pieces, several at once in processes of their own."""
    at_once = workers()
    parts = spans(sizes, count, at_once)
    if len(parts) > 1:
        yield from read_apart(path, parts, at_once)
    else:
        yield from (_read_results(context, part).piece() for part in parts)


class _Whole:
    """What is known of all results once their tables are handed on."""

    def __init__(self) -> None:
        self.identities: list[Identity] = []
        self.devices: dict[str, Device] = {}
        self._numbers: list[int] = []
        self._durations: list[float | None] = []
        self._notices: list[Notice] = []
        self.sources: dict[str, str] = {}

    def add(self, piece: Piece) -> None:
        """Add the results that follow."""
        self.identities += piece.identities
        self.devices = {**{device.name: device for device in piece.devices}, **self.devices}
        self._numbers += range(piece.first, piece.first + len(piece.identities))
        self._durations += piece.durations
        self._notices += piece.notices
        self.sources |= piece.sources

    def place(self, container: Container) -> None:
        """Tell each result its process."""
        processes = container.processes or (None,)
        of = [processes[min(number, len(processes) - 1)] for number in self._numbers]
        pairs = zip(self.identities, of, strict=True)
        self.identities = [replace(one, process=process.label if process else None) for one, process in pairs]

    def launches(self) -> pd.DataFrame:
        """Return the table of launches, numbered as the results of the report."""
        return number_launches(self.identities, self._durations).assign(launch=self._numbers)

    def notices(self) -> list[Notice]:
        """Return what is odd about them."""
        names = list(self.devices)
        several = f"the report has launches on {', '.join(names[:-1])} and {names[-1]}." if names[1:] else ""
        return [*self._notices, *([Notice("several_devices", several)] if several else [])]


def _joined(frames: Sequence[pd.DataFrame], columns: Mapping[str, str]) -> pd.DataFrame:
    """Put tables below each other; words of a categorical column that only some have are words of all."""
    if len(frames) <= 1:
        return frames[0] if frames else table(columns)
    import pandas as pd
    from pandas.api.types import union_categoricals

    return pd.DataFrame(
        {
            name: union_categoricals([frame[name] for frame in frames])
            if kind == "category"
            else pd.concat([frame[name] for frame in frames], ignore_index=True)
            for name, kind in columns.items()
        }
    )


@contextmanager
def _sound_part(path: Path, container: Container) -> Iterator[Path]:
    """Give a report; of a damaged one, while the context lasts, what comes before the damage.

    Given the damaged file itself the reader may return nothing at all, or a result that is a hollow shell.
    """
    if container.damage is None:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="ncu-lab-") as folder:
        sound = Path(folder) / path.name
        with room_told(sound.parent):
            shutil.copyfile(path, sound)
            os.truncate(sound, container.damage.offset)
        yield sound


def _load(path: Path) -> IContext:
    try:
        import ncu_report
    except ImportError as error:
        raise InputError(
            f"{path} cannot be read: NVIDIA's reader does not load here ({error})", "pip install ncu-report"
        ) from error
    try:
        return ncu_report.load_report(str(path))
    except RuntimeError as error:
        raise InputError(f"{path} cannot be read: {error}", "Copy it again, or open it in Nsight Compute.") from error


def _nothing_readable(path: Path, container: Container) -> InputError:
    if container.damage is not None:
        return InputError(
            f"{path}: {_readable(container, 0)}; {container.damage.message}", "Copy it again, or profile again."
        )
    if container.version != VERSION:
        return InputError(
            f"{path}: nothing is readable; it has container version {container.version}, and only {VERSION} is known",
            "A newer reader may read it: pip install --upgrade ncu-report",
        )
    if container.announced:
        return InputError(
            f"{path}: {_readable(container, 0)}; NVIDIA's reader returns none",
            "It may come from a newer ncu: pip install --upgrade ncu-report",
        )
    if container.is_bare:
        return InputError(f"{path} holds no results: it is cut after its header", "Copy it again, or profile again.")
    return InputError(
        f"{path} holds no results",
        "It was cut before them, or no kernel was profiled: check the filters (-k, --nvtx-include, --launch-count).",
    )


def _loss(container: Container, returned: int) -> Iterator[Notice]:
    """Tell results that are lost, by damage or by the reader, and what else makes a report doubtful."""
    if container.damage is not None:
        yield Notice("damaged", f"{_readable(container, returned)}; {container.damage.message}.")
    elif returned != container.announced:
        yield Notice(
            "lost_results",
            f"{_readable(container, returned)}: the report announces {container.announced}, NVIDIA's reader returns "
            f"{returned}.",
        )
    if container.ends_in_code:
        yield Notice("ends_in_code", "the report ends with code that no result follows: results may be missing.")
    if container.version != VERSION:
        yield Notice(
            "unknown_version", f"the report has container version {container.version}; only {VERSION} is known here."
        )


def _readable(container: Container, returned: int) -> str:
    """Say how many results can be read, of those announced before the file breaks off: ``17 of 18 results``."""
    if not container.announced:
        return "no results"
    return f"{returned} of {container.announced} {'result' if container.announced == 1 else 'results'}"


def _unknown_stages(identities: list[Identity], stages: Mapping[str, Stage] | None) -> Iterator[Notice]:
    if stages is not None:
        for stage in sorted({one.stage for one in identities if one.stage} - set(stages)):
            yield Notice("unknown_stage", f"the report has launches of stage {stage}, which is not registered here.")
