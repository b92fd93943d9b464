"""Makes a small git repository whose commits change a kernel in known ways: ``python history_repo.py FOLDER``.

Names, times and contents are fixed, so the hashes are the same wherever it is made: runs that were recorded of it are
test data (``tests/data/history``), and are of the very commits that a test makes again.

The kernel multiplies a matrix by its own transpose from tiles in shared memory. At its final tile of 16 x 16, a warp
takes per step along k: 16 loads of ``bs`` of one wavefront, 4 of ``as`` of two (16 bytes wide, two rows), and 2 stores
of 3 together, 27 in all; unpadded, the transposed store has 8 ways: 33, which is 22 % more.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

KERNEL = "kernels/gram.cu"
REGISTRY = "kernels/stages.toml"

_STAGES = """\
[[stage]]
id = "gram"
title = "Gram matrix"
change = "C = A Aᵀ from tiles in shared memory; the second one is stored transposed."
bottleneck = "shared memory"
dtype = "fp32"
operation = "aat"
file = "gram.cu"
entry = "gram"
block = [32, 32, 1]
tile = { BM = 32, BN = 32, BK = 32 }
reference = "cublas-fp32"

[[stage]]
id = "product"
title = "product"
change = "C = A B from tiles in shared memory. No commit changes it."
bottleneck = "shared memory"
dtype = "fp32"
file = "product.cu"
entry = "product"
block = [32, 32, 1]
tile = { BM = 32, BN = 32, BK = 32 }
reference = "cublas-fp32"

[[stage]]
id = "cublas-fp32"
title = "cuBLAS FP32"
change = "NVIDIA's library in true FP32."
bottleneck = "FMA pipe"
dtype = "fp32"
library_math = "pedantic"
kernel_pattern = "^(?!.*(tf32|tensor|gmma|s1688|s16816)).*(ffma|simt|_sgemm_)"
"""

_GRAM = """\
// C = alpha * A * A^T + beta * C. A thread computes one element of C; tiles of both operands lie in shared memory.
extern "C" __global__ void __launch_bounds__(BM * BN)
    gram(int m, int n, int k, float alpha, const float* __restrict__ a, int lda, const float* __restrict__ b, int ldb,
         float beta, float* __restrict__ c, int ldc) {
  __shared__ float as[BM][BK];
  __shared__ float bs[BK][BN];

  const int row = blockIdx.y * BM + threadIdx.y;
  const int col = blockIdx.x * BN + threadIdx.x;
  const int b_row = blockIdx.x * BN + threadIdx.y;
  float sum = 0.0f;
  for (int first = 0; first < k; first += BK) {
    const int i = first + threadIdx.x;
    as[threadIdx.y][threadIdx.x] = row < m && i < k ? a[row * (long long)lda + i] : 0.0f;
    bs[threadIdx.x][threadIdx.y] = b_row < n && i < k ? b[b_row * (long long)ldb + i] : 0.0f;
    __syncthreads();
    for (int p = 0; p < BK; ++p) {
      sum += as[threadIdx.y][p] * bs[p][threadIdx.x];
    }
    __syncthreads();
  }
  if (row < m && col < n) {
    float& target = c[row * (long long)ldc + col];
    target = beta == 0.0f ? alpha * sum : alpha * sum + beta * target;
  }
}
"""

_PRODUCT = (
    _GRAM.replace("A * A^T", "A * B")
    .replace("    gram(", "    product(")
    .replace("         float beta", "            float beta")
    .replace("  const int b_row = blockIdx.x * BN + threadIdx.y;\n", "")
    .replace(
        "bs[threadIdx.x][threadIdx.y] = b_row < n && i < k ? b[b_row * (long long)ldb + i] : 0.0f;",
        "const int b_row = first + threadIdx.y;\n"
        "    bs[threadIdx.y][threadIdx.x] = b_row < k && col < n ? b[b_row * (long long)ldb + col] : 0.0f;",
    )
)


@dataclass(frozen=True, slots=True)
class Edit:
    """One commit: what it is called here, its subject, and what it replaces in which file.

    Attributes:
        name: By which tests speak of it.
        subject: Of the commit.
        changes: File -> pairs of text and what takes its place; an empty text stands for the whole file.
        side: Whether it is made on a side branch, which the next commit of the main line merges.
    """

    name: str
    subject: str
    changes: Mapping[str, tuple[tuple[str, str], ...]]
    side: bool = False


_PADDED, _UNPADDED = "bs[BK][BN + 1];", "bs[BK][BN];"
_TILE_OF_A = "  __shared__ float as[BM][BK];\n"
_BARRIER = "    __syncthreads();\n    for"

EDITS = (
    Edit("begin", "Begin", {"README.md": (("", "# Gram matrices\n"),)}),
    Edit(
        "conflict",
        "Multiply A by its transpose from shared memory",
        {REGISTRY: (("", _STAGES),), KERNEL: (("", _GRAM),), "kernels/product.cu": (("", _PRODUCT),)},
    ),
    Edit("padded", "Pad the transposed tile", {KERNEL: ((_UNPADDED, _PADDED),)}),
    Edit("docs", "Say what it is for", {"README.md": (("matrices\n", "matrices\n\nFor kernels.\n"),)}, side=True),
    Edit("merge", "Merge branch 'docs'", {}),
    Edit(
        "tile",
        "Tiles of 16 x 16",
        {
            REGISTRY: (
                (
                    'entry = "gram"\nblock = [32, 32, 1]\ntile = { BM = 32, BN = 32, BK = 32 }',
                    'entry = "gram"\nblock = [16, 16, 1]\ntile = { BM = 16, BN = 16, BK = 16 }',
                ),
            )
        },
    ),
    Edit(
        "broken",
        "Name the padded row",
        {KERNEL: ((_PADDED, "bs[BK][ROW];"), (_TILE_OF_A, f"  constexpr int ROW = BN + 1\n{_TILE_OF_A}"))},
    ),
    Edit("fixed", "Add the semicolon", {KERNEL: (("BN + 1\n", "BN + 1;\n"),)}),
    Edit(
        "renamed",
        "Call the kernel what it computes",
        {
            KERNEL: (("    gram(", "    times_transpose("),),
            REGISTRY: (('entry = "gram"', 'entry = "times_transpose"'),),
        },
    ),
    Edit("unpadded", "Save 64 bytes of shared memory a block", {KERNEL: (("ROW = BN + 1;", "ROW = BN;"),)}),
    Edit(
        "comment",
        "Explain the barriers",
        {KERNEL: ((_BARRIER, f"    // Both tiles are complete before any thread reads them.\n{_BARRIER}"),)},
    ),
)

FIRST, LAST = "begin", "main"


def make(folder: Path) -> dict[str, str]:
    """Make the repository in an empty or missing folder; its branch is ``main``, the tag ``begin`` its first commit.

    Returns:
        Name of each edit -> hash of its commit.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _git(folder, "init", "--quiet", "--initial-branch=main")
    commits: dict[str, str] = {}
    pending: str | None = None
    for number, edit in enumerate(EDITS):
        if edit.side:
            _git(folder, "checkout", "--quiet", "-b", "side")
        _apply(folder, edit)
        if pending and not edit.side:
            _git(folder, "merge", "--quiet", "--no-ff", "-m", edit.subject, pending, time=number)
            _git(folder, "branch", "--quiet", "-D", "side")
            pending = None
        else:
            _git(folder, "add", "--all")
            _git(folder, "commit", "--quiet", "--message", edit.subject, time=number)
        commits[edit.name] = _git(folder, "rev-parse", "HEAD").strip()
        if edit.side:
            pending = commits[edit.name]
            _git(folder, "checkout", "--quiet", "main")
    _git(folder, "tag", FIRST, commits[FIRST])
    return commits


def main_line() -> list[str]:
    """Return the names of the commits of the first-parent line, oldest first."""
    return [edit.name for edit in EDITS if not edit.side]


def _apply(folder: Path, edit: Edit) -> None:
    for name, replacements in edit.changes.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        text = path.read_text("utf-8") if path.exists() else ""
        for old, new in replacements:
            if old and text.count(old) != 1:
                raise ValueError(f"{edit.name}: {old!r} stands {text.count(old)} times in {name}")
            text = text.replace(old, new) if old else new
        path.write_text(text, "utf-8")


def _git(folder: Path, *arguments: str, time: int = 0) -> str:
    """Run git, deaf to the settings of whoever runs it; ``time`` is the day of a commit."""
    date = f"2026-10-{time + 1:02d}T09:00:00+0000"
    person = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
              for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example.org"), ("DATE", date))}  # fmt: skip
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    plain = ("-c", "core.autocrlf=false", "-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false")
    done = subprocess.run(
        ["git", "-C", str(folder), *plain, *arguments],
        env={**kept, **alone, **person},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


if __name__ == "__main__":
    for name, commit in make(Path(sys.argv[1])).items():
        print(f"{commit[:7]} {name}")
