"""A run that may not be read is whole: nobody is told to delete it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncu_lab.errors import InputError
from ncu_lab.store.stored_run import read_meta


def test_a_run_without_permission_is_not_called_corrupt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refused)
    with pytest.raises(InputError, match=r"cannot be read: run\.json: permission denied") as caught:
        read_meta(tmp_path / "20261130T011207-2d-4f2c9ab-91c3")
    assert "elete" not in caught.value.hint
