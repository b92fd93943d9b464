"""The machine code of launches, as far as it tells which kernel became which."""

from __future__ import annotations

from collections import Counter

from ncu_lab.analyze.opcodes import opcode
from ncu_lab.analyze.pairing import Code
from ncu_lab.model import LaunchSummary, Run


def code_of(run: Run, launch: LaunchSummary) -> Code | None:
    """Return the code of a launch: of its stage's build, else the opcodes of its counters per instruction.

    The text of a report's instructions holds addresses, so that it has no hash that would be the same elsewhere.

    Returns:
        None where neither is known.
    """
    for build in run.builds:
        if build.stage == launch.stage and build.variant == "fast" and build.sass_mix is not None:
            return Code(build.sass_hash, build.sass_mix)
    rows = run.instances[(run.instances["launch"] == launch.launch) & (run.instances["kind"] == "pc")]
    texts = rows[["correlation", "sass"]].dropna().drop_duplicates("correlation")["sass"]
    return Code(None, Counter(opcode(str(text)) for text in texts)) if len(texts) else None
