"""Which runs a policy keeps, decided from what listings know."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from golden_runs import H200
from hypothesis import given
from hypothesis import strategies as st

from ncu_lab.errors import InputError
from ncu_lab.model import Device, GitState, Problem, PrunePolicy, RunMeta
from ncu_lab.store.pruning import kept_by, project_policy

NOW = datetime(2026, 11, 30, tzinfo=UTC)
SMALL, LARGE = Problem(64, 64, 64), Problem(4096, 4096, 4096)


def meta(id: str, days: float = 0.0, **fields: Any) -> RunMeta:
    created = (NOW - timedelta(days=days)).isoformat()
    known: dict[str, Any] = {"status": "complete", "stages": ("2d",), "problem": SMALL, "device": H200}
    return RunMeta(id=id, created=created, source="profile", **{**known, **fields})


def kept(metas: Sequence[RunMeta], tags: dict[str, str] | None = None, **policy: Any) -> list[str]:
    return [run for run, reason in kept_by(metas, PrunePolicy(**policy), NOW, tags or {}).items() if reason]


def test_the_last_of_each_stage_problem_and_gpu() -> None:
    metas = [
        meta("a"),
        meta("b", stages=("1d", "2d")),  # the last of 1d
        meta("c", problem=LARGE),
        meta("d", device=Device("NVIDIA A100")),
        meta("e", device=None),
        meta("f", status="profile_failed"),
        meta("g", status="build_failed"),
        meta("h", status="partial"),
        meta("i", stages=(), name="mine"),
        meta("j", stages=(), name="mine"),
        meta("k", stages=(), name="other"),
    ]
    assert kept(metas, keep_last=1) == ["a", "b", "c", "d", "e", "f", "i", "k"]
    assert kept(metas, keep_last=2) == [one.id for one in metas if one.id != "h"]


def test_the_last_days_and_what_tells_no_time() -> None:
    metas = [meta("a"), meta("b", 6.9), meta("c", 7.1)]
    broken = RunMeta("d", "complete", "some day", "profile", ("2d",))
    assert kept([*metas, broken], keep_days=7) == ["a", "b", "d"]


def test_baselines_stay_by_tag_and_by_name() -> None:
    tagged = meta("a", 99, git=GitState("c0ffee"))
    metas = [tagged, meta("base-1", 99), meta("c", 99), meta("d", 99, git=GitState())]
    tags = {"c0ffee": "v1.0"}
    assert kept(metas, tags, keep_days=1, keep_tagged="*", keep=("base", "")) == ["a", "base-1"]
    assert kept(metas, tags, keep_days=1) == []
    reasons = kept_by(metas, PrunePolicy(keep_days=1, keep_tagged="*"), NOW, tags)
    assert reasons["a"] == "tag v1.0"


@given(st.lists(st.tuples(st.sampled_from(["1d", "2d"]), st.sampled_from([SMALL, LARGE]), st.floats(0, 50))),
       st.integers(1, 4), st.none() | st.integers(0, 60))  # fmt: skip
def test_more_rules_keep_more_and_the_newest_always_stays(
    drawn: list[tuple[str, Problem, float]], last: int, days: int | None
) -> None:
    ordered = sorted(drawn, key=lambda one: one[2])
    metas = [meta(str(i), age, stages=(stage,), problem=problem) for i, (stage, problem, age) in enumerate(ordered)]
    fewer, more = kept(metas, keep_last=last), kept(metas, keep_last=last, keep_days=days)
    assert set(fewer) <= set(more)
    for place in {(one.stages, one.problem) for one in metas}:
        same = [one.id for one in metas if (one.stages, one.problem) == place]
        assert [one for one in same if one in fewer] == same[:last]
    assert set(more) - set(fewer) <= {one.id for one in metas if days is not None and one.created_at is not None
                                      and one.created_at >= NOW - timedelta(days=days)}  # fmt: skip


def test_the_project_file_may_say_the_policy(tmp_path: Path) -> None:
    assert project_policy(tmp_path) == PrunePolicy()
    file = tmp_path / "ncu-lab.toml"
    file.write_text('store = "runs"')
    assert project_policy(tmp_path) == PrunePolicy()
    file.write_text(
        '[store]\npath = "runs"\nkeep_last = 5\nkeep_days = 30\nkeep_tagged = true\nkeep = ["2026"]\n'
        "drop_reports = true"
    )
    assert project_policy(tmp_path / "below") == PrunePolicy(5, 30, "*", ("2026",), True)
    file.write_text('[store]\nkeep_tagged = "v*"')
    assert project_policy(tmp_path) == PrunePolicy(keep_tagged="v*")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("keep_lst = 5", 'store has no key "keep_lst"'),
        ("keep_last = 0", "store.keep_last must be a whole number of at least 1, not 0"),
        ("keep_last = true", "not True"),
        ("keep_days = -1", "store.keep_days must be a number of at least 0, not -1"),
        ("keep_days = nan", "not nan"),
        ('keep = "2026"', "a list of run ids"),
        ("keep_tagged = 3", "true, false, or a pattern"),
        ('drop_reports = "no"', "true or false"),
        ("path = 3", "store must be a path in quotes, not 3"),
    ],
)
def test_a_policy_that_is_none_is_refused(tmp_path: Path, line: str, says: str) -> None:
    (tmp_path / "ncu-lab.toml").write_text(f"[store]\n{line}")
    with pytest.raises(InputError, match=r"ncu-lab\.toml") as caught:
        project_policy(tmp_path)
    assert says in caught.value.message
