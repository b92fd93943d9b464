"""Paths over the products of an outer product that the register banks like (the model is in `sass.py`)."""

from __future__ import annotations

import random

Cell = tuple[int, int]


def entry_cost(before: Cell | None, cell: Cell, parity: list[list[int]]) -> int:
    """Cycles beyond one of the product at `cell` = (i, j) behind `before`; None: nothing is in the reuse cache.

    Fragment registers lie in quads, so that their parity is that of the index.
    """
    i, j = cell
    reads = [parity[i][j]]
    if before is None or before[0] != i:
        reads.append(i % 2)
    if before is None or before[1] != j:
        reads.append(j % 2)
    return max(reads.count(0), reads.count(1)) - 1


def path_cost(path: list[Cell], parity: list[list[int]], breaks: set[int]) -> int:
    """Modelled cycles of a step beyond one per FFMA; before positions in `breaks` stand loads, which end all reuse."""
    return sum(entry_cost(path[n - 1] if n and n not in breaks else None, cell, parity) for n, cell in enumerate(path))


def snake(rows: int, columns: int) -> list[Cell]:
    """Row by row, every other one backwards."""
    return [(i, j if i % 2 == 0 else columns - 1 - j) for i in range(rows) for j in range(columns)]


def find_path(parity: list[list[int]], breaks: set[int], seed: int, rounds: int = 200000) -> list[Cell]:
    """A cheap path over all products: a snake, improved by moving stretches, either way round (simulated annealing).

    Products at the positions in `breaks` find nothing in the reuse cache.
    """
    rng = random.Random(seed)
    rows, columns = len(parity), len(parity[0])
    cost = {
        (p, c): entry_cost(p, c, parity)
        for c in ((i, j) for i in range(rows) for j in range(columns))
        for p in (None, *((i, j) for i in range(rows) for j in range(columns)))
    }
    path: list[Cell | None] = [None, *snake(rows, columns)]

    def entry(order: list[Cell | None], n: int) -> int:
        return cost[None if n - 1 in breaks else order[n - 1], order[n]]

    total = sum(entry(path, n) for n in range(1, len(path)))
    best, best_total = path, total
    last = len(path)
    for step in range(rounds):
        heat = 0.8 * (1 - step / rounds) + 0.02
        x = rng.randrange(1, last)
        y = min(last, x + rng.choice((1, 1, 2, 3, 4, 8, 16)))
        piece = path[x:y]
        rest = path[:x] + path[y:]
        z = rng.randrange(1, len(rest) + 1)
        if rng.random() < 0.3:
            piece = piece[::-1]
        candidate = rest[:z] + piece + rest[z:]
        low, high = min(x, z), min(last, max(y, z + len(piece)) + 1)
        change = sum(entry(candidate, n) - entry(path, n) for n in range(low, high))
        if change <= 0 or rng.random() < 2.718 ** (-change / heat):
            path, total = candidate, total + change
            if total < best_total:
                best, best_total = path, total
                if best_total <= len(breaks):  # they always read three registers
                    break
    return [cell for cell in best if cell is not None]
