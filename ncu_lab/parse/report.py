"""A .ncu-rep into tables. The only module that touches ``ncu_report``, NVIDIA's reader.

That reader hides damage (a cut file simply has fewer results), so the container is walked first and what is lost is
said. Reading is one pass over every metric and instance of every result; columns grow as plain lists and arrays, and
words that repeat a thousand times (metrics, SASS, files) as codes into a list, so that tables cost little beside it.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ncu_lab.errors import InputError
from ncu_lab.metrics import LAUNCH_IDENTITY
from ncu_lab.model import METRIC_COLUMNS, RULE_COLUMNS, Device, Notice, ParsedReport, Stage, table
from ncu_lab.parse.container import VERSION, Container, read_container
from ncu_lab.parse.identity import Identity, device_from, launches_table
from ncu_lab.parse.instances import InstanceColumns
from ncu_lab.parse.session import environment_from
from ncu_lab.parse.units import base_unit

if TYPE_CHECKING:
    from ncu_report import IAction, IContext

_NAN = float("nan")

_WORKLOADS = {
    "KERNEL": "kernel",
    "RANGE": "range",
    "CMDLIST": "cmdlist",
    "GRAPH": "graph",
    "SUBGRID_SCHEDULE": "subgrid",
}
_RULE_KINDS = {0: "none", 1: "ok", 2: "optimization", 3: "warning", 4: "error"}
_SPEEDUP_SCOPES = {1: "local", 2: "global"}

_LINK = re.compile(
    r"@(?:section:[^:@]*|sass:[^:@]*|source:[^@]*?:\d+):(?P<text>[^@]*)@|@url:(?P<words>[^:@]*):(?P<url>[^@]*)@"
)
"""Links in rule messages."""


def read_report(path: Path, *, stages: Mapping[str, Stage] | None = None) -> ParsedReport:
    """Read every result, metric, instance and rule of a report, in base units.

    Args:
        path: A .ncu-rep file, not compressed.
        stages: The registered stages; a launch inside a range ``ncu-lab/<id>`` of another id is noticed.

    Raises:
        InputError: When the file is no report, or nothing in it can be read.
    """
    container = read_container(path)
    with _sound_part(path, container) as sound:  # the reader reads on while results are asked for
        actions = _actions(_load(sound), container, path)
        reader = _Reader(container if container.complete == len(actions) else None)
        for action in actions:
            reader.add(action)
    notices = [*_loss(container, len(actions)), *reader.notices, *_unknown_stages(reader.identities, stages)]
    return ParsedReport(
        launches=launches_table(reader.identities, [values.get for values in reader.numbers]),
        metrics=table(METRIC_COLUMNS, reader.metrics),
        instances=reader.instances.table(),
        rules=table(RULE_COLUMNS, reader.rules),
        device=reader.device,
        environment=environment_from(container.session.versions, container.session.command),
        notices=tuple(notices),
        session=container.session,
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


def _actions(context: IContext, container: Container, path: Path) -> list[IAction]:
    ranges = [context.range_by_idx(index) for index in range(context.num_ranges())]
    actions = [one.action_by_idx(index) for one in ranges for index in range(one.num_actions())]
    if actions:
        return actions
    if container.damage is not None:
        raise InputError(
            f"{path}: {_readable(container, 0)}; {container.damage.message}", "Copy it again, or profile again."
        )
    if container.version != VERSION:
        raise InputError(
            f"{path}: nothing is readable; it has container version {container.version}, and only {VERSION} is known",
            "A newer reader may read it: pip install --upgrade ncu-report",
        )
    if container.announced:
        raise InputError(
            f"{path}: {_readable(container, 0)}; NVIDIA's reader returns none",
            "It may come from a newer ncu: pip install --upgrade ncu-report",
        )
    raise InputError(
        f"{path} holds no results",
        "No kernel was profiled: check the filters (-k, --nvtx-include, --launch-count) it was made with.",
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


class _Reader:
    """Collects the columns of all tables, one result after the other."""

    def __init__(self, container: Container | None) -> None:
        self._processes = None if container is None else container.processes
        self.identities: list[Identity] = []
        self.numbers: list[dict[str, float]] = []
        self.metrics: dict[str, list[Any]] = {name: [] for name in METRIC_COLUMNS}
        self.rules: dict[str, list[Any]] = {name: [] for name in RULE_COLUMNS}
        self.instances = InstanceColumns()
        self.device: Device | None = None
        self.notices: list[Notice] = []

    def add(self, action: IAction) -> None:
        """Read one result."""
        launch = len(self.identities)
        numbers, words = self._read_metrics(launch, action)
        if not numbers:
            self.notices.append(Notice("hollow_result", f"result {launch} of the report has no values."))
        self.identities.append(self._identity(launch, action, numbers))
        self.numbers.append(numbers)
        self._read_rules(launch, action)
        self._see_device(device_from({**numbers, **words}))

    def _read_metrics(self, launch: int, action: IAction) -> tuple[dict[str, float], dict[str, str]]:
        numbers: dict[str, float] = {}
        words: dict[str, str] = {}
        names, values, texts, units = [], [], [], []
        self.instances.start(launch, action)
        by_name, add_instances = action.metric_by_name, self.instances.add
        for name in action.metric_names():
            metric = by_name(name)
            unit, factor = base_unit(metric.unit())
            value, text = _NAN, None
            if metric.has_value():
                if metric.kind() == metric.ValueKind_STRING:
                    if text := metric.as_string() or None:
                        words[name] = text
                else:
                    value = numbers[name] = metric.as_double() * factor
            names.append(name)
            values.append(value)
            texts.append(text)
            units.append(unit)
            count = metric.num_instances()
            if count:
                add_instances(name, metric, count, factor)
        columns = self.metrics
        columns["launch"] += [launch] * len(names)
        for column, found in (("metric", names), ("value", values), ("text", texts), ("unit", units)):
            columns[column] += found
        return numbers, words

    def _identity(self, launch: int, action: IAction, numbers: Mapping[str, float]) -> Identity:
        demangled = action.name(action.NameBase_DEMANGLED)
        function = action.name(action.NameBase_FUNCTION)
        mangled = action.name(action.NameBase_MANGLED)
        kernel = demangled or mangled or function or "(unnamed)"

        def size(what: str) -> tuple[int, int, int]:
            x, y, z = (int(numbers.get(LAUNCH_IDENTITY[f"{what}_{axis}"], 0)) for axis in "xyz")
            return x, y, z

        def ordinal(what: str) -> str | None:
            value = numbers.get(LAUNCH_IDENTITY[what])
            return None if value is None else str(int(value))

        process = self._processes[launch] if self._processes is not None else None
        return Identity(
            kernel=kernel,
            function=function or kernel,
            mangled=mangled or None,
            grid=size("grid"),
            block=size("block"),
            stream=ordinal("stream"),
            context=ordinal("context"),
            process=None if process is None else process.label,
            device=ordinal("device"),
            nvtx=_nvtx_path(action),
            workload=_workload(action),
        )

    def _read_rules(self, launch: int, action: IAction) -> None:
        for result in action.rule_results_as_dicts():
            message = result["rule_message"] or {}
            speedup = result.get("speedup_estimation", {})
            row = {
                "launch": launch,
                "section": result["section_identifier"],
                "rule": result["rule_identifier"],
                "kind": _RULE_KINDS.get(int(message.get("type", 0)), "none"),
                "message": plain_message(message.get("message", "")),
                "speedup_pct": speedup.get("speedup", _NAN),
                "speedup_scope": _SPEEDUP_SCOPES.get(int(speedup.get("type", 0))),
            }
            for column, value in row.items():
                self.rules[column].append(value)

    def _see_device(self, device: Device | None) -> None:
        if self.device is None:
            self.device = device
        elif device is not None and device.name != self.device.name:
            notice = Notice("several_devices", f"the report has launches on {self.device.name} and {device.name}.")
            if notice not in self.notices:
                self.notices.append(notice)


def _workload(action: IAction) -> str:
    kind = action.workload_type()
    for name, word in _WORKLOADS.items():
        if kind == getattr(action, f"WorkloadType_{name}", None):
            return word
    return f"type {kind}"


def _nvtx_path(action: IAction) -> tuple[str, ...]:
    """Return the ranges around a result, outermost first, in ncu's own notation ``domain@range``."""
    state = action.nvtx_state()
    if state is None:
        return ()
    path: list[str] = []
    for identifier in state.domains():
        domain = state.domain_by_id(identifier)
        name = domain.name()
        prefix = "" if name in ("", "<default domain>") else f"{name}@"
        path += [prefix + one for one in (*domain.push_pop_ranges(), *domain.start_end_ranges())]
    return tuple(path)


def plain_message(message: str) -> str:
    """Return a rule's message with its links as plain text, the way ncu exports it."""
    return _LINK.sub(lambda link: f"{link['words']} ({link['url']})" if link["url"] else link["text"], message)
