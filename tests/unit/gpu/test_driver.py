"""What is handed to the CUDA driver, without one: a stand-in records the calls."""

from __future__ import annotations

import ctypes
from ctypes import c_void_p
from typing import Any, cast

import pytest

from ncu_lab.errors import ProgramError
from ncu_lab.gpu.driver import Driver, DriverError, LaunchAttribute, LaunchConfig, config_of, encode, prepare, resolve
from ncu_lab.gpu.kernel_launch import Float, Int, KernelLaunch, Pointer, Scratch, TensorMap, Workspace


class Recorder:
    """Takes the driver's place."""

    def __init__(self, compiled_for: int = 90) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.attributes = {
            6: compiled_for,
            8: 48 * 1024,
        }  # CU_FUNC_ATTRIBUTE_BINARY_VERSION, …_MAX_DYNAMIC_SHARED_SIZE_…

    def __call__(self, name: str, *arguments: Any) -> None:
        if name == "cuFuncGetAttribute":
            ctypes.cast(arguments[0], ctypes.POINTER(ctypes.c_int))[0] = self.attributes[arguments[1]]
            return
        self.calls.append((name, arguments))
        if name == "cuFuncSetAttribute":
            self.attributes[arguments[1]] = arguments[2]
        if name == "cuTensorMapEncodeTiled":
            ctypes.memset(arguments[0].value, 0xAB, 128)

    @property
    def as_driver(self) -> Driver:
        return cast(Driver, self)


def kernel(*arguments: Any, **fields: Any) -> KernelLaunch:
    return KernelLaunch("k", (3, 2, 1), (128, 1, 1), arguments, **fields)


def test_structures_have_the_layout_of_cuda_h() -> None:
    assert ctypes.sizeof(LaunchAttribute) == 72
    assert LaunchAttribute.value.offset == 8
    assert ctypes.sizeof(LaunchConfig) == 56
    offsets = [getattr(LaunchConfig, name).offset for name in ("block", "shared_bytes", "stream", "attributes")]
    assert offsets == [12, 24, 32, 40]


def test_a_plain_launch_has_no_attributes() -> None:
    config = config_of(kernel(), 0x77)
    assert (list(config.grid), list(config.block)) == ([3, 2, 1], [128, 1, 1])
    assert (config.stream, config.shared_bytes, config.attribute_count) == (0x77, 0, 0)


def test_clusters_and_early_starts_are_attributes() -> None:
    config = config_of(kernel(cluster=2, early=True, shared_bytes=4096), 0)
    assert (config.shared_bytes, config.attribute_count) == (4096, 2)
    attributes = [(config.attributes[i].id, list(config.attributes[i].value[0:3])) for i in range(2)]
    assert attributes == [(4, [2, 1, 1]), (6, [1, 0, 0])]


def test_arguments_reach_the_kernel_in_its_widths() -> None:
    driver = Recorder()
    call = prepare(
        driver.as_driver, c_void_p(1), kernel(Int(-7), Float(0.5), Pointer(2**40), Pointer(Scratch(512))), 0, 0x1000
    )
    assert driver.calls == []  # no dynamic shared memory to ask for
    call()
    call()
    [(name, (_, _, pointers, _)), _] = driver.calls
    assert name == "cuLaunchKernelEx"
    assert ctypes.c_int.from_address(pointers[0]).value == -7
    assert ctypes.c_float.from_address(pointers[1]).value == 0.5
    assert [ctypes.c_uint64.from_address(pointers[i]).value for i in (2, 3)] == [2**40, 0x1000 + 512]


def test_dynamic_shared_memory_is_asked_for_once() -> None:
    driver = Recorder()
    call = prepare(driver.as_driver, c_void_p(1), kernel(shared_bytes=107904), 0, 0)
    call()
    assert [name for name, _ in driver.calls] == ["cuFuncSetAttribute", "cuLaunchKernelEx"]
    assert driver.calls[0][1][1:] == (8, 107904)


def test_a_launch_with_less_shared_memory_takes_none_from_one_with_more() -> None:
    driver = Recorder()
    for size in (107904, 4096, 81920, 120000):
        prepare(driver.as_driver, c_void_p(1), kernel(shared_bytes=size), 0, 0)
    assert [arguments[2] for name, arguments in driver.calls if name == "cuFuncSetAttribute"] == [107904, 120000]


@pytest.mark.parametrize(("compiled_for", "attributes"), [(80, 0), (89, 0), (90, 1), (120, 1)])
def test_only_code_for_hopper_and_later_starts_early(compiled_for: int, attributes: int) -> None:
    driver = Recorder(compiled_for)
    prepare(driver.as_driver, c_void_p(1), kernel(early=True), 0, 0)()
    config = driver.calls[-1][1][0]._obj
    assert config.attribute_count == attributes


def test_a_tensor_map_is_encoded_as_asked_and_lies_aligned() -> None:
    driver = Recorder()
    made = encode(driver.as_driver, TensorMap("bf16", Scratch(256), 512, 64, 1040, (64, 32), 128), 0x10000)
    assert ctypes.addressof(made) % 64 == 0
    assert bytes(made) == b"\xab" * 128
    [(_, arguments)] = driver.calls
    (_, dtype, rank, address, sizes, pitches, box, steps, interleave, swizzle, promotion, fill) = arguments
    assert (dtype.value, rank.value, address.value) == (9, 2, 0x10100)
    assert (list(sizes), list(pitches), list(box), list(steps)) == ([512, 64], [1040], [64, 32], [1, 1])
    assert (interleave.value, swizzle.value, promotion.value, fill.value) == (0, 3, 3, 0)


def test_addresses() -> None:
    assert resolve(0x1234, 0x9000) == 0x1234
    assert resolve(Scratch(0x20), 0x9000) == 0x9020


def test_parts_of_a_workspace_do_not_overlap_and_are_aligned() -> None:
    workspace = Workspace()
    assert [workspace.take(size).offset for size in (1, 256, 0, 257, 4)] == [0, 256, 512, 512, 1024]
    assert workspace.bytes == 1280


class _Library:
    def cuDoes(self) -> int:
        return 0

    def cuFails(self) -> int:
        return 1

    def cuGetErrorName(self, status: int, word: Any) -> int:
        ctypes.cast(word, ctypes.POINTER(ctypes.c_char_p))[0] = b"CUDA_ERROR_INVALID_VALUE"
        return 0


def test_a_failed_call_is_an_error_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: _Library())
    driver = Driver()
    driver("cuDoes")
    with pytest.raises(DriverError, match=r"^cuFails failed: CUDA_ERROR_INVALID_VALUE$"):
        driver("cuFails")
    with pytest.raises(DriverError, match="this driver has no cuSings"):
        driver("cuSings")
    assert issubclass(DriverError, ProgramError)
