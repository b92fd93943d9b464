"""Taking a file made elsewhere into the store."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_lab import __version__
from ncu_lab.model import ProgressEvent, Reporter, Run, silent
from ncu_lab.parse.files import plain_file, read_plain
from ncu_lab.store import Store, run_label
from ncu_lab.workflows.reading import complaints_explained, run_of

if TYPE_CHECKING:
    from ncu_lab.parse.report import Tables


def import_file(
    path: Path,
    store_dir: Path,
    name: str | None = None,
    keep_report: bool = True,
    report: Reporter = silent,
) -> Run:
    """Read a report or a CSV export and keep it as a run.

    Args:
        path: A .ncu-rep, .ncu-repz, or CSV export of the raw or details page; gzip is fine.
        store_dir: The folder of runs.
        name: What to call it; by default its stages, else the file's name.
        keep_report: Whether the raw report is kept beside the tables (of a CSV nothing is).
        report: Told what is being done.

    Returns:
        The run as stored.

    Raises:
        InputError: When the file cannot be read.
        EnvironmentLacksError: When the store cannot be written.
    """
    store = Store(store_dir)
    start = time.monotonic()
    report(ProgressEvent("import", path.name, "start"))
    with plain_file(path) as plain, store.writing() as writer:
        created = datetime.now(UTC)
        # A large report goes to the store as it is read, and is never in memory as a whole.
        raw = plain.path if plain.is_report else None
        values = 0

        def take(tables: Tables) -> None:
            nonlocal values
            if values:
                report(ProgressEvent("import", path.name, "update", f"{values} values"))
            values += len(tables["metrics"])
            writer.append(tables)

        with complaints_explained():
            parsed = read_plain(plain, take=take)
        draft = run_of(parsed, "", created, name=name)
        label = name or (run_label(draft.meta.stages) if draft.meta.stages else path.name.split(".")[0])
        environment = replace(draft.meta.environment, ncu_lab=__version__)
        meta = replace(
            draft.meta,
            id=store.new_run_id(created, label, None),
            name=name or (None if draft.meta.stages else path.name.split(".")[0]),
            environment=environment,
            command=("ncu-lab", "import", path.name),
        )
        writer.finish(replace(draft, meta=meta), raw if keep_report else None)
    values += len(draft.metrics)
    count = len(draft.launches)
    words = f"{count} {'launch' if count == 1 else 'launches'}, {values} values → {meta.id}"
    report(ProgressEvent("import", path.name, "done", words, seconds=time.monotonic() - start))
    return store.read(meta.id)


def keep_run(run: Run, store_dir: Path) -> Run:
    """Store what was read of a file that is gone: as an import of it, without the raw report.

    Args:
        run: What was read; its name is the file's.
        store_dir: The folder of runs.

    Returns:
        The run as stored.

    Raises:
        EnvironmentLacksError: When the store cannot be written.
    """
    store, created = Store(store_dir), datetime.now(UTC)
    stem = (run.meta.name or "file").split(".")[0]
    label = run_label(run.meta.stages) if run.meta.stages else stem
    meta = replace(
        run.meta,
        id=store.new_run_id(created, label, None),
        created=created.isoformat(timespec="seconds"),
        name=None if run.meta.stages else stem,
        environment=replace(run.meta.environment, ncu_lab=__version__),
        command=("ncu-lab", "dashboard", "--allow-import"),
    )
    store.write(replace(run, meta=meta))
    return store.read(meta.id)
