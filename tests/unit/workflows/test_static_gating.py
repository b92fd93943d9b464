"""The gate that needs no GPU, with the real compiler, on a repository of known history."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import history_repo
import pytest

from ncu_lab.errors import InputError, UsageError
from ncu_lab.gpu.toolkit import find_tool
from ncu_lab.model.gating import GateResult, Place
from ncu_lab.model.policy import Limit, Policy, Rule
from ncu_lab.workflows.static_gating import gate_static

pytestmark = [
    pytest.mark.git,
    pytest.mark.skipif(find_tool("nvcc") is None, reason="nvcc is not here"),
]


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    folder = tmp_path_factory.mktemp("history")
    return folder / "repo", history_repo.make(folder / "repo")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def repository(history: tuple[Path, dict[str, str]], cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NCU_LAB_CACHE", str(cache))
    folder, _ = history
    git(folder, "checkout", "-q", "--force", "main")
    return folder


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True, text=True).stdout


def told(result: GateResult, outcome: str) -> dict[tuple[str, str], tuple[float | None, float | None]]:
    return {
        (one.change.kernel, one.change.key): (one.change.a, one.change.b)
        for one in result.judged
        if one.outcome == outcome
    }


def test_a_comment_changes_nothing(repository: Path) -> None:
    result = gate_static(repository, Policy(), against="main~1", arches=["sm_90"])
    assert result.passed
    assert not told(result, "violation")
    assert {one.change.kernel for one in result.judged} == {"gram", "product"}


def test_a_rule_of_no_stage_is_told(repository: Path) -> None:
    rules = (Rule("build:registers", stage="gramm"), Rule("sass:LDL"), Rule("duration_ns", stage="gramm"))
    policy = Policy(rules, file="ncu-lab.toml")
    told = gate_static(repository, policy, against="main~1", arches=["sm_90"])
    words = "rule 1 of ncu-lab.toml matches nothing here: build:registers of stage gramm"
    assert (told.passed, [one.message for one in told.notices]) == (True, [words])
    strict = gate_static(repository, replace(policy, unmatched="fail"), against="main~1", arches=["sm_90"])
    assert [one.change.key for one in strict.failing] == ["build:registers of stage gramm"]


def test_padding_takes_shared_memory_and_a_policy_may_allow_it(
    repository: Path, history: tuple[Path, dict[str, str]]
) -> None:
    commits = history[1]
    git(repository, "checkout", "-q", commits["padded"])
    result = gate_static(repository, Policy(), against=commits["conflict"], stages=["gram"], arches=["sm_90"])
    # 32 x 32 and 32 x 33 floats of 4 bytes.
    assert told(result, "violation")[("gram", "build:shared_bytes")] == (8192.0, 8320.0)
    assert not result.passed
    shared = next(one.change for one in result.failing if one.change.key == "build:shared_bytes")
    assert shared.place == Place("kernels/gram.cu", 3)
    allowed = Policy((Rule("build:*", limit=Limit(128.0, relative=False)),))
    assert gate_static(repository, allowed, against=commits["conflict"], stages=["gram"], arches=["sm_90"]).passed


def test_a_smaller_tile_lets_more_blocks_on_an_sm(repository: Path, history: tuple[Path, dict[str, str]]) -> None:
    commits = history[1]
    git(repository, "checkout", "-q", commits["tile"])
    result = gate_static(repository, Policy(), against=commits["merge"], stages=["gram"], arches=["sm_90"])
    # 2048 threads an SM: two blocks of 1024, or eight of 256.
    assert told(result, "improvement")[("gram", "build:blocks_per_sm")] == (2.0, 8.0)


def test_what_does_not_compile_any_more_is_a_violation_at_its_line(
    repository: Path, history: tuple[Path, dict[str, str]]
) -> None:
    commits = history[1]
    git(repository, "checkout", "-q", commits["broken"])
    result = gate_static(repository, Policy(), against=commits["tile"], arches=["sm_90"])
    [failing] = result.failing
    assert (failing.change.kernel, failing.change.key) == ("gram", "build")
    assert "does not compile: kernels/gram.cu:" in failing.why
    assert failing.change.place is not None
    assert failing.change.place.file == "kernels/gram.cu"
    text = (repository / "kernels" / "gram.cu").read_text().splitlines()
    assert any("ROW = BN + 1" in line for line in text[failing.change.place.line - 2 : failing.change.place.line + 1])
    assert ("product", "build:registers") in {(one.change.kernel, one.change.key) for one in result.judged}


def test_what_did_not_compile_before_is_missing(repository: Path, history: tuple[Path, dict[str, str]]) -> None:
    commits = history[1]
    git(repository, "checkout", "-q", commits["fixed"])
    result = gate_static(repository, Policy(), against=commits["broken"], stages=["gram"], arches=["sm_90"])
    assert told(result, "missing") == {("gram", "build"): (None, None)}
    assert result.passed
    strict = gate_static(
        repository, Policy(missing="fail"), against=commits["broken"], stages=["gram"], arches=["sm_90"]
    )
    assert not strict.passed


def test_the_default_is_where_the_branch_left_and_an_edited_tree_counts(
    repository: Path, history: tuple[Path, dict[str, str]]
) -> None:
    git(repository, "checkout", "-q", "-B", "work", history[1]["unpadded"])
    before = git(repository, "status", "--porcelain")
    kernel = repository / "kernels" / "product.cu"
    kernel.write_text(kernel.read_text().replace("__shared__ float as[", "__shared__ float spare[64], as[", 1))
    result = gate_static(repository, Policy(), arches=["sm_90"])
    assert result.a == f"merge base with main ({history[1]['unpadded'][:7]})"
    assert {key for key, _ in told(result, "violation")} <= {"product"}
    git(repository, "checkout", "-q", "--", "kernels/product.cu")
    assert git(repository, "status", "--porcelain") == before


def test_new_and_removed_stages_are_named(repository: Path) -> None:
    registry = repository / "kernels" / "stages.toml"
    text = registry.read_text()
    registry.write_text(text.replace('id = "product"', 'id = "outer"'))
    result = gate_static(repository, Policy(), against="main", arches=["sm_90"])
    assert (result.added, result.removed) == (("outer",), ("product",))
    assert result.passed
    registry.write_text(text)


def test_several_architectures_are_told_apart(repository: Path) -> None:
    result = gate_static(repository, Policy(), against="main", stages=["product"], arches=["sm_80", "sm_90"])
    assert {one.change.kernel for one in result.judged} == {"product sm_80", "product sm_90"}


def test_mistakes(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="knows no revision"):
        gate_static(repository, Policy(), against="nope")
    with pytest.raises(InputError, match="has no kernels/"):
        gate_static(repository, Policy(), against="begin")
    with pytest.raises(UsageError, match="there is no stage"):
        gate_static(repository, Policy(), against="main", stages=["gramm"])
    with pytest.raises(UsageError, match="nothing to compile"):
        gate_static(repository, Policy(), against="main", stages=["cublas-fp32"])
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    with pytest.raises(InputError, match="nothing to compare with"):
        gate_static(other, Policy())
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    # An editable install has a repository of its own, which is not what anybody means from here.
    with pytest.raises(InputError, match="elsewhere is in no git repository"):
        gate_static(elsewhere, Policy())


def test_a_registry_that_cannot_be_used_is_told_with_its_commit(repository: Path) -> None:
    git(repository, "checkout", "-q", "-B", "spoilt", "main")
    registry = repository / "kernels" / "stages.toml"
    registry.write_text("[[stage]]\n")
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    git(repository, *identity, "commit", "-qam", "Spoil")
    git(repository, "checkout", "-q", "main")
    with pytest.raises(InputError, match=r"spoilt \(.*\): kernels/stages.toml cannot be used: .*missing"):
        gate_static(repository, Policy(), against="spoilt")
