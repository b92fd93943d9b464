from __future__ import annotations

from pathlib import Path

import pytest

from ncu_lab.errors import InputError, UsageError
from ncu_lab.gpu.registry import load_stages
from ncu_lab.gpu.request import TargetRequest, read, subjects_of, write
from ncu_lab.model import Problem, StageBuild


def build(stage: str, variant: str) -> StageBuild:
    return StageBuild(
        stage=stage,
        variant=variant,  # type: ignore[arg-type]  # parametrised by plain words
        arch="sm_90",
        cubin=Path(f"/cache/{stage}-{variant}.cubin"),
        registers=1,
        spill_store_bytes=0,
        spill_load_bytes=0,
        stack_bytes=0,
        shared_bytes=0,
        barriers=0,
        cached=True,
        seconds=0.0,
        flags=(),
        nvcc="13.0.88",
    )


def test_round_trip_of_every_stage(tmp_path: Path) -> None:
    stages = load_stages()
    builds = [build("2d", "fast"), build("2d", "guarded"), build("naive", "fast")]
    request = TargetRequest(
        "check",
        Problem(3, 5, 7, alpha=-1.5, beta=0.25),
        subjects_of(stages.values(), builds, stages),
        samples=4,
        seed=99,
        shapes=(Problem(1, 2, 0), Problem(9, 9, 9)),
        quick=True,
        result=str(tmp_path / "result.json"),
    )
    path = tmp_path / "request.json"
    write(request, path)
    assert read(path) == request
    assert list(tmp_path.iterdir()) == [path]  # no temporary file left


def test_subjects_join_stages_and_builds() -> None:
    stages = load_stages()
    builds = [build("2d", "guarded"), build("2d", "fast")]
    two, library = subjects_of([stages["2d"], stages["cublas-fp32"]], builds, stages)
    assert (two.cubin, two.guarded_cubin) == ("/cache/2d-fast.cubin", "/cache/2d-guarded.cubin")
    assert (library.cubin, library.guarded_cubin) == (None, None)
    assert two.fallback is None


def test_a_subject_brings_the_stage_that_it_falls_back_to() -> None:
    stages = load_stages()
    [summit] = subjects_of([stages["sgemm-hopper"]], [build("sgemm-hopper", "guarded")], stages)
    assert summit.fallback == stages["warptiled"]
    assert summit.guarded_cubin == "/cache/sgemm-hopper-guarded.cubin"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"mode": "dance"}'])
def test_refuses_what_is_no_request(tmp_path: Path, text: str) -> None:
    path = tmp_path / "request.json"
    path.write_text(text)
    with pytest.raises(InputError, match="not a target request"):
        read(path)


def test_a_matrix_beyond_32_bit_indices_is_refused() -> None:
    Problem(46340, 46340, 1)
    with pytest.raises(UsageError, match="matrix C of 46341 x 46341 has more than 2\\^31 - 1 elements"):
        Problem(46341, 46341, 1)


def test_refuses_a_size_of_zero(tmp_path: Path) -> None:
    path = tmp_path / "request.json"
    write(TargetRequest("check", Problem(1, 1, 1), ()), path)
    path.write_text(path.read_text().replace('"m": 1', '"m": 0'))
    with pytest.raises(UsageError, match="m = 0"):
        read(path)
