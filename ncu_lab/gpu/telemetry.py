"""Clock, power and temperature of the GPU in use, from NVML; all None where NVML does not answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class State:
    """The GPU's state at one moment; None for what NVML does not tell."""

    sm_clock_mhz: float | None = None
    power_w: float | None = None
    temperature_c: float | None = None


class Telemetry:
    """Reads the state of one GPU.

    Args:
        pci_bus_id: Of the GPU as CUDA names it: NVML counts devices otherwise (CUDA_VISIBLE_DEVICES).
    """

    def __init__(self, pci_bus_id: str) -> None:
        self._nvml: Any = None
        try:
            import pynvml
        except ImportError:
            return
        try:
            pynvml.nvmlInit()
            self._handle = pynvml.nvmlDeviceGetHandleByPciBusId(pci_bus_id)
        except pynvml.NVMLError:
            return
        self._nvml = pynvml

    def read(self) -> State:
        """Return the present state."""
        nvml = self._nvml
        if nvml is None:
            return State()
        return State(
            sm_clock_mhz=self._ask(lambda: nvml.nvmlDeviceGetClockInfo(self._handle, nvml.NVML_CLOCK_SM)),
            power_w=self.power_w(),
            temperature_c=self._ask(lambda: nvml.nvmlDeviceGetTemperature(self._handle, nvml.NVML_TEMPERATURE_GPU)),
        )

    def power_w(self) -> float | None:
        """Return the power that the GPU draws, NVML's mean over the last second."""
        nvml = self._nvml
        milliwatts = None if nvml is None else self._ask(lambda: nvml.nvmlDeviceGetPowerUsage(self._handle))
        return None if milliwatts is None else milliwatts / 1000.0

    def power_limit_w(self) -> float | None:
        """Return the power that the GPU may draw; it lowers its clock to stay below."""
        nvml = self._nvml
        milliwatts = None if nvml is None else self._ask(lambda: nvml.nvmlDeviceGetEnforcedPowerLimit(self._handle))
        return None if milliwatts is None else milliwatts / 1000.0

    def _ask(self, question: Callable[[], Any]) -> float | None:
        try:
            return float(question())
        except self._nvml.NVMLError:
            return None  # not supported on this GPU or virtual machine
