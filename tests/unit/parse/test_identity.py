from typing import Any

import pytest

from ncu_lab.parse.identity import Identity, device_from, launches_table, short_name


def identity(kernel: str, *nvtx: str, process: str = "p (1)", **more: Any) -> Identity:
    fields: dict[str, Any] = {
        "kernel": kernel, "function": kernel, "mangled": None, "grid": (1, 2, 3), "block": (4, 5, 6), "stream": None,
        "context": None, "process": process, "device": "0", "nvtx": nvtx, "workload": "kernel",
    }  # fmt: skip
    return Identity(**{**fields, **more})


def lookups(*durations: float | None) -> list[Any]:
    return [{"gpu__time_duration.sum": ns}.get for ns in durations]


def test_a_range_names_the_stage_the_innermost_wins() -> None:
    assert identity("k", "app", "ncu-lab/2d").stage == "2d"
    assert identity("k", "ncu-lab/2d", "ncu-lab/split-k").stage == "split-k"
    assert identity("k", "ncu-lab:2d").stage is None


def test_executions_count_per_process_stage_and_kernel() -> None:
    ones = [identity("a"), identity("b"), identity("a"), identity("a", "ncu-lab/x"), identity("a", process="q (2)")]
    frame = launches_table(ones, lookups(*[1.0] * 5))
    assert frame["launch"].tolist() == [0, 1, 2, 3, 4]
    assert frame["execution"].tolist() == [0, 0, 1, 0, 0]


def test_the_main_kernel_of_a_stage_took_most_time_together() -> None:
    kernels = ["transpose", "gemm", "gemm", "transpose", "alone"]
    ones = [identity(name, *["ncu-lab/x"] * (name != "alone")) for name in kernels]
    frame = launches_table(ones, lookups(30.0, 20.0, 20.0, 5.0, 1.0))
    assert frame["role"].tolist() == ["auxiliary", "main", "main", "auxiliary", "main"]


def test_without_durations_the_first_kernel_is_the_main_one() -> None:
    ones = [identity("a", "ncu-lab/x"), identity("b", "ncu-lab/x")]
    assert launches_table(ones, lookups(None, None))["role"].tolist() == ["main", "auxiliary"]


def test_sizes_are_columns() -> None:
    row = launches_table([identity("a")], lookups(None)).iloc[0]
    assert [row[f"grid_{axis}"] for axis in "xyz"] == [1, 2, 3]
    assert [row[f"block_{axis}"] for axis in "xyz"] == [4, 5, 6]


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        ("saxpy", "saxpy"),
        ("sgemm_naive(int, float *)", "sgemm_naive"),
        ("void cutlass::Kernel2<cutlass_80_tensorop<a, 2>>(T1::Params)", "Kernel2"),
        ("void at::native::(anonymous namespace)::fill<int>(int (*)(int), x)", "fill"),
        ("void <unnamed>::k(int)", "k"),
        ("copy[abi:v1,cw51](Array<int, 1>)", "copy"),
        ("(unnamed)", "(unnamed)"),
    ],
)
def test_short_names(kernel: str, name: str) -> None:
    assert short_name(kernel) == name


def test_a_file_without_attributes_has_no_device() -> None:
    assert device_from({"gpu__time_duration.sum": 1.0}) is None


def test_absent_attributes_are_unknown() -> None:
    device = device_from({"device__attribute_warp_size": 32.0, "device__attribute_total_memory": float("nan")})
    assert device is not None
    assert (device.name, device.compute_capability, device.memory_bytes) == ("unknown GPU", None, None)
    assert device.attributes == {"warp_size": 32.0}
