"""The text of the source files that profiled code is from; never that of another version without saying so."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from ncu_lab.collect.git import read_committed
from ncu_lab.model import Run, SourceText
from ncu_lab.resources import kernels_folder

KERNELS = "kernels/"
"""What the names of our own source files begin with in a cubin; see ``gpu.compile.neutral_paths``."""

_SUFFIXES = (".cu", ".cuh")


def kernel_texts() -> dict[str, str]:
    """Read every source file of the kernels as it is now, by the name it has in a cubin."""
    folder = kernels_folder()
    files = sorted(path for path in folder.rglob("*") if path.suffix in _SUFFIXES and path.is_file())
    return {
        KERNELS + path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8", errors="replace")
        for path in files
    }


def source_texts(run: Run, files: Iterable[str]) -> dict[str, SourceText]:
    """Find the text of source files as they were compiled for a run.

    Kept with the run (embedded in its report, or read when it was built), else as its edited tree had it, else from its
    commit. What the kernels folder holds now comes last, and is marked as uncertain. Other files of this machine are
    not looked at: that their names agree says nothing.

    Args:
        run: The run.
        files: Names as the instances have them.

    Returns:
        File -> text, of those that are found.
    """
    found = ((name, _text(run, name)) for name in files)
    return {name: text for name, text in found if text is not None}


def _text(run: Run, name: str) -> SourceText | None:
    kept = run.sources.get(name)
    if kept is not None:
        return SourceText(_lines(kept), "report" if run.meta.source == "import" else "run")
    if not name.startswith(KERNELS) or run.meta.source != "profile":
        return None
    own, git = name.removeprefix(KERNELS), run.meta.git
    if ".." in PurePosixPath(own).parts or PurePosixPath(own).is_absolute():
        return None  # runs are passed around: none may show what else is on this machine
    if own in git.sources:
        return SourceText(_lines(git.sources[own]), "run")
    folder = kernels_folder()
    committed = read_committed(folder, git.commit, own) if git.commit and not git.dirty else None
    if committed is not None:
        return SourceText(_lines(committed), "commit")
    now = folder / own
    return SourceText(_lines(now.read_text("utf-8", "replace")), "kernels", certain=False) if now.is_file() else None


def _lines(text: str) -> tuple[str, ...]:
    """Divide a text as compilers do: form feeds and Unicode's separators end no line."""
    return tuple(line.removesuffix("\r") for line in text.split("\n"))
