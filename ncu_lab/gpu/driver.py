"""libcuda by ctypes: loads cubins, encodes tensor maps, launches kernels. The context is the one that is current.

Structures and constants are those of ``cuda.h`` (CUDA 12 and 13).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from ctypes import addressof, byref, c_byte, c_char_p, c_float, c_int, c_uint, c_uint32, c_uint64, c_void_p
from dataclasses import replace
from pathlib import Path
from typing import Any

from ncu_lab.errors import ProgramError
from ncu_lab.gpu.kernel_launch import Address, Argument, Float, Int, KernelLaunch, Scratch, TensorMap
from ncu_lab.model import Dtype

_BINARY_VERSION, _MAX_DYNAMIC_SHARED_BYTES = 6, 8  # CUfunction_attribute
_CLUSTER_DIMENSION, _EARLY_START = 4, 6  # CUlaunchAttributeID; 6 is programmatic stream serialization
_FIRST_EARLY_START = 90  # compute capability: CUDA C++ Programming Guide, programmatic dependent launch
_MAP_TYPES: Mapping[Dtype, int] = {"fp16": 6, "fp32": 7, "tf32": 7, "bf16": 9}  # CUtensorMapDataType
_SWIZZLES: Mapping[int, int] = {0: 0, 32: 1, 64: 2, 128: 3}  # CUtensorMapSwizzle
_L2_PROMOTION_256B = 3
_MAP_BYTES, _MAP_ALIGNMENT = 128, 64


class DriverError(ProgramError):
    """A call of the CUDA driver that failed."""


class Driver:
    """Calls a function of libcuda by name and turns its status into an error.

    Raises:
        DriverError: When the library cannot be loaded.
    """

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise DriverError(f"the CUDA driver library cannot be loaded: {error}") from error

    def __call__(self, name: str, *arguments: Any) -> None:
        """Call a function with ctypes objects.

        Raises:
            DriverError: When this driver has no such function, or it fails; says the error's name.
        """
        try:
            status = getattr(self._library, name)(*arguments)
        except AttributeError as error:
            raise DriverError(f"this driver has no {name}") from error
        if status:
            word = c_char_p()
            self._library.cuGetErrorName(status, byref(word))
            raise DriverError(f"{name} failed: {(word.value or b'').decode() or f'CUresult {status}'}")

    def load(self, path: Path) -> c_void_p:
        """Load a cubin.

        Raises:
            DriverError: When it cannot be read or does not fit the GPU.
        """
        try:
            code = path.read_bytes()
        except OSError as error:
            raise DriverError(f"{path} cannot be read: {error.strerror or error}") from error
        module = c_void_p()
        self("cuModuleLoadData", byref(module), code)
        return module

    def function(self, module: c_void_p, entry: str) -> c_void_p:
        """Return a kernel of a loaded cubin."""
        function = c_void_p()
        self("cuModuleGetFunction", byref(function), module, entry.encode())
        return function


class LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute: the union is 64 bytes."""

    _fields_ = (("id", c_int), ("pad", c_int), ("value", c_uint * 16))


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("grid", c_uint * 3),
        ("block", c_uint * 3),
        ("shared_bytes", c_uint),
        ("stream", c_void_p),
        ("attributes", ctypes.POINTER(LaunchAttribute)),
        ("attribute_count", c_uint),
    )


def config_of(launch: KernelLaunch, stream: int) -> LaunchConfig:
    """Return the structure that describes a launch; only what differs from a plain one becomes an attribute."""
    wanted: list[tuple[int, tuple[int, int, int]]] = []
    if launch.cluster > 1:
        wanted.append((_CLUSTER_DIMENSION, (launch.cluster, 1, 1)))
    if launch.early:
        wanted.append((_EARLY_START, (1, 0, 0)))
    attributes = (LaunchAttribute * max(1, len(wanted)))()
    for attribute, (identifier, value) in zip(attributes, wanted, strict=False):
        attribute.id = identifier
        attribute.value[0:3] = value
    return LaunchConfig(launch.grid, launch.block, launch.shared_bytes, stream, attributes, len(wanted))


def prepare(
    driver: Driver, function: c_void_p, launch: KernelLaunch, stream: int, workspace: int
) -> Callable[[], None]:
    """Make everything that a launch needs, once; return what enqueues it.

    Args:
        driver: The driver.
        function: Of :meth:`Driver.function`.
        launch: What to launch.
        stream: Address of the CUDA stream.
        workspace: Address of the workspace.

    Raises:
        DriverError: When the GPU cannot give a block so much shared memory, or a tensor map breaks a rule of CUDA's.
    """
    # Only ever raised: another launch of the function that was prepared before may need more than this one.
    if launch.shared_bytes > _attribute(driver, function, _MAX_DYNAMIC_SHARED_BYTES):
        driver("cuFuncSetAttribute", function, _MAX_DYNAMIC_SHARED_BYTES, launch.shared_bytes)
    values = [_value(driver, argument, workspace) for argument in launch.arguments]
    pointers = (c_void_p * len(values))(*(addressof(value) for value in values))
    if launch.early and _attribute(driver, function, _BINARY_VERSION) < _FIRST_EARLY_START:
        launch = replace(launch, early=False)
    config = config_of(launch, stream)

    def enqueue(_kept_alive: object = values) -> None:
        driver("cuLaunchKernelEx", byref(config), function, pointers, None)

    return enqueue


def _attribute(driver: Driver, function: c_void_p, attribute: int) -> int:
    """Return an attribute of a kernel; its binary version is 10 * major + minor of what it was compiled for."""
    value = c_int()
    driver("cuFuncGetAttribute", byref(value), attribute, function)
    return value.value


def _value(driver: Driver, argument: Argument, workspace: int) -> Any:
    """Return an argument as a ctypes object of the size that the kernel expects."""
    match argument:
        case Int(value):
            return c_int(value)
        case Float(value):
            return c_float(value)
        case TensorMap():
            return encode(driver, argument, workspace)
    return c_uint64(resolve(argument.address, workspace))


def resolve(address: Address, workspace: int) -> int:
    """Return a device address; one in the workspace counts from its begin."""
    return workspace + address.offset if isinstance(address, Scratch) else address


def encode(driver: Driver, tensor_map: TensorMap, workspace: int) -> Any:
    """Return a tensor map as the 128 bytes, aligned to 64, that a kernel takes by value.

    Raises:
        DriverError: When it breaks a rule of CUDA's, or the driver knows no tensor maps.
    """
    raw = (c_byte * (_MAP_BYTES + _MAP_ALIGNMENT))()
    begin = -(-addressof(raw) // _MAP_ALIGNMENT) * _MAP_ALIGNMENT
    driver(
        "cuTensorMapEncodeTiled",
        c_void_p(begin),
        c_int(_MAP_TYPES[tensor_map.dtype]),
        c_uint32(2),
        c_void_p(resolve(tensor_map.address, workspace)),
        (c_uint64 * 2)(tensor_map.columns, tensor_map.rows),
        (c_uint64 * 1)(tensor_map.pitch_bytes),
        (c_uint32 * 2)(*tensor_map.box),
        (c_uint32 * 2)(1, 1),  # every element of a box
        c_int(0),  # not interleaved
        c_int(_SWIZZLES[tensor_map.swizzle_bytes]),
        c_int(_L2_PROMOTION_256B),
        c_int(0),  # outside the matrix: zeros
    )
    return (c_byte * _MAP_BYTES).from_buffer(raw, begin - addressof(raw))  # keeps raw alive
