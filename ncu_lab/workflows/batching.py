"""The batch of shapes: what ``bench --save`` measured of stages at many sizes, against their references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ncu_lab.errors import InputError
from ncu_lab.gpu.registry import find_stage, load_stages
from ncu_lab.model import Notice, Problem, Stage
from ncu_lab.model.bench_record import BenchRecord
from ncu_lab.store.bench_files import read_benches
from ncu_lab.workflows.benching import summary_row


@dataclass(frozen=True)
class Batch:
    """The newest figures of each shape and stage on one model of GPU.

    Attributes:
        device: Model of the GPU.
        rows: One for each shape and stage: ``m``, ``n``, ``k``, what :func:`ncu_lab.workflows.benching.summarise`
            says, ``variant``, ``created`` and ``commit``; squares first, by size, stages in the ladder's order.
        drivers: Versions of the driver that they were measured with.
        notices: What weakens them, and records that cannot be read.
    """

    device: str
    rows: tuple[Mapping[str, Any], ...]
    drivers: tuple[str, ...]
    notices: tuple[Notice, ...]


class NoBenchesError(InputError):
    """A store without a bench that can be read.

    Attributes:
        notices: Records that cannot be read.
    """

    def __init__(self, message: str, notices: tuple[Notice, ...]) -> None:
        super().__init__(
            message, "Make one: ncu-lab bench --save --stage ID --size 4096 --processes 3 --fastest-reference"
        )
        self.notices = notices


def batch_of_shapes(store: Path, ids: Sequence[str] = (), device: str | None = None) -> Batch:
    """Put together what a store knows of stages at many shapes.

    Args:
        store: The folder of runs.
        ids: Stages to show; by default all that have a reference, CUTLASS beside cuBLAS among them.
        device: Model of the GPU; by default that of the newest record.

    Raises:
        UsageError: When a stage is unknown.
        NoBenchesError: When the store has no such record that can be read.
    """
    registry = load_stages()
    wanted = {find_stage(registry, id).id for id in ids} or {
        id for id, stage in registry.items() if stage.reference is not None
    }
    records, unreadable = read_benches(store)
    there = [one for one in records if device is None or one.device.name == device]
    if not there:
        raise NoBenchesError(f"no saved benches {f'on {device} ' if device else ''}in {store}", tuple(unreadable))
    there = [one for one in there if one.device.name == there[-1].device.name]
    newest = {
        (record.problem, stage): record
        for record in there
        for stage in record.stages
        if stage in wanted and stage in registry
    }
    order = list(registry)
    placed = sorted(newest.items(), key=lambda item: (*_place(item[0][0]), order.index(item[0][1])))
    rows = [_row(record, registry[stage], registry) for (_, stage), record in placed]
    used = list({(record.created, record.problem): record for record in newest.values()}.values())
    said = dict.fromkeys(notice for record in used for notice in record.notices)
    drivers = dict.fromkeys(record.environment.driver for record in used if record.environment.driver)
    return Batch(there[-1].device.name, tuple(rows), tuple(drivers), (*said, *unreadable))


def _place(problem: Problem) -> tuple[bool, int, int, int]:
    square = problem.m == problem.n == problem.k
    return not square, problem.m, problem.n, problem.k


def _row(record: BenchRecord, stage: Stage, registry: Mapping[str, Stage]) -> dict[str, Any]:
    problem = record.problem
    figures = summary_row(stage, problem, record.device, record.samples, record.trials, registry)
    return {
        "m": problem.m,
        "n": problem.n,
        "k": problem.k,
        **figures,
        "variant": record.variants.get(stage.id),
        "created": record.created,
        "commit": record.commit,
    }
