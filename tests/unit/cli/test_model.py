"""``ncu-lab model``: what it prints, and what it refuses."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ncu_lab.cli.app import app
from ncu_lab.errors import NcuLabError, UsageError
from ncu_lab.gpu.registry import load_stages

TILE = "BM=128,BN=128,BK=8,TM=8,TN=8"


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["model", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


@pytest.fixture(autouse=True)
def nothing_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCU_LAB_STORE", str(tmp_path / "reports"))
    monkeypatch.setenv("NCU_LAB_CACHE", str(tmp_path / "cache"))


def lines(text: str) -> dict[str, str]:
    """Label -> words, of the lines that have a label."""
    found = (line.strip().partition("  ") for line in text.splitlines())
    return {label: words.strip() for label, _, words in found if words}


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("choice", [["--stage", "2d"], ["--stage", "wgmma"], ["--stage", "naive"], ["--all"]])
def test_every_line_fits(width: int, choice: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert max(len(line) for line in run(*choice, "--example").splitlines()) <= width


def test_a_stage_of_a_stored_build() -> None:
    told = lines(run("--stage", "2d", "--example", "--device", "h200"))
    assert told["work"] == "137 GFLOP, 201 MB at least: 683 FLOP/B (ridge 13.9)"
    assert told["a block"] == "256 threads, 125 registers, 8.19 kB shared"
    assert told["occupancy"] == "2 blocks an SM, 25 %: limit registers"
    assert told["one more block"] == "at most 80 registers (now 125)"
    assert told["waves"] == "3.88 for 1 024 blocks"


def test_a_stage_that_nobody_built_has_no_occupancy() -> None:
    told = lines(run("--stage", "2d", "--device", "a6000"))
    assert told["occupancy"] == "not known: ncu-lab build --stage 2d --arch sm_86"
    assert told["at least"] == "3.55 ms: compute 3.55 ms, DRAM 262 µs"
    assert "a block" not in told


def test_the_gpu_of_the_newest_run_is_the_default() -> None:
    assert " H200 (132 SMs" in run("--stage", "2d", "--example")
    with pytest.raises(UsageError, match="no GPU was named") as error:
        run("--stage", "2d")
    assert "--device ID" in error.value.hint


def test_a_tile_of_the_user() -> None:
    given = ["--tile", TILE, "--registers", "130", "--threads", "256", "--shared", "8192", "--device", "a6000"]
    told = lines(run(*given))
    assert told["occupancy"] == "1 block an SM, 17 %: limit registers"
    assert told["one more block"] == "at most 128 registers (now 130)"
    # threads and shared memory follow from the tile: 128 x 128 / 64, and (128 + 128) x 8 x 4 bytes
    short = lines(run("--tile", TILE, "--registers", "130", "--device", "a6000"))
    assert short["a block"] == told["a block"] == "256 threads, 130 registers, 8.19 kB shared"
    assert lines(run("--tile", TILE, "--device", "a6000"))["occupancy"] == "not known: give --registers"
    half = ["--tile", "bm=128,bn=128,bk=32", "--dtype", "FP16", "--device", "a6000"]
    assert lines(run(*half))["occupancy"] == "not known: give --registers and --threads"


def test_a_tile_without_bk_is_staged_nowhere() -> None:
    told = lines(run("--tile", "BM=32,BN=32", "--device", "a6000"))
    assert told["global loads"].endswith("no reuse: 0.250 FLOP/B (ridge 50.4)")
    assert told["shared loads"] == "none that feed FMAs"


def test_all_stages_that_the_gpu_can_run() -> None:
    result = CliRunner().invoke(app, ["model", "--all", "--device", "a6000", "--format", "csv"])
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    kernels = [stage for stage in load_stages().values() if not stage.is_reference]
    assert [row["stage"] for row in rows] == [stage.id for stage in kernels if stage.runs_on(86)]
    assert rows[0]["registers"] == ""
    assert "cannot run" in result.stderr
    assert "wgmma" in result.stderr


def document(*arguments: str) -> Any:
    return json.loads(run(*arguments, "--format", "json"))


def test_json() -> None:
    told = document("--stage", "2d", "--example", "--device", "h200", "--size", "1024", "--beta", "1")
    assert told["schema"] == 1
    assert told["device"]["id"] == "h200"
    assert told["device"]["source"]
    (model,) = told["models"]
    assert model["flop"] == 2 * 1024**3 + 2 * 1024**2
    assert model["occupancy_limits"]["registers"] == model["blocks_per_sm"] == 2
    assert model["limited_by"] == ["registers"]
    assert model["next_block_registers"] == 80
    assert model["next_block_prevented_by"] == []
    assert {one["key"] for one in model["ceilings"]} == {
        "peak", "dram", "dram_uncached", "shared_scalar", "shared_measured",
    }  # fmt: skip
    (unbuilt,) = document("--stage", "2d", "--device", "a6000")["models"]
    assert unbuilt["occupancy"] is None
    assert unbuilt["occupancy_limits"] is None


def test_markdown() -> None:
    one = run("--stage", "2d", "--device", "a6000", "--format", "markdown")
    assert one.startswith("**2d · 4096³ FP32 · RTX A6000")
    assert "- binds first: FP32 peak\n" in one
    table = run("--all", "--device", "h200", "--format", "markdown").splitlines()
    assert table[0].startswith("| stage | FLOP/B |")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--device", "a6000"], "no stage was named"),
        (["--stage", "2d", "--tile", TILE, "--device", "a6000"], "--tile stands instead"),
        (["--stage", "2d", "--registers", "64", "--device", "a6000"], "--registers belongs to --tile"),
        (["--stage", "2dd", "--device", "a6000"], "Did you mean 2d"),
        (["--stage", "cublas-fp32", "--device", "a6000"], "library reference"),
        (["--stage", "wgmma", "--device", "a6000"], "needs sm_90a alone; RTX A6000 is sm_86"),
        (["--stage", "double-buffered", "--device", "t4"], "needs sm_80 or newer; Tesla T4 is sm_75"),
        (["--stage", "2d", "--device", "h20"], "Did you mean h200"),
        (["--tile", "BM=128,BN=x", "--device", "a6000"], '"BN=x" is no size of a tile'),
        (["--tile", "BQ=128", "--device", "a6000"], '"BQ=128" is no size of a tile'),
        (["--tile", "BM=128", "--device", "a6000"], "lacks BN"),
        (["--tile", TILE, "--dtype", "fp8", "--device", "a6000"], 'no type "fp8"'),
        (["--tile", TILE, "--threads", "0", "--device", "a6000"], "--threads 0 is too small"),
        (["--tile", "BM=128,BN=128", "--device", "a6000"], "a block of 16384 threads"),
        (["--tile", "BM=128,BN=128,TM=7,TN=8", "--device", "a6000"], "TM=7 does not divide BM=128"),
        (["--tile", TILE, "--registers", "300", "--device", "a6000"], "--registers 300"),
        (["--stage", "2d", "--beta", "nan", "--device", "a6000"], "--beta nan"),
        (["--stage", "2d", "--size", "0", "--device", "a6000"], "--size 0"),
    ],
)
def test_what_it_refuses(arguments: list[str], message: str) -> None:
    with pytest.raises(NcuLabError) as error:
        run(*arguments)
    assert message in error.value.message
    assert isinstance(error.value, UsageError)


def test_a_stage_that_a_gpu_cannot_run_can_be_modelled_as_a_tile() -> None:
    with pytest.raises(UsageError) as error:
        run("--stage", "mma-sync", "--device", "v100")
    command = re.search(r"ncu-lab model (.*)", error.value.hint)
    assert command is not None
    assert "FP16" in run(*command[1].split())


def test_without_a_peak_nothing_is_said_to_bind() -> None:
    """A T4 has no BF16: DRAM gives a time that nothing goes below, and no more is known."""
    told = run("--tile", "BM=128,BN=256,BK=64", "--dtype", "bf16", "--device", "t4")
    assert "binds first       not known: the datasheet has no BF16 peak" in told
    row = json.loads(run("--tile", "BM=128,BN=256,BK=64", "--dtype", "bf16", "--device", "t4", "--format", "json"))
    assert row["models"][0]["binding"] is None


def test_it_imports_no_cupy() -> None:
    import subprocess
    import sys

    code = (
        "import sys; from ncu_lab.cli.app import app; "
        "app(['model', '--stage', '2d', '--device', 'a6000'], standalone_mode=False); sys.exit('cupy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
