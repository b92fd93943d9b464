"""The bundled runs by what they are of: their ids change whenever they are recorded anew, these names do not."""

from __future__ import annotations

from functools import cache

from ncu_lab.model import RunMeta
from ncu_lab.resources import data_dir
from ncu_lab.store import Store


def name_of(meta: RunMeta) -> str:
    """Return what a run is of: ``ladder 4096``, with its size, or the name that a program was profiled under."""
    if meta.problem is not None:
        return f"ladder {meta.problem.m}"
    _, _, rest = meta.id.partition("-")
    name, _commit, _digits = rest.rsplit("-", 2)
    return name


@cache
def example(name: str) -> RunMeta:
    """Return the newest bundled run of a name.

    Raises:
        KeyError: When there is none; it lists those that are there.
    """
    metas, _ = Store(data_dir("examples")).metas()
    newest = {name_of(meta): meta for meta in reversed(metas)}
    if name not in newest:
        raise KeyError(f'no bundled run is "{name}"; there are {", ".join(sorted(newest))}')
    return newest[name]
