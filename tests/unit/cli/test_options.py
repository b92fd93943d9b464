import pytest

from ncu_lab.cli.options import problem_from, refuse_beside
from ncu_lab.errors import UsageError
from ncu_lab.model import Problem


def test_sizes() -> None:
    assert problem_from(None) == Problem(2048, 2048, 2048)
    assert problem_from(64) == Problem(64, 64, 64)
    assert problem_from(64, n=8) == Problem(64, 8, 64)
    assert problem_from(None, 1, 2, 3) == Problem(1, 2, 3)
    assert problem_from(None, k=0, default=16) == Problem(16, 16, 0)


@pytest.mark.parametrize("sizes", [(0,), (-1,), (64, 0), (64, None, -5), (10**6,)])
def test_impossible_sizes_are_refused(sizes: tuple[int | None, ...]) -> None:
    with pytest.raises(UsageError):
        problem_from(*sizes)


def test_an_option_that_means_nothing_is_refused_by_name() -> None:
    refuse_beside("--rev", {"--stage": None, "--all": False, "--kernel": []})
    with pytest.raises(UsageError, match="--size does not go with a program") as refused:
        refuse_beside("a program", {"--stage": [], "--size": 64, "-m": 1}, "Leave it out.")
    assert refused.value.hint == "Leave it out."
