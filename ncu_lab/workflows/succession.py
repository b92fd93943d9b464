"""Whether what is compared are neighbours in git: then the later one is what changed a time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ncu_lab.collect.commits import follows
from ncu_lab.collect.revisions import repository_of
from ncu_lab.model.comparison import Comparison


def placed_in_git(comparison: Comparison, here: Path) -> Comparison:
    """Tell of a comparison whether B's commit is the one after A's, as far as the repository here knows both.

    Raises:
        InputError: When there is a repository that git refuses to read.
    """
    sides = [{meta.git.commit for meta in side.runs} for side in (comparison.a, comparison.b)]
    if any(len(commits) != 1 for commits in sides):
        return comparison
    (a,), (b,) = sides
    repository = repository_of(here) if a and b and a != b else None
    if repository is None or a is None or b is None:
        return comparison
    return replace(comparison, is_next=follows(repository, b, a))
