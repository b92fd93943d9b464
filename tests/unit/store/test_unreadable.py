"""Runs that cannot be read: without permission nobody is told to delete them; cut, they are named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from golden_runs import golden_run

from ncu_lab.errors import InputError
from ncu_lab.store import Store
from ncu_lab.store.stored_run import read_meta


def test_a_run_without_permission_is_not_called_corrupt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refused)
    with pytest.raises(InputError, match=r"cannot be read: run\.json: permission denied") as caught:
        read_meta(tmp_path / "20261130T011207-2d-4f2c9ab-91c3")
    assert "elete" not in caught.value.hint


@pytest.mark.parametrize("damage", [lambda whole: whole[:-1], lambda _: b"", lambda _: b"garbage"])
def test_a_cut_table_is_seen_when_the_store_is_listed(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    store = Store(tmp_path)
    whole = store.write(golden_run(run_id="20261130T000000-2d-nogit-0001"))
    cut = store.write(golden_run(run_id="20261130T010000-2d-nogit-0002"))
    (cut / "launches.parquet").write_bytes(damage((cut / "launches.parquet").read_bytes()))
    metas, [notice] = store.metas()
    assert [meta.id for meta in metas] == [whole.name]
    assert notice.message.startswith(f"run {cut.name} is corrupt: launches.parquet is cut or overwritten; skipped.")
