"""What theory says of stages, or of a tile of the user's own, on a GPU that need not be here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ncu_lab.analyze.summary import counters
from ncu_lab.analyze.theory import predict, shape_of_stage, wavefronts_per_fma
from ncu_lab.errors import InputError, UsageError
from ncu_lab.gpu.compile import cached_build
from ncu_lab.gpu.datasheets import datasheet_of, datasheets, find_datasheet
from ncu_lab.gpu.registry import find_stage, load_stages
from ncu_lab.gpu.search_space import as_built
from ncu_lab.model import (
    DTYPE_BYTES,
    BlockDemand,
    Datasheet,
    Dtype,
    Problem,
    Run,
    RunMeta,
    Stage,
    StageBuild,
    Theory,
)
from ncu_lab.model.architecture import MAX_BLOCK_THREADS, MAX_REGISTERS
from ncu_lab.store import Store
from ncu_lab.workflows.indexing import list_runs

TILE_KEYS = ("BM", "BN", "BK", "TM", "TN", "WM", "WN", "CLUSTER")
TILE_NAME = "tile"


@dataclass(frozen=True)
class GivenTile:
    """A kernel that the user describes.

    Attributes:
        sizes: Tile sizes by the names of :data:`TILE_KEYS`; without BK nothing passes through shared memory.
        dtype: Type of A and B.
        threads: Threads of a block; by default one for each TM x TN of the tile.
        registers: Registers a thread; None where they are not known.
        shared_bytes: Shared memory of a block; by default one tile of A and of B.
        barriers: Barriers of a block.
    """

    sizes: Mapping[str, int]
    dtype: Dtype = "fp32"
    threads: int | None = None
    registers: int | None = None
    shared_bytes: int | None = None
    barriers: int = 1


def model_device(name: str | None, store: Path) -> Datasheet:
    """Return the GPU to model: the named one, else that of the newest run.

    Raises:
        UsageError: When none is named and no run is of a GPU with a datasheet, or the named one has none.
    """
    if name is not None:
        return find_datasheet(name)
    metas, _ = list_runs(store)
    for meta in metas:
        found = meta.device and datasheet_of(meta.device.name)
        if found:
            return found
    raise UsageError(
        f"no GPU was named, and no run in {store} tells of one", f"Name one: --device ID, of {', '.join(datasheets())}."
    )


def model_stage(id: str, problem: Problem, device: Datasheet, store: Path) -> Theory:
    """Model a registered stage.

    Registers and shared memory are those of the newest stored build for the GPU's architecture, else of the build
    cache; the wavefronts of shared memory those of the newest run on such a GPU.

    Raises:
        UsageError: When there is no such stage, it is a library reference, or the GPU cannot run it.
    """
    stage = find_stage(load_stages(), id)
    if stage.is_reference:
        raise UsageError(
            f"{id} is a library reference: theory knows no tile of it", "ncu-lab stages lists the kernels."
        )
    if not runs_on(stage, device):
        alone = " alone" if stage.arch_suffix else " or newer"
        raise UsageError(
            f"stage {id} needs {stage.needs}{alone}; {device.name} is {_arch(device)}",
            f"Theory alone: ncu-lab model {_as_tile(stage)} --device {device.id}",
        )
    build, demand_from = _build(stage, device, store)
    stage = stage if build is None else as_built(stage, build)
    demand = None if build is None else _demand(stage, build)
    shape = stage.shape(problem)
    return predict(shape_of_stage(stage, shape, demand, demand_from), shape, device, _measured(stage, device, store))


def _as_tile(stage: Stage) -> str:
    """Write the options that describe a stage as a tile of the user's own."""
    sizes = ",".join(f"{name}={size}" for name, size in stage.tile.items() if name in TILE_KEYS)
    return f"--tile {sizes}" + ("" if stage.dtype == "fp32" else f" --dtype {stage.dtype}")


def _demand(stage: Stage, build: StageBuild) -> BlockDemand:
    threads = stage.block[0] * stage.block[1] * stage.block[2]
    return BlockDemand(threads, build.registers, build.shared_bytes, build.barriers)


def modelled_stages(device: Datasheet) -> tuple[list[str], list[str]]:
    """Return the ids of the kernels that a GPU can run, and of those that it cannot, in ladder order."""
    kernels = [stage for stage in load_stages().values() if not stage.is_reference]
    able = [stage.id for stage in kernels if runs_on(stage, device)]
    return able, [stage.id for stage in kernels if stage.id not in able]


def runs_on(stage: Stage, device: Datasheet) -> bool:
    """Whether a GPU can run a stage."""
    major, minor = device.compute_capability
    return stage.runs_on(10 * major + minor)


def model_tile(given: GivenTile, problem: Problem, device: Datasheet) -> Theory:
    """Model a tile of the user's own.

    Raises:
        UsageError: When sizes are missing or impossible.
    """
    sizes = given.sizes
    for name in ("BM", "BN"):
        if name not in sizes:
            raise UsageError(
                f"the tile lacks {name}", "A tile is at least BM and BN: --tile BM=128,BN=128,BK=8,TM=8,TN=8"
            )
    for whole, part in (("BM", "TM"), ("BN", "TN")):
        if sizes[whole] % sizes.get(part, 1):
            raise UsageError(
                f"{part}={sizes[part]} does not divide {whole}={sizes[whole]}", "Give a tile of whole parts."
            )
    lane = sizes.get("TM", 1) * sizes.get("TN", 1)
    by_lane = (sizes["BM"] * sizes["BN"]) // lane if given.dtype == "fp32" else None
    threads = given.threads or by_lane
    if threads is not None and threads > MAX_BLOCK_THREADS:
        how = "--threads" if given.threads else "BM x BN over TM x TN; --threads says otherwise"
        raise UsageError(f"a block of {threads} threads exceeds CUDA's limit of {MAX_BLOCK_THREADS}", f"Check {how}.")
    if given.registers is not None and given.registers > MAX_REGISTERS:
        raise UsageError(f"--registers {given.registers} exceeds the {MAX_REGISTERS} that a thread can have")
    stage = Stage(
        id=TILE_NAME, title="", change="", bottleneck="", dtype=given.dtype, tile=sizes, staged="BK" in sizes
    )  # fmt: skip
    staging = (sizes["BM"] + sizes["BN"]) * sizes.get("BK", 0) * DTYPE_BYTES[given.dtype]
    shared = staging if given.shared_bytes is None else given.shared_bytes
    demand, demand_from = (
        None,
        "give "
        + " and ".join(
            name for name, value in (("--registers", given.registers), ("--threads", threads)) if value is None
        ),
    )
    if given.registers is not None and threads is not None:
        demand = BlockDemand(threads, given.registers, shared, given.barriers)
        demand_from = "as given" if given.shared_bytes is not None else "as given; shared memory of one tile of A and B"
    return predict(shape_of_stage(stage, problem, demand, demand_from), problem, device)


def _arch(device: Datasheet) -> str:
    major, minor = device.compute_capability
    return f"sm_{major}{minor}"


def _build(stage: Stage, device: Datasheet, store: Path) -> tuple[StageBuild | None, str]:
    """Return the newest stored build for the GPU's architecture, else the cached one, and where it is from."""
    arch = f"{_arch(device)}{stage.arch_suffix}"
    for run in _runs_of(stage, store):
        for build in run.builds:
            if (build.stage, build.variant, build.arch) == (stage.id, "fast", arch):
                return build, f"{arch} build of run {run.meta.id}"
    if cached := cached_build(stage, _arch(device)):
        return cached, f"{arch} build in the cache"
    return None, f"ncu-lab build --stage {stage.id} --arch {_arch(device)}"


def _measured(stage: Stage, device: Datasheet, store: Path) -> float | None:
    """Return the wavefronts per FMA of the newest run of a staged FP32 stage on such a GPU."""
    if not stage.staged or stage.dtype != "fp32":
        return None
    for run in _runs_of(stage, store):
        if run.meta.device is None or datasheet_of(run.meta.device.name) != device:
            continue
        values = counters(run.metrics)
        for launch in run.launches.to_dict("records"):
            if (launch["stage"], launch["role"]) == (stage.id, "main"):
                found = wavefronts_per_fma(values.get(int(launch["launch"]), {}).get)
                if found is not None:
                    return found
    return None


def _runs_of(stage: Stage, store: Path) -> Sequence[Run]:
    """Return the runs that have a stage and can be read, newest first; their tables are read when they are used."""
    metas, _ = list_runs(store)
    return [run for meta in metas if stage.id in meta.stages and (run := _read(meta, store))]


def _read(meta: RunMeta, store: Path) -> Run | None:
    try:
        return Store(store).read(meta.id)
    except InputError:
        return None  # the commands that show runs say so; another one may serve here
