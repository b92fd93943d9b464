from dataclasses import replace

from golden_runs import golden_run

from ncu_lab.render.markdown import show_markdown
from ncu_lab.render.numbers import plain_spaces
from ncu_lab.workflows.climbing import view


def test_the_limit_of_occupancy_is_told():
    seen = view(golden_run(["2d"]))
    told = replace(seen.summaries[0], occupancy_limits={"registers": 1, "warps": 8})
    assert "- occupancy: 12.5 % of 12.5 % possible · limit: registers\n" in plain_spaces(show_markdown(seen, [told]))


def test_names_that_look_like_markup_stay_names():
    extra = [{"kernel": name, "metrics": {}} for name in ("__scan<int>", "a*b_c", "x`[y]")]
    text = show_markdown(view(golden_run([], problem=None, extra=extra)), view(golden_run([], extra=extra)).summaries)
    headings = [line for line in text.splitlines() if line.startswith("### ")]
    assert headings == [
        r"### launch 0 · \_\_scan\<int>",
        r"### launch 1 · a\*b_c",
        r"### launch 2 · x\`\[y]",
    ]
    cells = [line.split(" | ")[1] for line in text.splitlines() if line[:3] in ("| 0", "| 1", "| 2")]
    assert cells == [r"\_\_scan\<int>", r"a\*b_c", r"x\`\[y]"]


def test_a_run_without_launches_says_so():
    stopped = golden_run([], run_id="20261201T000000-2d-4f2c9ab-0001", status="check_failed")
    seen = view(replace(stopped, meta=replace(stopped.meta, error="2d is wrong")))
    assert show_markdown(seen, seen.summaries) == (
        "20261201T000000-2d-4f2c9ab-0001 is check failed: 2d is wrong\n\n"
        "20261201T000000-2d-4f2c9ab-0001 has no profiled launches.\n"
    )
