"""Flags to the letter; the rest with the real nvcc, where there is one."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ncu_lab.errors import EnvironmentLacksError, InputError, NcuLabError, UsageError
from ncu_lab.gpu.compile import (
    Nvcc,
    build_stage,
    cache_folder,
    capability,
    find_nvcc,
    neutral_paths,
    nvcc_flags,
)
from ncu_lab.gpu.request import second_cubin
from ncu_lab.gpu.toolkit import find_tool
from ncu_lab.model import Stage

needs_nvcc = pytest.mark.skipif(find_tool("nvcc") is None, reason="nvcc is not here")

KERNEL = """\
#include "shared.cuh"
extern "C" __global__ void k(float* x) {
  __shared__ float tile[BM];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = tile[BM - 1 - threadIdx.x] * FACTOR + GUARDED;
}
"""


def stage(**fields: object) -> Stage:
    values = {
        "id": "x",
        "title": "x",
        "change": "x",
        "bottleneck": "x",
        "dtype": "fp32",
        "file": "gemm/x.cu",
        "entry": "k",
        "block": (32, 1, 1),
        "tile": {"BM": 32, "BN": 16},
        "has_guarded": True,
    }
    return Stage(**{**values, **fields})  # type: ignore[arg-type]  # fields vary by test


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    folder = tmp_path / "kernels"
    (folder / "gemm").mkdir(parents=True)
    (folder / "gemm" / "x.cu").write_text(KERNEL)
    (folder / "shared.cuh").write_text("constexpr float FACTOR = 2.0f;\n")
    return folder


def test_flags_to_the_letter() -> None:
    assert nvcc_flags(stage(), "sm_90", "guarded", ["TUNED=1"]) == [
        "-std=c++17",
        "-O3",
        "-lineinfo",
        "-gencode=arch=compute_90,code=sm_90",
        "-Xptxas=-v",
        "-I.",
        "-DBM=32",
        "-DBN=16",
        "-DGUARDED=1",
        "-DTUNED=1",
    ]


def test_an_architecture_specific_stage_keeps_its_suffix() -> None:
    hopper = stage(min_cc=90, arch_suffix="a")
    assert "-gencode=arch=compute_90a,code=sm_90a" in nvcc_flags(hopper, "sm_90", "fast")
    with pytest.raises(UsageError, match="sm_90a alone"):
        nvcc_flags(hopper, "sm_100", "fast")


def test_refuses_an_architecture_that_does_not_fit() -> None:
    with pytest.raises(UsageError, match="needs sm_80 or newer, not sm_75"):
        nvcc_flags(stage(min_cc=80), "sm_75", "fast")
    with pytest.raises(UsageError, match='"hopper" is no GPU architecture'):
        nvcc_flags(stage(), "hopper", "fast")
    assert (capability("sm_90a"), capability("sm_120")) == (90, 120)


def test_refuses_what_cannot_be_built(kernels: Path) -> None:
    with pytest.raises(UsageError, match="library reference"):
        build_stage(stage(library_math="tf32"), kernels_dir=kernels)
    with pytest.raises(UsageError, match="no guarded variant"):
        build_stage(stage(has_guarded=False), variant="guarded", kernels_dir=kernels)


def test_paths_in_ptx_become_neutral() -> None:
    ptx = (
        '\t.file\t1 "/home/me/lab/kernels/gemm/x.cu"\n'
        '\t.file\t2 "/opt/cuda/bin/../targets/x86_64-linux/include/crt/mma.hpp"\n'
        "\t.loc\t1 6 0\n"
    )
    assert neutral_paths(ptx, Path("/home/me/lab/kernels")) == (
        '\t.file\t1 "kernels/gemm/x.cu"\n\t.file\t2 "cuda/include/crt/mma.hpp"\n\t.loc\t1 6 0\n'
    )


def test_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCU_LAB_CACHE", "/somewhere")
    assert cache_folder() == Path("/somewhere")
    monkeypatch.delenv("NCU_LAB_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache_folder() == Path("/xdg/ncu-lab")


def test_without_nvcc_the_fix_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ncu_lab.gpu.compile.find_tool", lambda name: None)
    with pytest.raises(EnvironmentLacksError) as caught:
        find_nvcc()
    assert "install nvidia-cuda-cccl nvidia-cuda-nvcc nvidia-cuda-runtime" in caught.value.hint


def fake_nvcc(folder: Path, content: bytes) -> Path:
    path = folder / "nvcc"
    path.write_bytes(content)
    path.chmod(0o755)
    return path


def test_an_nvcc_that_is_no_program_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = fake_nvcc(tmp_path, b"\0\0")
    monkeypatch.setattr("ncu_lab.gpu.compile.find_tool", lambda name: path)
    with pytest.raises(EnvironmentLacksError, match=f"{path} cannot be started: Exec format error"):
        find_nvcc()


def test_an_nvcc_that_writes_nothing_is_named(kernels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = fake_nvcc(tmp_path, b"#!/bin/sh\n")
    monkeypatch.setattr("ncu_lab.gpu.compile.find_nvcc", lambda: Nvcc(path, "13.0.88"))
    with pytest.raises(EnvironmentLacksError, match=r"ended well but wrote no kernel\.ptx"):
        build_stage(stage(), kernels_dir=kernels, cache_dir=tmp_path / "cache")
    assert list((tmp_path / "cache" / "cubins").iterdir()) == []


def test_without_a_host_compiler_the_fix_is_told(
    kernels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "nvcc"
    fake.write_text(
        "#!/bin/sh\necho 'gcc: No such file or directory' >&2\n"
        "echo 'nvcc fatal   : Failed to preprocess host compiler properties.' >&2\nexit 1\n"
    )
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr("ncu_lab.gpu.compile.find_nvcc", lambda: Nvcc(fake, "13.0.88"))
    with pytest.raises(EnvironmentLacksError) as caught:
        build_stage(stage(), kernels_dir=kernels, cache_dir=tmp_path / "cache")
    assert "g++" in caught.value.hint


@pytest.mark.parametrize(
    ("present", "kind", "hint"),
    [
        (None, UsageError, "--list-gpu-code"),
        ("sm_75", UsageError, "--list-gpu-code"),
        ("sm_120", EnvironmentLacksError, "nvcc"),
    ],
)
def test_an_architecture_that_nvcc_does_not_know(
    kernels: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    present: str | None,
    kind: type[NcuLabError],
    hint: str,
) -> None:
    fake = tmp_path / "nvcc"
    fake.write_text("#!/bin/sh\necho \"nvcc fatal   : Unsupported gpu architecture 'compute_120'\" >&2\nexit 1\n")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr("ncu_lab.gpu.compile.find_nvcc", lambda: Nvcc(fake, "12.4.1"))
    monkeypatch.setattr("ncu_lab.gpu.compile.present_arch", lambda: present)
    with pytest.raises(kind, match=r"nvcc 12\.4\.1 cannot build for sm_120") as caught:
        build_stage(stage(), "sm_120", kernels_dir=kernels, cache_dir=tmp_path / "cache")
    assert hint in caught.value.hint


@needs_nvcc
def test_builds_once_for_equal_content(kernels: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = build_stage(stage(), kernels_dir=kernels, cache_dir=cache)
    assert (first.cached, first.arch, first.variant) == (False, "sm_90", "fast")
    assert (first.shared_bytes, first.spill_store_bytes, first.barriers) == (128, 0, 1)
    assert first.registers > 0
    again = build_stage(stage(), kernels_dir=kernels, cache_dir=cache)
    assert again.cached
    assert again.cubin == first.cubin
    assert again.seconds == first.seconds

    changed = [
        build_stage(stage(), variant="guarded", kernels_dir=kernels, cache_dir=cache),
        build_stage(stage(tile={"BM": 64, "BN": 16}), kernels_dir=kernels, cache_dir=cache),
        build_stage(stage(), "sm_80", kernels_dir=kernels, cache_dir=cache),
        build_stage(stage(), kernels_dir=kernels, cache_dir=cache, defines=["OTHER=1"]),
    ]
    (kernels / "shared.cuh").write_text("constexpr float FACTOR = 3.0f;\n")
    changed.append(build_stage(stage(), kernels_dir=kernels, cache_dir=cache))
    assert not any(build.cached for build in changed)
    assert len({build.cubin for build in [first, *changed]}) == 6
    assert {path.name for path in (cache / "cubins").iterdir()} == {
        build.cubin.parent.name for build in [first, *changed]
    }  # nothing half-made is left


@needs_nvcc
def test_a_second_source_has_a_cubin_and_a_level_of_its_own(kernels: Path, tmp_path: Path) -> None:
    (kernels / "gemm" / "y.cu").write_text('extern "C" __global__ void other(float* x) { *x = 1.0f / *x; }\n')
    cache = tmp_path / "cache"
    both = [
        build_stage(stage(second_file="gemm/y.cu", second_level=level), kernels_dir=kernels, cache_dir=cache)
        for level in (0, 3)
    ]
    alone = build_stage(stage(), kernels_dir=kernels, cache_dir=cache)
    assert len({build.cubin for build in [*both, alone]}) == 3
    for build in both:
        assert build.cubin.read_bytes() == alone.cubin.read_bytes()
        assert (build.registers, build.shared_bytes, build.flags) == (alone.registers, alone.shared_bytes, alone.flags)
    seconds = [Path(second_cubin(str(build.cubin))).read_bytes() for build in both]
    assert all(b"other" in content and str(tmp_path).encode() not in content for content in seconds)
    assert seconds[0] != seconds[1]
    assert not Path(second_cubin(str(alone.cubin))).exists()
    if alone.sass is not None:  # where a disassembler is present
        assert all(build.sass and build.sass.startswith(alone.sass) and "\nother:" in build.sass for build in both)
    guarded = build_stage(stage(second_file="gemm/y.cu"), variant="guarded", kernels_dir=kernels, cache_dir=cache)
    assert not Path(second_cubin(str(guarded.cubin))).exists()

    (kernels / "gemm" / "y.cu").write_text('extern "C" __global__ void other(float* x) { *x = 2.0f / *x; }\n')
    changed = build_stage(stage(second_file="gemm/y.cu"), kernels_dir=kernels, cache_dir=cache)
    assert not changed.cached


@needs_nvcc
def test_the_cubin_knows_no_path_of_this_machine(kernels: Path, tmp_path: Path) -> None:
    build = build_stage(stage(), kernels_dir=kernels, cache_dir=tmp_path / "cache")
    content = build.cubin.read_bytes()
    assert str(tmp_path).encode() not in content
    assert b"kernels/gemm\0" in content
    assert b"x.cu\0" in content
    assert not [flag for flag in build.flags if str(tmp_path) in flag]


@needs_nvcc
@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            'extern "C" __global__ void k() {\n  nothing();\n}\n',
            'kernels/gemm/x.cu:2: identifier "nothing" is undefined',
        ),
        ('#include "nope.cuh"\n', "kernels/gemm/x.cu:1: nope.cuh: No such file"),
        ("__global__ void other() {}\n", "no entry function k in it"),
        (
            'extern "C" __global__ void k(float* x) { __shared__ volatile float t[32000]; t[threadIdx.x] = *x; '
            "*x = t[threadIdx.x ^ 1]; }\n",
            "uses too much shared data",
        ),
    ],
)
def test_a_failed_compilation_says_where(kernels: Path, tmp_path: Path, source: str, message: str) -> None:
    (kernels / "gemm" / "x.cu").write_text(source)
    with pytest.raises(InputError) as caught:
        build_stage(stage(), kernels_dir=kernels, cache_dir=tmp_path / "cache")
    assert message in caught.value.message
    assert list((tmp_path / "cache" / "cubins").iterdir()) == []


@needs_nvcc
def test_a_damaged_cache_entry_is_named(kernels: Path, tmp_path: Path) -> None:
    build = build_stage(stage(), kernels_dir=kernels, cache_dir=tmp_path / "cache")
    record = build.cubin.parent / "build.json"
    document = json.loads(record.read_text())
    del document["resources"]
    record.write_text(json.dumps(document))
    with pytest.raises(InputError, match="damaged"):
        build_stage(stage(), kernels_dir=kernels, cache_dir=tmp_path / "cache")


@needs_nvcc
def test_a_cache_that_cannot_be_written_is_named(kernels: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "cache"
    blocked.write_text("a file where a folder should be")
    with pytest.raises(EnvironmentLacksError) as caught:
        build_stage(stage(), kernels_dir=kernels, cache_dir=blocked)
    assert "NCU_LAB_CACHE" in caught.value.hint


@needs_nvcc
def test_two_processes_may_build_the_same(kernels: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from ncu_lab.gpu.compile import build_stage; "
        "from ncu_lab.model import Stage; "
        "s = Stage('x', 'x', 'x', 'x', 'fp32', file='gemm/x.cu', entry='k', tile={'BM': 32}); "
        f"print(build_stage(s, kernels_dir=Path({str(kernels)!r}), cache_dir=Path({str(tmp_path / 'cache')!r})).cubin)"
    )
    command = [sys.executable, "-c", code]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    told = [process.communicate()[0].strip() for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert told[0] == told[1]
    assert Path(told[0]).is_file()
    assert len(list((tmp_path / "cache" / "cubins").iterdir())) == 1
