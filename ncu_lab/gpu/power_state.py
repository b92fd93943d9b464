"""How long a load must run before it governs the clock, and over how long its samples must be spread.

A GPU near its power limit lowers its clock, and takes a second to do so. On an H200 at 4096³ (700 W) ``sgemm-hopper``
took 2443 µs in the first 0.4 s after a lighter load and 2460 to 2520 µs from then on; cuBLAS in BF16 took 189 µs on a
GPU that had rested and 200 µs a second later (``kernels/experiments/power_states.py``). What is measured first would be
measured cool. NVML's power is a mean over one second, so a load has told all of itself when that mean stands still.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from ncu_lab.gpu.telemetry import Telemetry

MOST_S = 2.0
"""Seconds of its own load before a series counts, at most; the window is the least."""

WITHOUT_POWER_S = 1.0
"""The same where NVML tells no power: as long as its mean is."""

WINDOW_S, STANDS_STILL = 0.25, 0.01
"""Power stands still when it changed by less than this share of itself within the window."""

AT_LIMIT = 0.95
"""Share of the power limit from which the clock is taken to swing."""

SWING_S = 1.0
"""Seconds over which the samples of a series at the limit are spread: the swings last about as long."""


class PowerState:
    """Follows the power of one GPU while loads take turns.

    Args:
        telemetry: Tells its power.
        clock: Seconds; another one in tests.
    """

    def __init__(self, telemetry: Telemetry, clock: Callable[[], float] = time.monotonic) -> None:
        self._telemetry, self._clock = telemetry, clock
        self._begin = clock()
        self._readings: deque[tuple[float, float]] = deque()

    def load_begins(self) -> None:
        """Say that another load runs from now on."""
        self._begin = self._clock()
        self._readings.clear()

    def is_settled(self) -> bool:
        """Return whether the load has run long enough; call it between its calls."""
        now = self._clock()
        elapsed = now - self._begin
        power = self._telemetry.power_w()
        if power is None:
            return elapsed >= WITHOUT_POWER_S
        readings = self._readings
        readings.append((now, power))
        # The first is the newest that the window has left behind: calls may be short, and asking must cost little.
        while len(readings) > 1 and now - readings[1][0] >= WINDOW_S:
            readings.popleft()
        at, before = readings[0]
        return elapsed >= MOST_S or (now - at >= WINDOW_S and abs(power - before) <= STANDS_STILL * power)

    def pause_s(self, samples: int) -> float:
        """Return the seconds of untimed load before each of so many samples: 0 where the limit is not near."""
        power, limit = self._telemetry.power_w(), self._telemetry.power_limit_w()
        at_limit = power is not None and limit is not None and power >= AT_LIMIT * limit
        return SWING_S / samples if at_limit else 0.0
