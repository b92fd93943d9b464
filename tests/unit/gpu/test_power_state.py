"""When a load has run long enough, on the power that an H200's NVML told: a mean over one second."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from ncu_lab.gpu.power_state import PowerState


@dataclass
class Gpu:
    """NVML's mean of a load that begins at second 0, on a GPU that drew other power before."""

    before_w: float | None
    load_w: float = 657.0
    limit_w: float | None = 700.0
    now: float = 0.0

    def power_w(self) -> float | None:
        if self.before_w is None:
            return None
        return self.before_w + min(1.0, self.now) * (self.load_w - self.before_w)

    def power_limit_w(self) -> float | None:
        return self.limit_w


def seconds_until_settled(gpu: Gpu, step: float = 0.01) -> float:
    state = PowerState(gpu, lambda: gpu.now)  # type: ignore[arg-type]  # what it asks of Telemetry
    state.load_begins()
    while not state.is_settled():
        gpu.now += step
    return round(gpu.now, 2)


@pytest.mark.parametrize(
    ("gpu", "seconds"),
    [
        # The window sees a quarter of the step, 134 W, until second 1, and then less; below 1 % of 657 W, 6.57 W, when
        # all but 0.012 s of it lie behind the ramp.
        (Gpu(122.0), 1.24),
        # From cuBLAS to a kernel at the limit: 40 W in a second, 10 in the window; 6.97 when 0.076 s of it lie behind.
        (Gpu(657.0, 697.0), 1.08),
        # As hot as before: what the window takes.
        (Gpu(690.0, 692.0), 0.25),
        # No power to be had: as long as its mean would be.
        (Gpu(None), 1.0),
    ],
)
def test_a_load_is_settled_when_the_mean_power_stands_still(gpu: Gpu, seconds: float) -> None:
    assert seconds_until_settled(gpu) == pytest.approx(seconds, abs=0.011)


def test_power_that_never_stands_still_is_waited_for_two_seconds() -> None:
    class Swinging(Gpu):
        def power_w(self) -> float | None:
            return 300.0 + 200.0 * (round(self.now / 0.25) % 2)

    assert seconds_until_settled(Swinging(300.0)) == pytest.approx(2.0, abs=0.011)


@pytest.mark.parametrize(
    ("power", "limit", "pause"),
    [(697.0, 700.0, 0.1), (665.0, 700.0, 0.1), (664.0, 700.0, 0.0), (697.0, None, 0.0), (None, 700.0, 0.0)],
)
def test_samples_at_the_power_limit_are_spread_over_a_second(
    power: float | None, limit: float | None, pause: float
) -> None:
    gpu = Gpu(power, power or 0.0, limit, now=1.0)
    state = PowerState(gpu)  # type: ignore[arg-type]  # what it asks of Telemetry
    assert state.pause_s(10) == pause
