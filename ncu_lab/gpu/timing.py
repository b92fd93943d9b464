"""Times stages with CUDA events: caches flushed, stage and reference interleaved A B B A, then each alone.

The flush does a second thing: it keeps the GPU busy while Python submits the next call, so that the events enclose the
call alone and no wait for the host.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from ncu_lab.gpu.power_state import PowerState
from ncu_lab.gpu.telemetry import Telemetry
from ncu_lab.model import TimingSample

MIN_FLUSH_BYTES = 256 * 2**20
"""At 3 TB/s about 90 µs of work: longer than a launch from Python takes."""

SLOW_NS = 50e6
"""A call slower than this needs no turns to warm up."""

Call = Callable[[], object]


class Stopwatch:
    """Takes samples in one process.

    Args:
        stream: The cupy stream that all calls go into.
        l2_bytes: Size of the L2 cache; the flush writes at least twice as much.
        telemetry: Reads clock, power and temperature after each sample.
    """

    def __init__(self, stream: Any, l2_bytes: int, telemetry: Telemetry) -> None:
        import cupy

        self._stream = stream
        self._flush_bytes = max(2 * l2_bytes, MIN_FLUSH_BYTES)
        self._flush = cupy.cuda.alloc(self._flush_bytes)
        self._start, self._stop = cupy.cuda.Event(), cupy.cuda.Event()
        self._telemetry = telemetry
        self._power = PowerState(telemetry)
        self._order = 0
        self._counts: dict[tuple[str, str], int] = {}

    def once(self, call: Call) -> float:
        """Return the nanoseconds of one call, by events around it, the L2 cache flushed before."""
        import cupy

        self._flush.memset_async(0, self._flush_bytes, self._stream)
        self._start.record(self._stream)
        call()
        self._stop.record(self._stream)
        self._stop.synchronize()
        return 1e6 * float(cupy.cuda.get_elapsed_time(self._start, self._stop))

    def sample(self, subject: str, mode: Literal["interleaved", "alone"], call: Call) -> TimingSample:
        """Take one sample and what the GPU says of its state right after."""
        ns = self.once(call)
        state = self._telemetry.read()
        number = self._counts[subject, mode] = self._counts.get((subject, mode), -1) + 1
        self._order += 1
        return TimingSample(
            0, number, self._order - 1, subject, mode, ns, state.sm_clock_mhz, state.power_w, state.temperature_c
        )

    def warm_up(self, calls: Sequence[Call], times: int) -> None:
        """Make the calls in turn, untimed: so often, slow ones once, and until their load governs the GPU's power.

        Args:
            calls: What the series to come consists of.
            times: Least number of turns.
        """
        self._power.load_begins()
        slowest = max(self.once(call) for call in calls)
        turns, enough = 1, times if slowest <= SLOW_NS else 1
        while not self._power.is_settled() or turns < enough:
            for call in calls:
                self.once(call)
            turns += 1

    def alone(self, subject: str, call: Call, samples: int) -> list[TimingSample]:
        """Time a subject by itself."""
        pause = self._power.pause_s(samples)
        taken = []
        for _ in range(samples):
            self._keep_loaded((call,), pause)
            taken.append(self.sample(subject, "alone", call))
        return taken

    def interleaved(self, names: tuple[str, str], calls: tuple[Call, Call], samples: int) -> list[TimingSample]:
        """Time two subjects in the order A B B A A B B A …, so that both meet the same clocks and temperature."""
        pause = self._power.pause_s(2 * samples)
        taken: list[TimingSample] = []
        for index in abba(samples):
            # Ends with the other of the two: neither is timed after itself more often than its rival.
            self._keep_loaded((calls[index], calls[1 - index]), pause)
            taken.append(self.sample(names[index], "interleaved", calls[index]))
        return taken

    def _keep_loaded(self, calls: Sequence[Call], seconds: float) -> None:
        """Make the calls in turn, untimed, for so long: a series at the power limit is spread over its swings."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for call in calls:
                self.once(call)

    def in_turns(self, calls: Mapping[str, Call], samples: int) -> Iterator[list[TimingSample]]:
        """Time many subjects in turns, there and back again, so that all meet the same clocks and temperature.

        Args:
            calls: Subject -> call.
            samples: Turns.

        Yields:
            The samples of each turn, one a subject.
        """
        there = list(calls.items())
        for turn in range(samples):
            yield [self.sample(name, "interleaved", call) for name, call in (there if turn % 2 == 0 else there[::-1])]


def abba(samples: int) -> list[int]:
    """Return the order of ``samples`` samples each of two subjects: 0 1 1 0 0 1 1 0, and so on."""
    return [index for pair in range(samples) for index in ((0, 1) if pair % 2 == 0 else (1, 0))]
