"""Runs mutants on the GPU: each by the mechanisms that are to catch it, in turn, until one does.

    prove_mutants.py OUT.csv [ID …]

Every mutant runs in child processes with a time limit, since it may hang. Prints ``mutant | caught by | evidence`` and
ends with the number of mutants that nothing caught. Those that the CPU alone catches are proven in CI; see
``tests/unit/test_mutants.py``. BUDGET: seconds after which no further mutant is begun; those count as not caught.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import mutants

from ncu_lab.errors import CheckFailedError, InputError, NcuLabError, ProgramError
from ncu_lab.gpu.child import run_child
from ncu_lab.gpu.registry import load_stages
from ncu_lab.gpu.request import TargetRequest, subjects_of
from ncu_lab.gpu.sanitizer import find_sanitizer, sanitize, small_problems
from ncu_lab.model import Problem
from ncu_lab.model.proof import SANITIZER_TOOLS, SanitizerTool
from ncu_lab.resources import using_kernels
from ncu_lab.workflows.benching import time_stages
from ncu_lab.workflows.building import build_stages
from ncu_lab.workflows.checking import check_stages
from ncu_lab.workflows.climbing import ladder
from ncu_lab.workflows.profiling import ProfileRequest, Settings, profile_stages

CHECK_S, SANITIZE_S = 60.0, 60.0
MUTANT_S = 240.0
AT_A_TIME = 4
SIZE_OF_EXPECTATIONS = 2048


def by_check(mutant: mutants.Mutant) -> str:
    """Return what ``check`` finds: a wrong case, a result that changes, a crash, a hang; nothing where all is right."""
    problem = Problem(mutant.size, mutant.size, mutant.size)
    try:
        cases = check_stages([mutant.stage], problem, repeat=20, timeout_s=CHECK_S)
    except ProgramError as error:
        return error.message
    wrong = [one for one in cases if not one.passed]
    return f"{len(wrong)} of {len(cases)} cases; {wrong[0].problem.label} {wrong[0].detail}" if wrong else ""


def by_sanitizer(mutant: mutants.Mutant, tool: SanitizerTool) -> str:
    """Return what a tool of compute-sanitizer finds first."""
    stages = load_stages()
    first, *others = small_problems(stages[mutant.stage])
    subjects = subjects_of([stages[mutant.stage]], build_stages([mutant.stage]), stages)
    request = TargetRequest("launch", first, subjects, shapes=tuple(others))
    found = sanitize(find_sanitizer(), tool, request, stop=threading.Event(), timeout_s=SANITIZE_S)
    return found.detail or f"{found.errors} errors" if found.errors else ""


def by_expectation(mutant: mutants.Mutant) -> str:
    """Return how an expectation of the stage is missed, by a profile of it."""
    problem = Problem(*(SIZE_OF_EXPECTATIONS,) * 3)
    with tempfile.TemporaryDirectory(prefix="ncu-lab-") as store:
        settings = Settings(keep_report=False, timeout_s=120.0)
        profile_stages(ProfileRequest((mutant.stage,), problem, samples=3, settings=settings), Path(store))
        rows = ladder(Path(store)).rows
    found = [one for row in rows for one in row.findings if one.expectation.key == mutant.key]
    missed = [one for one in found if one.status == "missed"]
    return f"{mutant.key} = {missed[0].measured:.4g}" if missed and missed[0].measured is not None else ""


def by_build(mutant: mutants.Mutant) -> str:
    """Return why the build refuses it."""
    try:
        build_stages([mutant.stage])
    except InputError as error:
        return error.message
    return ""


def by_bench(mutant: mutants.Mutant) -> str:
    """Return why ``bench`` refuses it."""
    try:
        time_stages([mutant.stage], Problem(mutant.size, mutant.size, mutant.size), 5, timeout_s=CHECK_S)
    except CheckFailedError as error:
        return error.message
    return ""


ON_GPU: dict[str, Callable[[mutants.Mutant], str]] = {
    "build": by_build,
    "bench": by_bench,
    "check": by_check,
    "expectation": by_expectation,
}


def prove(mutant: mutants.Mutant) -> list[tuple[str, str]]:
    """Return the mechanisms beside the CPU's that are to catch a mutant, in turn until one does, with their evidence.

    The evidence is empty where one caught nothing; what the machine lacks is no evidence.
    """
    tried: list[tuple[str, str]] = []
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder, using_kernels(mutants.apply(mutant, Path(folder))):
        for mechanism in mutant.caught_by:
            if mechanism == "host":
                continue
            try:
                tool = next((one for one in SANITIZER_TOOLS if one == mechanism), None)
                evidence = by_sanitizer(mutant, tool) if tool else ON_GPU[mechanism](mutant)
            except NcuLabError as error:  # of the mechanism itself: it caught nothing
                print(f"  {mutant.id}: {mechanism}: {error.message}", file=sys.stderr, flush=True)
                evidence = ""
            tried.append((mechanism, " ".join(evidence.split())))
            if evidence:
                break
    return tried


def prove_apart(mutant: mutants.Mutant, deadline: float) -> tuple[list[tuple[str, str]], float]:
    """Prove a mutant in a process of its own; return what :func:`prove` says and the seconds it took.

    What has not ended in time, or not well, has caught nothing.
    """
    begin = time.monotonic()
    limit = min(MUTANT_S, deadline - begin)
    if limit < 5.0:
        return [("left out", "")], 0.0
    command = [sys.executable, __file__, "--one", mutant.id]
    try:
        done = run_child(command, Path.cwd(), threading.Event(), timeout_s=limit)
        print(done.stderr, end="", file=sys.stderr, flush=True)
        tried = [(mechanism, evidence) for mechanism, evidence in json.loads(done.stdout.splitlines()[-1])]
    except subprocess.TimeoutExpired:
        tried = [(f"killed after {limit:.0f} s", "")]
    except (ValueError, IndexError):
        tried = [(f"ended with exit code {done.returncode}", "")]
    return tried, time.monotonic() - begin


def main() -> int:
    """Prove the mutants named, all by default; return how many were caught by nothing."""
    if sys.argv[1] == "--one":
        print(json.dumps(prove(next(one for one in mutants.load()[0] if one.id == sys.argv[2]))))
        return 0
    out, *named = sys.argv[1:]
    deadline = time.monotonic() + float(os.environ.get("BUDGET", "550"))
    chosen = [one for one in mutants.load()[0] if not named or one.id in named]
    # What is timed or profiled runs by itself, after those that may share the GPU.
    alone = [one for one in chosen if one.caught_by[0] in ("expectation", "bench")]
    uncaught: list[str] = []
    with Path(out).open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["mutant", "stage", "mechanism", "caught", "evidence", "seconds"])

        def tell(mutant: mutants.Mutant, tried: list[tuple[str, str]], seconds: float) -> None:
            table.writerows(
                [mutant.id, mutant.stage, name, bool(words), words, f"{seconds:.1f}"] for name, words in tried
            )
            file.flush()
            caught = [f"{name}: {words[:160]}" for name, words in tried if words]
            if not tried:
                caught = ["CI: the kernel run on the CPU"]
            if not caught:
                uncaught.append(mutant.id)
            words = caught or [f"NOTHING ({', '.join(name for name, _ in tried)})"]
            print(f"{mutant.id:<34} {seconds:>6.1f} s  {words[0]}", flush=True)

        with ThreadPoolExecutor(AT_A_TIME) as pool:
            shared = [one for one in chosen if one not in alone]
            for mutant, found in zip(shared, pool.map(lambda one: prove_apart(one, deadline), shared), strict=True):
                tell(mutant, *found)
        for mutant in alone:
            tell(mutant, *prove_apart(mutant, deadline))
    print(f"{len(uncaught)} of {len(chosen)} mutants not caught: {', '.join(uncaught) or 'none'}")
    return min(len(uncaught), 125)


if __name__ == "__main__":
    sys.exit(main())
