"""One test at a time has the GPU: tests run in several processes, and these time what runs on it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def alone_on_the_gpu() -> Iterator[None]:
    descriptor = os.open(Path(__file__).parent, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
