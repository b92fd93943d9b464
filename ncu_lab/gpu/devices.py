"""Which GPU is here, what it could do at best, and what surrounds it."""

from __future__ import annotations

import ctypes
import hashlib
import platform
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from ncu_lab.advice import pip_install
from ncu_lab.errors import EnvironmentLacksError
from ncu_lab.gpu.datasheets import datasheet_of
from ncu_lab.model import ARCHITECTURES, Device, Dtype, Environment

_GPU_FIX = "Only check, bench, profile and tune need one."


def current_device() -> Device:
    """Return the GPU that this process would use.

    Raises:
        EnvironmentLacksError: When there is none, or cupy cannot reach it.
    """
    problem = gpu_problem()
    if problem is not None:
        raise EnvironmentLacksError(problem, _cupy_fix() if "cupy" in problem else _GPU_FIX)
    from cupy.cuda import runtime

    index = runtime.getDevice()
    properties: Mapping[str, Any] = runtime.getDeviceProperties(index)
    name = properties["name"]
    attributes = {
        "registers_per_sm": runtime.deviceGetAttribute(runtime.cudaDevAttrMaxRegistersPerMultiprocessor, index),
        "shared_bytes_per_sm": runtime.deviceGetAttribute(runtime.cudaDevAttrMaxSharedMemoryPerMultiprocessor, index),
        "threads_per_sm": runtime.deviceGetAttribute(runtime.cudaDevAttrMaxThreadsPerMultiProcessor, index),
        "memory_clock_hz": 1e3 * runtime.deviceGetAttribute(runtime.cudaDevAttrMemoryClockRate, index),
    }
    clock_khz = runtime.deviceGetAttribute(runtime.cudaDevAttrClockRate, index)
    uuid = properties.get("uuid")
    return Device(
        name=name.decode() if isinstance(name, bytes) else str(name),
        compute_capability=(int(properties["major"]), int(properties["minor"])),
        sm_count=int(properties["multiProcessorCount"]),
        uuid_hash=hashlib.sha256(bytes(uuid)).hexdigest()[:16] if uuid else None,
        memory_bytes=int(properties["totalGlobalMem"]),
        l2_bytes=int(properties["l2CacheSize"]),
        max_sm_clock_hz=1e3 * clock_khz if clock_khz else None,
        attributes=attributes,
    )


def present_arch() -> str | None:
    """Return ``sm_90`` and so on for the GPU that is here, None without one."""
    if gpu_problem() is not None:
        return None
    from cupy.cuda import runtime

    properties: Mapping[str, Any] = runtime.getDeviceProperties(runtime.getDevice())
    return f"sm_{properties['major']}{properties['minor']}"


def gpu_problem() -> str | None:
    """Return why no GPU can be used here in one sentence; None when one can."""
    try:
        from cupy.cuda import runtime
    except ImportError as error:
        return f"cupy cannot be imported: {error}".splitlines()[0]
    try:
        count = runtime.getDeviceCount()
    except runtime.CUDARuntimeError as error:
        if "InsufficientDriver" in str(error):
            return "no NVIDIA driver was found, or it is older than this CUDA needs"
        return f"the GPU cannot be used: {error}"
    return None if count else "no NVIDIA GPU is visible"


def _cupy_fix() -> str:
    return f"{pip_install('cuda13')}; where the driver knows CUDA 12 at most, cupy-cuda12x instead."


def cupy_version() -> str:
    """Return the version of cupy.

    Raises:
        EnvironmentLacksError: When it cannot be imported.
    """
    try:
        import cupy
    except ImportError as error:
        raise EnvironmentLacksError(f"cupy cannot be imported: {error}".splitlines()[0], _cupy_fix()) from error
    return str(cupy.__version__)


def load_cublas(library: Literal["cublas", "cublasLt"] = "cublas") -> ctypes.CDLL:
    """Load libcublas, or libcublasLt: by NVIDIA's path finder, which knows wheels and toolkits, else by the system's.

    Raises:
        EnvironmentLacksError: When it is nowhere.
    """
    names = [f"lib{library}.so{version}" for version in (".13", ".12", "")]
    reasons: list[str] = []
    try:
        from cuda.pathfinder import DynamicLibNotFoundError, load_nvidia_dynamic_lib
    except ImportError:
        pass  # cupy before 14 brings no path finder
    else:
        try:
            found = load_nvidia_dynamic_lib(library).abs_path
            names = [found, *names] if found else names
        except DynamicLibNotFoundError as error:
            reasons.append(str(error).splitlines()[0])
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            reasons.append(str(error))
    raise EnvironmentLacksError(
        f"cuBLAS cannot be loaded: {reasons[0]}",
        f"Install the CUDA toolkit, or {pip_install('libs')}; for CUDA 12 the package nvidia-cublas-cu12.",
    )


def environment() -> Environment:
    """Return the driver, the CUDA runtime, the system and the versions of ours; None for what is not known."""
    from ncu_lab import __version__

    cuda = None
    if gpu_problem() is None:
        from cupy.cuda import runtime

        version = runtime.runtimeGetVersion()
        cuda = f"{version // 1000}.{version % 1000 // 10}"
    return Environment(
        driver=driver_version(), cuda=cuda, os=f"{platform.system()} {platform.release()}", ncu_lab=__version__
    )


def driver_version(proc: Path = Path("/proc/driver/nvidia/version")) -> str | None:
    """Return the display driver's version (``580.159.03``) from NVML, else from the kernel module; None without one."""
    try:
        import pynvml
    except ImportError:
        pynvml = None
    if pynvml is not None:
        try:
            pynvml.nvmlInit()
            version = pynvml.nvmlSystemGetDriverVersion()
            return version.decode() if isinstance(version, bytes) else str(version)
        except pynvml.NVMLError:
            pass  # the kernel module may still say it
    try:
        match = re.search(r"(\d+\.\d+(?:\.\d+)?)", proc.read_text(encoding="utf-8"))
    except OSError:
        return None
    return match[1] if match else None


def peak_flop_per_s(device: Device, dtype: Dtype) -> float | None:
    """Return the device's peak for a type of A and B, in FLOP/s; None when it is not known.

    FP32: lanes per SM x SMs x 2 x highest SM clock. Tensor types: the datasheet's dense figure.
    """
    if dtype == "fp32":
        architecture = ARCHITECTURES.get(device.compute_capability or (0, 0))
        lanes = architecture.fp32_lanes if architecture else None
        if lanes is None or device.sm_count is None or device.max_sm_clock_hz is None:
            return None
        return 2.0 * lanes * device.sm_count * device.max_sm_clock_hz
    datasheet = datasheet_of(device.name)
    return datasheet.tensor.get(dtype) if datasheet else None
