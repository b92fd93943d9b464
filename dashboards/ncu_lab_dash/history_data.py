"""Histories of the served store: judged once for each state of the store and of the repository, then kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from threading import RLock

from ncu_lab.collect.revisions import repository_of
from ncu_lab.errors import InputError, NcuLabError
from ncu_lab.gpu.registry import load_stages
from ncu_lab.model import TIME_KEY, USABLE, KernelIdentity, RunFilter, RunMeta
from ncu_lab.model.history import History, KernelHistory
from ncu_lab.render.wording import extent
from ncu_lab.workflows import history as workflow
from ncu_lab.workflows import indexing
from ncu_lab_dash.data import problem_key
from ncu_lab_dash.history_view import KEYS, HistoryView
from ncu_lab_dash.no_match import nearest_words
from ncu_lab_dash.run_data import Recent

_KEPT = 128
_LONGEST_KEY = 160
_OTHERS_BY = "duration_ns"
"""What every kernel that was profiled tells, so that those of other programs are found by it."""


def kernel_key(kernel: KernelIdentity) -> str:
    """Name a kernel of another program in an address: ``saxpy<<<4096, 256>>>``, after its NVTX path.

    Of a very long name only the beginning is kept, and a digest that tells it from others: a browser's list keeps
    every part of every word of it, as many as the square of its length.
    """
    shape = ", ".join(extent(size) for size in (kernel.grid, kernel.block) if size)
    name = "/".join([*kernel.nvtx, f"{kernel.function or 'kernel'}<<<{shape}>>>"])
    if len(name) <= _LONGEST_KEY:
        return name
    return f"{name[:_LONGEST_KEY]}…{sha256(name.encode(errors='replace')).hexdigest()[:8]}"


def git_folder(store: Path) -> Path:
    """Return where git is asked for commits: around the store, else where the server was started."""
    there = next((one for one in (store, *store.absolute().parents) if one.is_dir()), store)
    return there if repository_of(there) is not None else Path.cwd()


@dataclass
class HistoryData:
    """Histories of one folder of runs.

    Attributes:
        store: The folder.
        version: Tells the state of the folder.
        folder: Where git is asked.
    """

    store: Path
    version: Callable[[], str]
    folder: Path
    _lock: RLock = field(default_factory=RLock, repr=False)
    _state: tuple[str, str] | None = None
    _kept: Recent = field(default_factory=lambda: Recent(_KEPT), repr=False)

    @classmethod
    def of(cls, store: Path, version: Callable[[], str]) -> HistoryData:
        """Return the histories of a store, ordered by the repository around it."""
        return cls(store, version, git_folder(store))

    def stages(self) -> list[str]:
        """Return the stages that there are runs of: those of the registry in its order, then others as runs name them.

        Raises:
            NcuLabError: When the store cannot be listed.
        """
        with self._fresh():
            return self._kept.get("stages", lambda: _stages(indexing.list_runs(self.store)[0]))

    def others(self) -> list[str]:
        """Return the keys of the kernels of other programs, by name.

        Raises:
            NcuLabError: When the store cannot be listed.
        """

        def find() -> list[str]:
            points, _ = indexing.series(self.store, _OTHERS_BY)
            return sorted({kernel_key(one.kernel) for one in points if one.kernel.stage is None and one.kernel.kernel})

        with self._fresh():
            return self._kept.get("others", find)

    def usual_stage(self) -> str | None:
        """Return the stage of most runs, also failed ones, of several the first; None where none has one to show."""
        with self._fresh():
            count = Counter(stage for meta in indexing.list_runs(self.store)[0] for stage in meta.stages)
            return max(self.stages(), key=lambda stage: count[stage], default=None)

    def lines(self, key: str, stage: str) -> History:
        """Return what is followed of one stage, or kernel of another program: a line for each problem and GPU.

        Raises:
            InputError: When there is no such key, no run tells it, or one cannot be read.
            NcuLabError: When the store cannot be listed.
        """
        if key not in KEYS:
            raise InputError(f'there is no metric "{key}"', nearest_words(key, KEYS, "There are"))
        with self._fresh():
            if stage in self.stages():
                return self._kept.get((key, stage), lambda: self._follow(key, RunFilter(stages=(stage,))))
            whole = self._kept.get((key, None), lambda: self._follow(key, RunFilter()))
            found = tuple(one for one in whole.kernels if one.stage is None and _key_of(one) == stage)
            if not found:
                raise InputError(
                    f"no run here is of {stage}, or none of it tells {key}", "The list above has what there is."
                )
            return replace(whole, kernels=found)

    def settle(self, view: HistoryView) -> HistoryView:
        """Choose what the address leaves open: the usual stage, and the problem and GPU of its newest run.

        Where there are kernels of other programs alone, which are not timed, the duration of one is followed.
        """
        try:
            stage = view.stage or self.usual_stage()
            if stage is None:
                stage = next(iter(self.others()), None)
                if stage is None:
                    return view
                view = replace(view, stage=stage, metric=_OTHERS_BY if view.metric == TIME_KEY else view.metric)
            found = self.lines(view.metric, stage).kernels
        except NcuLabError:
            # The page's words tell why there is nothing to show.
            return replace(view, stage=view.stage or self._any_stage())
        chosen = choose(found, view)
        return replace(view, stage=stage, problem=_problem(chosen), device=chosen.device)

    def _any_stage(self) -> str | None:
        try:
            return self.usual_stage()
        except NcuLabError:
            return None  # likewise

    def _follow(self, key: str, wanted: RunFilter) -> History:
        return workflow.history(workflow.HistoryRequest(key, wanted), self.store, self.folder)

    def _fresh(self) -> RLock:
        """Forget what is of another state of the store or the repository; return the lock to be held meanwhile."""
        state = (self.version(), self._head())
        with self._lock:
            if state != self._state:
                self._kept.clear()
                self._state = state
        return self._lock

    def _head(self) -> str:
        repository = repository_of(self.folder)
        if repository is None:
            return ""
        try:
            return repository.commit("HEAD").hash
        except InputError:
            return ""  # a repository without commits


def choose(found: Sequence[KernelHistory], view: HistoryView) -> KernelHistory:
    """Return the line that a view means: of its problem and GPU as far as there is one, of several the newest."""
    for problem, device in ((view.problem, view.device), (view.problem, None), (None, view.device), (None, None)):
        fitting = [
            one
            for one in found
            if (problem is None or _problem(one) == problem) and (device is None or one.device == device)
        ]
        if fitting:
            return max(fitting, key=lambda one: one.points[-1].meta.created)
    raise ValueError("a history has at least one line")


def problems_and_devices(found: Sequence[KernelHistory]) -> tuple[dict[str, str], list[str]]:
    """Return key -> label of the problems of lines, smallest first, and their GPUs."""
    problems = {problem_key(one.problem): one.problem for one in found if one.problem}
    ordered = sorted(problems.items(), key=lambda item: (item[1].m * item[1].n * item[1].k, item[0]))
    return {key: one.label for key, one in ordered}, list(dict.fromkeys(one.device for one in found if one.device))


def _problem(one: KernelHistory) -> str | None:
    return problem_key(one.problem) if one.problem else None


def _key_of(one: KernelHistory) -> str:
    return kernel_key(one.points[-1].kernel)


def _stages(metas: Sequence[RunMeta]) -> list[str]:
    there = dict.fromkeys(stage for meta in metas if meta.status in USABLE for stage in meta.stages)
    known = [stage for stage in load_stages() if stage in there]
    return [*known, *(stage for stage in there if stage not in known)]
