"""``gate`` and ``noise`` as they are typed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import history_repo
import pytest
from typer.testing import CliRunner, Result

from ncu_lab.cli.app import app
from ncu_lab.cli.containment import foreign_file
from ncu_lab.errors import InputError, NcuLabError, UsageError
from ncu_lab.gpu.toolkit import find_tool

needs_nvcc = pytest.mark.skipif(find_tool("nvcc") is None, reason="nvcc is not here")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "repo"
    history_repo.make(folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("NCU_LAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "80")
    return folder


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(app, arguments, standalone_mode=False)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def checkout(folder: Path, revision: str) -> None:
    subprocess.run(["git", "-C", str(folder), "checkout", "-q", "-B", "work", revision], check=True)


@needs_nvcc
@pytest.mark.git
def test_static_passes_and_fails_by_its_exit_code(repository: Path) -> None:
    passed = run("gate", "--static", "--against", "main~1")
    assert passed.return_value == 0
    assert "Passed: " in passed.stdout
    checkout(repository, "main~4")  # "Name the padded row": it does not compile
    failed = run("gate", "--static", "--against", "HEAD~1", "--format", "github")
    assert failed.return_value == 1
    assert failed.stdout.startswith("::error file=kernels/gram.cu,line=")
    document = json.loads(run("gate", "--static", "--against", "HEAD~1", "--format", "json").stdout)
    assert (document["schema"], document["passed"]) == (1, False)
    assert [(one["kernel"], one["key"]) for one in document["violations"]] == [("gram", "build")]


@needs_nvcc
@pytest.mark.git
@pytest.mark.parametrize("format", ["table", "json", "markdown", "csv", "junit", "github"])
def test_every_format_has_the_same_exit_code_and_is_alone_on_stdout(repository: Path, format: str) -> None:
    checkout(repository, "main~4")
    done = run("gate", "--static", "--against", "HEAD~1", "--stage", "gram", "--format", format)
    assert done.return_value == 1
    assert "gram" in done.stdout
    assert "build    gram" not in done.stdout


@pytest.mark.git
@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (("--static", "--baseline", "x"), UsageError, "--baseline does not go with --static"),
        (("--static", "@last"), UsageError, "B does not go with --static"),
        (("--arch", "sm_90"), UsageError, "--arch does not go with stored runs"),
        (("--against", "a", "--baseline", "b"), UsageError, "exclude each other"),
        (("--save-baseline", "x", "--against", "a"), UsageError, "--against does not go with --save-baseline"),
        (("--static", "--against", "nope"), InputError, 'git knows no revision "nope"'),
        (("--policy", "none.toml"), InputError, "none.toml: cannot be read"),
        ((), InputError, "no complete run of HEAD"),
        (("@last", "--baseline", "none.zip"), InputError, "there is no baseline none.zip"),
    ],
)
def test_mistakes(repository: Path, arguments: tuple[str, ...], error: type[NcuLabError], words: str) -> None:
    with pytest.raises(error, match=words.replace("(", r"\(")):
        run("gate", *arguments)


@pytest.mark.git
def test_a_policy_that_is_wrong_is_told_before_anything_is_built(repository: Path) -> None:
    Path("ncu-lab.toml").write_text('[[policy.rule]]\nmetric = "registers"\n')
    with pytest.raises(InputError, match=r"ncu-lab.toml:2: there is no metric") as caught:
        run("gate", "--static")
    assert "Did you mean" in caught.value.hint


def test_runs_need_no_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("gate", "@last", "--against", "@last", "--example")
    assert done.return_value == 0
    assert "Passed: " in done.stdout


def test_noise_shows_the_defaults(tmp_path: Path) -> None:
    done = run("noise", "--store", str(tmp_path), "--format", "json")
    document = json.loads(done.stdout)
    assert document["record"] is None
    assert {row["source"] for row in document["quantities"]} == {"default"}


def test_files_made_elsewhere_are_read_in_a_child(tmp_path: Path) -> None:
    report = tmp_path / "x.ncu-rep"
    report.touch()
    assert foreign_file(["gate", "@last", "--against", str(report)]) == str(report)
    assert foreign_file(["gate", "--against", "main"]) is None
