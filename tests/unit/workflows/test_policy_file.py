"""Policies as people write them, and what they are told of what is wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ncu_lab.errors import InputError
from ncu_lab.model.policy import Limit, Policy, Rule
from ncu_lab.workflows.policy_file import find_policy, read_policy

FULL = """\
store = "measurements"

[policy]
inconclusive = "fail"
missing = "report"
defaults = false

[[policy.rule]]
metric = "duration_ns"
stage = "2d"
kernel = "sgemm_*"
limit = "3 %"
class = "noisy"
direction = "lower"

[[policy.rule]]
metric = "registers_per_thread"
limit = 8

[[policy.rule]]
metric = "sass:LDL"
limit = "off"
missing = "fail"
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "ncu-lab.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_every_key(tmp_path: Path) -> None:
    assert read_policy(written(tmp_path, FULL)) == Policy(
        rules=(
            Rule("duration_ns", "2d", "sgemm_*", Limit(0.03), "noisy", "lower"),
            Rule("registers_per_thread", limit=Limit(8.0, relative=False)),
            Rule("sass:LDL", limit="off", missing="fail"),
        ),
        defaults=False,
        inconclusive="fail",
        missing="report",
        file="ncu-lab.toml",
    )


def test_the_nearest_file_above_counts_and_none_is_the_default(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    written(tmp_path, '[policy]\nmissing = "fail"\n')
    assert find_policy(inner).missing == "fail"
    written(inner.parent, 'store = "x"\n')
    assert find_policy(inner) == Policy()


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (FULL.replace('"duration_ns"', '"duration"'), ':9: there is no metric "duration"', "Did you mean duration_ns?"),
        (FULL.replace('"3 %"', "nan"), ":12: limit cannot be nan", '"3 %"'),
        (FULL.replace('"3 %"', "-1"), ":12: limit cannot be -1", ""),
        (FULL.replace('"3 %"', '"-1 %"'), ":12: limit cannot be '-1 %'", ""),
        (FULL.replace("limit = 8", "limit = true"), ":18: limit cannot be True", ""),
        (FULL.replace("limit = 8", "limit = inf"), ":18: limit cannot be inf", ""),
        (FULL.replace("limit = 8", "limits = 8"), ':18: a rule has no key "limits"', "Did you mean limit?"),
        (FULL.replace('"noisy"', '"loud"'), ":13: class cannot be 'loud'", "exact, noisy"),
        (FULL.replace('"lower"', '"up"'), ":14: direction cannot be 'up'", "lower, higher, either"),
        (FULL.replace('inconclusive = "fail"', 'inconclusive = "ignore"'), ":4: inconclusive cannot be 'ignore'", ""),
        (FULL.replace("defaults = false", 'defaults = "no"'), ":6: defaults must be true or false", ""),
        (FULL.replace("defaults", "default"), ':6: policy has no key "default"', "Did you mean defaults?"),
        (FULL.replace('stage = "2d"', "stage = 2"), ":10: stage must be a name or pattern", ""),
        (FULL.replace('metric = "sass:LDL"\n', ""), ":20: a rule names no metric", 'metric = "duration_ns"'),
        ('policy = "strict"\n', ":1: policy must be a table", "[policy]"),
        ("[policy]\nrule = 3\n", ":2: a rule must be a table", "[[policy.rule]]"),
        ("[policy\n", " is not valid TOML", "Correct it."),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, message: str, hint: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_policy(file)
    assert f"{file}{message}" in caught.value.message
    assert hint in caught.value.hint


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_policy(tmp_path / "none.toml")


def test_a_file_that_was_named_must_have_a_policy(tmp_path: Path) -> None:
    file = written(tmp_path, "[polcy]\ninconclusive = 'fail'\n")
    with pytest.raises(InputError, match="has no table policy"):
        read_policy(file)


def test_the_documented_example_is_a_policy(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "configuration.md").read_text("utf-8")
    [example] = re.findall(r"```toml\n(\[policy\]\n.*?)```", page, re.DOTALL)
    policy = read_policy(written(tmp_path, example))
    assert len(policy.rules) == 5
    held = policy.held("warptiled", "sgemm_warptiled", "duration_ns")
    assert held is not None
    assert (held.limit, held.inconclusive) == (Limit(0.03), "fail")
    for key in ("registers_per_thread", "build:registers"):
        registers = policy.held("2d", "sgemm_2d", key)
        assert registers is not None
        assert registers.limit == Limit(8.0, relative=False)
    assert policy.held(None, "copy_rows", "duration_ns") is None
    assert policy.held(None, "copy_rows", "sass:LDL") is not None, "the last rule speaks of all kernels again"
