"""The few calls of the CUDA driver, cuBLAS and NVML that the experiments need, through ctypes alone.

No framework is imported, so that one process per variant starts in about a second and a hang costs little.
"""

from __future__ import annotations

import ctypes as ct
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FLOAT32, BFLOAT16 = 7, 9  # CUtensorMapDataType
CLUSTER_DIMENSION, EARLY_START = 4, 6  # CUlaunchAttributeID; 6 is programmatic stream serialization
SHARED_MEMORY_LIMIT = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


class _Attribute(ct.Structure):
    _fields_ = (("id", ct.c_int), ("pad", ct.c_int), ("value", ct.c_uint * 16))


class _Config(ct.Structure):
    _fields_ = (
        ("grid", ct.c_uint * 3),
        ("block", ct.c_uint * 3),
        ("shared", ct.c_uint),
        ("stream", ct.c_void_p),
        ("attributes", ct.POINTER(_Attribute)),
        ("count", ct.c_uint),
    )


class CudaError(RuntimeError):
    """A driver or library call that did not return success."""


class Cuda:
    """One device's primary context and one stream, on which everything but plain copies runs."""

    def __init__(self) -> None:
        self.lib = ct.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        self._context = ct.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ct.byref(self._context), 0)
        self.call("cuCtxSetCurrent", self._context)
        self.stream = ct.c_void_p()
        self.call("cuStreamCreate", ct.byref(self.stream), 1)  # non-blocking
        count = ct.c_int()
        self.call("cuDeviceGetAttribute", ct.byref(count), 16, 0)  # MULTIPROCESSOR_COUNT
        self.multiprocessors = count.value

    def call(self, name: str, *args: Any) -> None:
        """Calls a driver function and raises CudaError unless it succeeds."""
        code = getattr(self.lib, name)(*args)
        if code != 0:
            text = ct.c_char_p()
            self.lib.cuGetErrorString(code, ct.byref(text))
            raise CudaError(f"{name}: {code} {(text.value or b'').decode()}")

    def alloc(self, size: int) -> int:
        """Device memory of `size` bytes; freed with the process."""
        pointer = ct.c_uint64()
        self.call("cuMemAlloc_v2", ct.byref(pointer), ct.c_size_t(max(size, 16)))
        return pointer.value

    def free(self, pointer: int) -> None:
        """Gives device memory back."""
        self.call("cuMemFree_v2", ct.c_uint64(pointer))

    def upload(self, pointer: int, data: Any) -> None:
        """Copies a C-contiguous numpy array to the device, after everything before has finished."""
        self.synchronize()
        self.call("cuMemcpyHtoD_v2", ct.c_uint64(pointer), ct.c_void_p(data.ctypes.data), ct.c_size_t(data.nbytes))

    def download(self, data: Any, pointer: int) -> None:
        """Fills a C-contiguous numpy array from the device, after everything before has finished."""
        self.synchronize()
        self.call("cuMemcpyDtoH_v2", ct.c_void_p(data.ctypes.data), ct.c_uint64(pointer), ct.c_size_t(data.nbytes))

    def fill(self, pointer: int, word: int, words: int) -> None:
        """Sets 32-bit words, asynchronously."""
        self.call("cuMemsetD32Async", ct.c_uint64(pointer), ct.c_uint(word), ct.c_size_t(words), self.stream)

    def synchronize(self) -> None:
        """Waits for the device."""
        self.call("cuCtxSynchronize")

    def event(self) -> ct.c_void_p:
        """A timing event."""
        handle = ct.c_void_p()
        self.call("cuEventCreate", ct.byref(handle), 0)
        return handle

    def record(self, event: ct.c_void_p) -> None:
        """Records an event on the stream."""
        self.call("cuEventRecord", event, self.stream)

    def elapsed_ms(self, start: ct.c_void_p, stop: ct.c_void_p) -> float:
        """Milliseconds between two events; waits for the second."""
        value = ct.c_float()
        self.call("cuEventSynchronize", stop)
        name = "cuEventElapsedTime_v2" if hasattr(self.lib, "cuEventElapsedTime_v2") else "cuEventElapsedTime"
        self.call(name, ct.byref(value), start, stop)
        return value.value

    def module(self, cubin: Path) -> ct.c_void_p:
        """Loads a cubin."""
        handle = ct.c_void_p()
        self.call("cuModuleLoadData", ct.byref(handle), cubin.read_bytes())
        return handle

    def function(self, module: ct.c_void_p, name: str, shared: int = 0) -> ct.c_void_p:
        """A kernel of a module, allowed `shared` bytes of dynamic shared memory."""
        handle = ct.c_void_p()
        self.call("cuModuleGetFunction", ct.byref(handle), module, name.encode())
        if shared > 48 * 1024:
            self.call("cuFuncSetAttribute", handle, SHARED_MEMORY_LIMIT, shared)
        return handle

    def tensor_map(
        self,
        dtype: int,
        pointer: int,
        width: int,
        height: int,
        pitch_bytes: int,
        box: tuple[int, int],
        swizzle: int = 0,
    ) -> Any:
        """Tensor map of a row-major matrix, `width` elements a row; `box`: (columns, rows); swizzle 0 or 3 (128 B)."""
        raw = (ct.c_byte * 192)()
        address = (ct.addressof(raw) + 63) // 64 * 64
        dims, strides = (ct.c_uint64 * 2)(width, height), (ct.c_uint64 * 1)(pitch_bytes)
        boxes, ones = (ct.c_uint32 * 2)(*box), (ct.c_uint32 * 2)(1, 1)
        self.call(
            "cuTensorMapEncodeTiled",
            ct.c_void_p(address), dtype, 2, ct.c_void_p(pointer), dims, strides, boxes, ones, 0, swizzle, 3, 0,
        )  # fmt: skip
        view = (ct.c_byte * 128).from_address(address)
        view.owner = raw  # keeps the storage alive
        return view

    def _config(self, grid: int, block: int, shared: int, cluster: int, early: bool = False) -> _Config:
        attributes, count = (_Attribute * 2)(), 0
        for wanted, identifier, value in (
            (cluster > 1, CLUSTER_DIMENSION, [cluster, 1, 1]),
            (early, EARLY_START, [1, 0, 0]),
        ):
            if wanted:
                attributes[count].id = identifier
                attributes[count].value[0:3] = value
                count += 1
        return _Config((grid, 1, 1), (block, 1, 1), shared, self.stream, attributes, count)

    def active_clusters(self, function: ct.c_void_p, shared: int, cluster: int, block: int) -> int:
        """How many clusters of blocks fit on the device at once; GPCs of unequal size leave SMs over."""
        if cluster == 1:
            return self.multiprocessors
        count, config = ct.c_int(), self._config(cluster, block, shared, cluster)
        self.call("cuOccupancyMaxActiveClusters", ct.byref(count), function, ct.byref(config))
        return count.value

    def launch(
        self,
        function: ct.c_void_p,
        grid: int,
        block: int,
        shared: int,
        args: list[Any],
        *,
        cluster: int = 1,
        early: bool = False,
    ) -> None:
        """Launches on the stream; `args` are ctypes objects. `early`: when the kernel before says so."""
        config = self._config(grid, block, shared, cluster, early)
        pointers = (ct.c_void_p * len(args))(*(ct.addressof(a) for a in args))
        self.call("cuLaunchKernelEx", ct.byref(config), function, pointers, None)


def _library(name: str) -> ct.CDLL:
    """A CUDA library from the wheels on sys.path, the toolkit, or the loader's own search."""
    roots = [Path(p) / "nvidia" for p in sys.path] + [Path("/usr/local/cuda/lib64")]
    for root in roots:
        found = sorted(root.glob(f"**/{name}.so.1[0-9]")) if root.is_dir() else []
        if found:
            return ct.CDLL(str(found[-1]), mode=ct.RTLD_GLOBAL)
    return ct.CDLL(f"{name}.so", mode=ct.RTLD_GLOBAL)


class Cublas:
    """cublasGemmEx on row-major matrices, with a 32 MiB workspace as the frameworks give it on Hopper."""

    R32F, R64F, R16BF = 0, 1, 14  # cudaDataType
    PEDANTIC_32F, DEFAULT_32F, DEFAULT_64F = 69, 68, 70  # cublasComputeType_t

    def __init__(self, cuda: Cuda) -> None:
        _library("libcublasLt")
        self.lib = _library("libcublas")
        self.handle = ct.c_void_p()
        self._check(self.lib.cublasCreate_v2(ct.byref(self.handle)))
        self._check(self.lib.cublasSetStream_v2(self.handle, cuda.stream))
        size = 32 << 20
        self._check(self.lib.cublasSetWorkspace_v2(self.handle, ct.c_uint64(cuda.alloc(size)), ct.c_size_t(size)))

    def _check(self, code: int) -> None:
        if code != 0:
            raise CudaError(f"cuBLAS status {code}")

    def gemm(self, m: int, n: int, k: int, a: int, b: int, c: int, types: tuple[int, int], compute: int) -> None:
        """C = A B, row-major and dense; `types` are those of the inputs and of C."""
        scalar = ct.c_double if compute == self.DEFAULT_64F else ct.c_float
        one, zero = scalar(1.0), scalar(0.0)
        ins, out = types
        pointer = ct.c_uint64
        # Column-major C^T = B^T A^T is row-major C = A B.
        self._check(
            self.lib.cublasGemmEx(
                self.handle, 0, 0, n, m, k, ct.byref(one), pointer(b), ins, n, pointer(a), ins, k,
                ct.byref(zero), pointer(c), out, n, compute, -1,
            )
        )  # fmt: skip


class _Heuristic(ct.Structure):
    """cublasLtMatmulHeuristicResult_t."""

    _fields_ = (
        ("algorithm", ct.c_uint64 * 8),
        ("workspace", ct.c_size_t),
        ("state", ct.c_int),
        ("waves", ct.c_float),
        ("reserved", ct.c_int * 4),
    )


class CublasLt:
    """The algorithms that cublasLt's heuristic ranks first for a row-major C = A B, with a 32 MiB workspace."""

    WORKSPACE = 32 << 20
    MAX_WORKSPACE_BYTES = 1  # cublasLtMatmulPreferenceAttributes_t

    def __init__(self, cuda: Cuda) -> None:
        self.lib, self.stream = _library("libcublasLt"), cuda.stream
        self.workspace = cuda.alloc(self.WORKSPACE)
        self.handle = ct.c_void_p()
        self._call("cublasLtCreate", ct.byref(self.handle))

    def _call(self, name: str, *args: Any) -> None:
        code = getattr(self.lib, name)(*args)
        if code != 0:
            raise CudaError(f"{name}: status {code}")

    def _made(self, name: str, *args: Any) -> ct.c_void_p:
        made = ct.c_void_p()
        self._call(name, ct.byref(made), *args)
        return made

    def candidates(
        self, m: int, n: int, k: int, a: int, b: int, c: int, types: tuple[int, int], compute: int, most: int = 8
    ) -> list[Any]:
        """One function per algorithm that computes the product; C^T = B^T A^T in column-major terms."""
        ins, out = types

        def layout(kind: int, rows: int, columns: int) -> ct.c_void_p:
            sizes = (ct.c_uint64(rows), ct.c_uint64(columns), ct.c_int64(rows))
            return self._made("cublasLtMatrixLayoutCreate", kind, *sizes)

        operation = self._made("cublasLtMatmulDescCreate", compute, Cublas.R32F)
        left, right, product = layout(ins, n, k), layout(ins, k, m), layout(out, n, m)
        preference = self._made("cublasLtMatmulPreferenceCreate")
        limit = ct.c_uint64(self.WORKSPACE)
        self._call(
            "cublasLtMatmulPreferenceSetAttribute",
            preference,
            self.MAX_WORKSPACE_BYTES,
            ct.byref(limit),
            ct.c_size_t(8),
        )
        found, count = (_Heuristic * most)(), ct.c_int()
        problem = (operation, left, right, product, product)
        self._call(
            "cublasLtMatmulAlgoGetHeuristic", self.handle, *problem, preference, most, ct.byref(found), ct.byref(count)
        )
        one, zero, pointer = ct.c_float(1.0), ct.c_float(0.0), ct.c_uint64

        def call(choice: _Heuristic) -> Any:
            return lambda: self._call(
                "cublasLtMatmul", self.handle, operation, ct.byref(one), pointer(b), left, pointer(a), right,
                ct.byref(zero), pointer(c), product, pointer(c), product, ct.byref(choice.algorithm),
                pointer(self.workspace), ct.c_size_t(self.WORKSPACE), self.stream,
            )  # fmt: skip

        return [call(found[i]) for i in range(count.value) if found[i].state == 0]


class EnergyMeter:
    """The board's energy counter of NVML (Volta and later)."""

    def __init__(self) -> None:
        self.device = ct.c_void_p()
        try:
            self.nvml: ct.CDLL | None = ct.CDLL("libnvidia-ml.so.1")
        except OSError:
            self.nvml = None
        if self.nvml and (self.nvml.nvmlInit_v2() or self.nvml.nvmlDeviceGetHandleByIndex_v2(0, ct.byref(self.device))):
            self.nvml = None

    def joules(self) -> float | None:
        """Since the driver was loaded; None where NVML does not say."""
        value = ct.c_ulonglong()
        if not self.nvml or self.nvml.nvmlDeviceGetTotalEnergyConsumption(self.device, ct.byref(value)):
            return None
        return value.value / 1000


@dataclass
class Telemetry:
    """SM clock, power and temperature by NVML, every 20 ms between enter and exit; empty where NVML is silent."""

    clocks_mhz: list[int] = field(default_factory=list)
    power_w: list[float] = field(default_factory=list)
    temperature_c: list[int] = field(default_factory=list)

    def __enter__(self) -> Telemetry:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _sample(self) -> None:
        try:
            nvml = ct.CDLL("libnvidia-ml.so.1")
        except OSError:
            return
        device, value = ct.c_void_p(), ct.c_uint()
        if nvml.nvmlInit_v2() or nvml.nvmlDeviceGetHandleByIndex_v2(0, ct.byref(device)):
            return
        while not self._stop.is_set():
            if nvml.nvmlDeviceGetClockInfo(device, 1, ct.byref(value)) == 0:
                self.clocks_mhz.append(value.value)
            if nvml.nvmlDeviceGetPowerUsage(device, ct.byref(value)) == 0:
                self.power_w.append(value.value / 1000)
            if nvml.nvmlDeviceGetTemperature(device, 0, ct.byref(value)) == 0:
                self.temperature_c.append(value.value)
            time.sleep(0.02)

    def summary(self) -> dict[str, float | None]:
        """Median clock of the upper half of the samples, highest power and temperature; None where nothing was read."""
        busy = sorted(self.clocks_mhz)[len(self.clocks_mhz) // 2 :]
        return {
            "clock_mhz": busy[len(busy) // 2] if busy else None,
            "clock_low_mhz": min(self.clocks_mhz, default=None),
            "power_w": max(self.power_w, default=None),
            "temperature_c": max(self.temperature_c, default=None),
        }
