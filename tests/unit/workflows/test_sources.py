"""Source text: kept with the run, found in its commit, or marked as uncertain; never taken from elsewhere."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from golden_runs import golden_run

from ncu_lab.model import GitState
from ncu_lab.store import Store
from ncu_lab.workflows import sources
from ncu_lab.workflows.importing import import_file
from ncu_lab.workflows.locating import hot_spots
from ncu_lab.workflows.reading import read_file
from ncu_lab.workflows.reading_apart import read_apart
from ncu_lab.workflows.sources import kernel_texts, source_texts

GOLDEN = Path(__file__).parents[2] / "data" / "golden"
NAME = "kernels/gemm/a.cu"


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    command = ["git", *identity, "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def kernels(tmp_path, monkeypatch):
    """A repository whose kernels folder has one committed file, edited since."""
    folder = tmp_path / "repository" / "kernels"
    (folder / "gemm").mkdir(parents=True)
    (folder / "gemm" / "a.cu").write_text("committed\n")
    git(folder.parent, "init", "-q")
    git(folder.parent, "add", ".")
    git(folder.parent, "commit", "-q", "-m", "first")
    (folder / "gemm" / "a.cu").write_text("edited\n")
    monkeypatch.setattr(sources, "kernels_folder", lambda: folder)
    return folder


def run_of(kernels, *, kept=None, source="profile", **git_state):
    run = golden_run(["2d"])
    state = GitState(**{"commit": git(kernels, "rev-parse", "HEAD"), **git_state})
    return replace(run, meta=replace(run.meta, git=state, source=source), sources=kept or {})


def text(run, name=NAME):
    found = source_texts(run, [name]).get(name)
    return None if found is None else (found.line(1), found.origin, found.certain)


def test_what_was_kept_comes_first(kernels):
    assert text(run_of(kernels, kept={NAME: "kept\r\nmore"})) == ("kept", "run", True)
    assert text(run_of(kernels, kept={"/home/a.cu": "embedded"}, source="import"), "/home/a.cu") == (
        "embedded",
        "report",
        True,
    )


def test_an_edited_tree_has_its_own_text(kernels):
    assert text(run_of(kernels, dirty=True, sources={"gemm/a.cu": "dirty"})) == ("dirty", "run", True)


def test_a_clean_run_has_the_text_of_its_commit_whatever_the_folder_holds(kernels):
    assert text(run_of(kernels)) == ("committed", "commit", True)


@pytest.mark.parametrize("state", [{"commit": "0" * 40}, {"commit": None}, {"dirty": True}])
def test_what_may_be_another_version_is_uncertain(kernels, state):
    assert text(run_of(kernels, **state)) == ("edited", "kernels", False)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("/etc/passwd", "profile"),
        ("kernels/../../secret.cu", "profile"),
        ("kernels//etc/passwd", "profile"),
        ("kernels/gemm/b.cu", "profile"),
        (NAME, "import"),  # that a foreign program has a file of this name says nothing
    ],
)
def test_no_other_file_is_looked_at(kernels, name, source):
    (kernels.parents[1] / "secret.cu").write_text("secret")
    assert text(run_of(kernels, source=source), name) is None


def test_lines_are_those_of_the_compiler(kernels):
    found = source_texts(run_of(kernels, kept={NAME: "a\fb\nc\u2028d\n"}), [NAME])[NAME]
    assert found.lines == ("a\fb", "c\u2028d", "")


def test_the_kernels_are_read_by_the_names_of_the_compiler():
    texts = kernel_texts()
    assert "kernels/common.cuh" in texts
    assert "__global__" in texts["kernels/gemm/01_naive.cu"]
    assert all(name.endswith((".cu", ".cuh")) for name in texts)


def test_text_embedded_in_a_report_is_read_kept_and_shown(tmp_path):
    run = import_file(GOLDEN / "cupy-nvtx.ncu-rep.gz", tmp_path)
    stored = Store(tmp_path).read(run.meta.id)
    assert list(stored.sources) == ["/tmp/lab/k.cu"]
    assert "sources.json" in stored.meta.checksums
    spots = hot_spots(stored, [0])[0]
    hottest = max(spots.lines, key=lambda spot: spot.samples)
    assert spots.sources["/tmp/lab/k.cu"].origin == "report"
    assert "x[i]" in spots.text(hottest)


def test_only_files_that_code_is_from_are_kept():
    run = read_file(GOLDEN / "ladder-full.ncu-rep.gz")
    assert {name.rpartition("/")[2] for name in run.sources} == {
        "ladder.cu", "mma.hpp", "cuda_pipeline_helpers.h",
    }  # fmt: skip
    spots = hot_spots(run, [0])[0]
    assert "sgemm_naive" in spots.text(next(one for one in spots.lines if one.line == 15))


def test_text_crosses_from_the_process_that_reads_a_foreign_file():
    assert list(read_apart(GOLDEN / "cupy-nvtx.ncu-rep.gz").sources) == ["/tmp/lab/k.cu"]


def test_a_run_without_sources_has_no_file_of_them(tmp_path):
    run = import_file(GOLDEN / "cupy-nvtx.raw.csv.gz", tmp_path)
    assert not (tmp_path / run.meta.id / "sources.json").exists()
    assert Store(tmp_path).read(run.meta.id).sources == {}
