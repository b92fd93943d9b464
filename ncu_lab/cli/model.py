"""``ncu-lab model``."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from ncu_lab.cli.messages import complain
from ncu_lab.cli.options import (
    AllOption,
    ExampleOption,
    Format,
    FormatOption,
    KOption,
    MOption,
    NOption,
    StageOption,
    StoreOption,
    problem_from,
    store_to_read,
)
from ncu_lab.errors import UsageError

if TYPE_CHECKING:
    from ncu_lab.model import Datasheet, Theory
    from ncu_lab.workflows.modelling import GivenTile

DEFAULT_SIZE = 4096


TileOption = Annotated[
    str | None,
    typer.Option(
        "--tile",
        metavar="SIZES",
        help="A kernel of your own instead of a stage, as BM=128,BN=128,BK=8,TM=8,TN=8; without BK nothing passes "
        "through shared memory.",
        show_default=False,
    ),
]
DeviceOption = Annotated[
    str | None,
    typer.Option(
        "--device",
        metavar="GPU",
        help="A GPU by short name (a6000, h200) or as its driver calls it. Default: that of the newest run.",
        show_default=False,
    ),
]
CubeOption = Annotated[
    int | None, typer.Option("--size", metavar="N", help=f"M = N = K. Default: {DEFAULT_SIZE}.", show_default=False)
]
BetaOption = Annotated[float, typer.Option("--beta", metavar="X", help="C = A·B + X·C: not 0 reads C as well.")]
TypeOption = Annotated[str, typer.Option("--dtype", metavar="TYPE", help="With --tile: fp32, tf32, fp16 or bf16.")]
ThreadsOption = Annotated[
    int | None,
    typer.Option("--threads", metavar="N", help="With --tile: of a block. Default: one a TM x TN of the tile."),
]
RegistersOption = Annotated[
    int | None, typer.Option("--registers", metavar="N", help="With --tile: of a thread.", show_default=False)
]
SharedOption = Annotated[
    int | None,
    typer.Option("--shared", metavar="BYTES", help="With --tile: of a block. Default: one tile of A and of B."),
]


def model(
    stage: StageOption = None,
    all: AllOption = False,
    tile: TileOption = None,
    device: DeviceOption = None,
    size: CubeOption = None,
    m: MOption = None,
    n: NOption = None,
    k: KOption = None,
    beta: BetaOption = 0.0,
    dtype: TypeOption = "fp32",
    threads: ThreadsOption = None,
    registers: RegistersOption = None,
    shared: SharedOption = None,
    store: StoreOption = None,
    example: ExampleOption = False,
    format: FormatOption = Format.TABLE,
) -> None:
    """Show what theory says of a stage, or of a tile of your own.

    Work and traffic, intensities and ridge points, what memory and shared memory allow, the time that nothing can go
    below, occupancy, and what one more block an SM would take. Works without a GPU, for any GPU with a datasheet.

    Registers are those of the newest stored build for that GPU, else of the build cache.
    """
    from ncu_lab.model import Problem
    from ncu_lab.workflows.modelling import model_device, model_stage, model_tile

    _refuse_mixed(stage, all, tile, {"--threads": threads, "--registers": registers, "--shared": shared})
    if not math.isfinite(beta):
        raise UsageError(f"--beta {beta} is no number to multiply by")
    cube = problem_from(size, m, n, k, default=DEFAULT_SIZE)
    problem = Problem(cube.m, cube.n, cube.k, beta=beta)
    folder = store_to_read(store, example)
    gpu = model_device(device, folder)
    if tile is not None:
        theories = [model_tile(_given(tile, dtype, threads, registers, shared), problem, gpu)]
    else:
        theories = [model_stage(id, problem, gpu, folder) for id in _ids(stage, all, gpu)]
    _write(theories, gpu, format)


def _refuse_mixed(stage: list[str] | None, all: bool, tile: str | None, block: dict[str, int | None]) -> None:
    """Refuse options that exclude each other, and values that no block has.

    Raises:
        UsageError: Always when it finds some.
    """
    if tile is not None and (stage or all):
        raise UsageError("--tile stands instead of --stage and --all", "Give one of the three.")
    for name, value in block.items():
        if value is None:
            continue
        if tile is None:
            raise UsageError(f"{name} belongs to --tile", "A stage brings its own.")
        if value < (0 if name == "--shared" else 1):
            raise UsageError(f"{name} {value} is too small")


def _ids(stage: list[str] | None, all: bool, gpu: Datasheet) -> list[str]:
    """Return the stages asked for; say which of all the GPU cannot run."""
    from ncu_lab.cli.options import chosen_stages
    from ncu_lab.workflows.modelling import modelled_stages

    able, unable = modelled_stages(gpu)
    if all and unable:
        complain(f"note: {gpu.name} cannot run {', '.join(unable)}")
    return chosen_stages(stage, all, able)


def _given(text: str, dtype: str, threads: int | None, registers: int | None, shared: int | None) -> GivenTile:
    """Return the kernel that the options describe.

    Raises:
        UsageError: When a size or the type is written wrongly.
    """
    from ncu_lab.model import Dtype
    from ncu_lab.workflows.modelling import TILE_KEYS, GivenTile

    sizes: dict[str, int] = {}
    for part in text.split(","):
        name, _, value = part.strip().partition("=")
        if name.upper() not in TILE_KEYS or not value.isdecimal() or int(value) < 1:
            raise UsageError(
                f'--tile: "{part}" is no size of a tile', f"Write it as BM=128,BN=128; known: {', '.join(TILE_KEYS)}."
            )
        sizes[name.upper()] = int(value)
    for known in get_args(Dtype):
        if known == dtype.lower():
            return GivenTile(sizes, known, threads, registers, shared)
    raise UsageError(f'--dtype: there is no type "{dtype}"', f"Known: {', '.join(get_args(Dtype))}.")


def _write(theories: list[Theory], gpu: Datasheet, format: Format) -> None:
    """Write one kernel in full, several as a table."""
    from ncu_lab.render.model import (
        explain_columns,
        print_theories,
        print_theory,
        theory_columns,
        theory_document,
        theory_markdown,
        theory_row,
    )
    from ncu_lab.render.summary import flat_columns
    from ncu_lab.render.terminal import Terminal, emit, emit_document, note_dropped

    rows = [theory_row(one) for one in theories]
    terminal = Terminal(sys.stdout)
    if format is Format.JSON:
        emit_document(theory_document(gpu, theories), sys.stdout)
    elif format is Format.CSV:
        emit(rows, flat_columns(rows), format.value, sys.stdout)
    elif format is Format.MARKDOWN and len(theories) > 1:
        emit(rows, theory_columns(), format.value, sys.stdout)
    elif format is Format.MARKDOWN:
        sys.stdout.write(terminal.spell(theory_markdown(theories[0])))
    elif len(theories) > 1:
        note_dropped(terminal, print_theories(theories, terminal))
        terminal.line()
        explain_columns(terminal)
        terminal.command(f"ncu-lab model --stage {theories[-1].shape.name} --device {gpu.id}", lead="Next: ")
    else:
        print_theory(theories[0], terminal)
