"""A store to write to."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncu_lab.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "reports")
