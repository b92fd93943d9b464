"""Which runs a policy keeps."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from ncu_lab.errors import InputError
from ncu_lab.model import USABLE, PrunePolicy, RunMeta
from ncu_lab.store.location import store_settings

_NOT_POLICY = "path"
_TYPES: Mapping[str, tuple[str, Any]] = {
    "keep_last": ("a whole number of at least 1", lambda value: _is_number(value, int) and value >= 1),
    "keep_days": ("a number of at least 0", lambda value: _is_number(value, (int, float)) and value >= 0),
    "keep_tagged": ('true, false, or a pattern of tags in quotes ("v*")', lambda value: isinstance(value, bool | str)),
    "keep": ("a list of run ids", lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value)),
    "drop_reports": ("true or false", lambda value: isinstance(value, bool)),
}


def project_policy(here: Path) -> PrunePolicy:
    """Return the policy of the nearest project file; an empty one where nothing says any.

    Raises:
        InputError: When the file is broken, or has a key or a value that no policy has.
    """
    file, settings = store_settings(here) or (None, {})
    values: dict[str, Any] = {}
    for key, value in settings.items():
        if key == _NOT_POLICY:
            continue
        if key not in _TYPES:
            near = difflib.get_close_matches(key, (_NOT_POLICY, *_TYPES), n=1)
            known = f"Did you mean {near[0]}?" if near else f"There are {', '.join((_NOT_POLICY, *_TYPES))}."
            raise InputError(f'{file}: store has no key "{key}"', known)
        what, is_so = _TYPES[key]
        if not is_so(value):
            raise InputError(f"{file}: store.{key} must be {what}, not {value!r}", "Correct it.")
        values[key] = value
    if "keep" in values:
        values["keep"] = tuple(values["keep"])
    if isinstance(values.get("keep_tagged"), bool):
        values["keep_tagged"] = "*" if values["keep_tagged"] else None
    assert set(_TYPES) == {field.name for field in fields(PrunePolicy)}
    return PrunePolicy(**values)


def _is_number(value: Any, kind: Any) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def kept_by(
    metas: Iterable[RunMeta], policy: PrunePolicy, now: datetime, tags: Mapping[str, str]
) -> dict[str, str | None]:
    """Return for every run which rule keeps it, in words, None where none does.

    A rule cannot say of a run that does not tell when it was made that it is old: such a run stays.

    Args:
        metas: All runs of a store, newest first.
        policy: What is kept.
        now: The end of the last so many days.
        tags: Commit -> the tag that names it.
    """
    newer: Counter[tuple[Any, ...]] = Counter()
    return {meta.id: _reason(meta, policy, now, tags, newer) for meta in metas}


def _reason(
    meta: RunMeta, policy: PrunePolicy, now: datetime, tags: Mapping[str, str], newer: Counter[tuple[Any, ...]]
) -> str | None:
    last = None
    for subject in meta.stages or (meta.name,):
        # Failed runs apart: they must not push out those that tell something.
        place = (subject, meta.problem, _gpu(meta), meta.status in USABLE)
        if policy.keep_last is not None and newer[place] < policy.keep_last:
            last = last or f"one of the last {policy.keep_last} of {subject or 'its kind'}"
        newer[place] += 1
    if any(meta.id.startswith(one) for one in policy.keep if one):
        return "kept by name"
    tag = tags.get(meta.git.commit or "")
    if tag is not None and policy.keep_tagged is not None:
        return f"tag {tag}"
    made = meta.created_at
    if made is None:
        return "of unknown age"
    if policy.keep_days is not None and made >= now - timedelta(days=policy.keep_days):
        return f"younger than {policy.keep_days:g} days"
    return last


def _gpu(meta: RunMeta) -> tuple[Any, ...]:
    """Return what makes GPUs of one model."""
    device = meta.device
    return (device.name, device.compute_capability, device.sm_count) if device else ()
