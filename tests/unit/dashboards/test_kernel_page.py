"""The Kernel page without a browser: addresses, choices, hot spots, search, what stands in place of missing data."""

from dataclasses import replace
from urllib.parse import quote

import pytest
from dash import html
from golden_runs import golden_run

from ncu_lab.errors import InputError
from ncu_lab.metrics.glossary import meaning
from ncu_lab.model import GitState, HotSpots, MetricValue, Spot
from ncu_lab.render.palette import LIGHT
from ncu_lab.store import Store
from ncu_lab.workflows.inspecting import inspect
from ncu_lab_dash import compare_view, ids, kernel_cards
from ncu_lab_dash.data import LadderData
from ncu_lab_dash.kernel_choice import find_shown, move, settle
from ncu_lab_dash.kernel_figures import draw_chart, draw_stalls, draw_units
from ncu_lab_dash.kernel_spots import find_spot, is_of, spot_key, spot_tables
from ncu_lab_dash.kernel_view import KernelView, kernel_address, read_search, read_view
from ncu_lab_dash.pages.kernel import launch_options, run_options
from ncu_lab_dash.parts import searched
from ncu_lab_dash.run_data import Recent, RunData
from ncu_lab_dash.screen import Screen


@pytest.mark.parametrize(
    "view",
    [
        KernelView(),
        KernelView(run="20261130T011207-ladder-4f2c9ab-91c3", launch=4, line="a b/k.cu:34", metric="l1 & l2"),
        KernelView(run="opened-x", launch=0, units="all", amounts="rate", code="both", sort="excess", rows="all"),
    ],
)
def test_an_address_restores_the_view_it_was_made_of(view):
    assert read_search(view.search()) == view


def test_values_that_no_page_writes_fall_back():
    assert read_search("?launch=&sort=evil&code=3&units=") == KernelView()
    assert read_view({"launch": True, "run": ["x"], "line": 3}) == KernelView()
    assert read_view({"launch": "12345678901"}).launch_number is None
    assert read_search(17) == KernelView()
    assert kernel_address("a/../b", stage="2d") == "/kernel?run=a%2F..%2Fb&stage=2d"


def test_what_an_address_names_is_cut_before_it_reaches_a_list():
    endless = "x" * 500_000
    for view in (read_search(f"?run={endless}"), compare_view.read_search(f"?a={endless}&sa={endless}")):
        assert 200 < len(view.search()) < 1_000
        assert view.search().endswith(quote("x…"))
    both = compare_view.read_search(f"?b={endless}1&b={endless}2&b=20261130").b
    assert [len(one) for one in both] == [301, 8]
    assert run_options([], read_search(f"?run={endless}").run)[0]["label"].endswith("x…")
    branch = "rev:" + "b" * 255
    assert compare_view.read_search(f"?a={branch}").a == branch


@pytest.fixture
def runs(tmp_path):
    Store(tmp_path).write(golden_run(["naive", "2d", "cublas-fp32"]))
    return RunData(tmp_path, LadderData(tmp_path).version)


def test_what_the_address_leaves_open_is_the_newest_runs_longest_launch(runs):
    run = runs.shown()[0].id
    assert settle(KernelView(), runs) == KernelView(run=run, launch=0)
    assert settle(KernelView(stage="2d"), runs) == KernelView(run=run, launch=1)
    assert settle(KernelView(run="gone"), runs) == KernelView(run="gone")


def test_what_an_address_asks_for_and_is_not_there_is_said_with_what_is(runs):
    run = runs.shown()[0].id
    for search, message, hint in (
        ("?stage=navie", 'no run here has a stage "navie"', "Nearest: naive. There are: naive, 2d, cublas-fp32."),
        (
            f"?run={run}&stage=navie",
            f'run {run} has no stage "navie"',
            "Nearest: naive. It has: naive, 2d, cublas-fp32.",
        ),
        (f"?run={run}&stage=zzz", f'run {run} has no stage "zzz"', "It has: naive, 2d, cublas-fp32."),
        ("?launch=-1", f'run {run} has no launch "-1"', "It has launches 0 to 2."),
        ("?launch=2d", f'run {run} has no launch "2d"', "It has launches 0 to 2."),
        ("?launch=3", f"run {run} has no launch 3", "It has 3 launches, from 0."),
    ):
        with pytest.raises(InputError) as refused:
            find_shown(settle(read_search(search), runs), runs)
        assert (refused.value.message, refused.value.hint) == (message, hint)
    assert find_shown(settle(read_search("?stage=2d"), runs), runs).view.summaries[0].stage == "2d"


def test_a_run_may_be_named_as_compare_names_it(runs, tmp_path):
    first = runs.shown()[0].id
    newer = "20261201T011207-ladder-4f2c9ab-91c9"
    Store(tmp_path).write(golden_run(["naive"], run_id=newer, created="2026-12-01T01:12:07+00:00"))
    for reference, meant in ((first[:8], first), ("@last", newer), ("@last~1", first), (f"run:{newer}", newer)):
        assert settle(KernelView(run=reference), runs) == KernelView(run=meant, launch=0)
    with pytest.raises(InputError, match='"2026" begins the ids of 2 runs'):
        find_shown(settle(KernelView(run="2026"), runs), runs)
    for reference in ("@last~2", "../reports"):
        with pytest.raises(InputError, match="there is no run"):
            find_shown(settle(KernelView(run=reference), runs), runs)


def test_a_commit_means_its_newest_run_that_has_the_stage_asked_for_one_of_a_clean_tree_first(runs, tmp_path):
    def put(day, stages, **state):
        run = golden_run(stages, run_id=f"202612{day:02d}T000000-x", created=f"2026-12-{day:02d}T00:00:00+00:00")
        Store(tmp_path).write(replace(run, meta=replace(run.meta, git=GitState(**state))))
        return run.meta.id

    commit, other = "abcdef0" + "1" * 33, "beefbee" + "2" * 33
    older = put(2, ["naive", "2d"], commit=commit, branch="faster")
    newer = put(3, ["naive"], commit=commit, branch="faster")
    put(4, ["naive", "2d"], commit=commit, dirty=True)
    put(5, ["naive"], commit=other)
    for reference in (commit, "abcdef0", "rev:ABCDEF0", "faster", "rev:faster"):
        assert settle(KernelView(run=reference), runs).run == newer
        assert settle(KernelView(run=reference, stage="2d"), runs) == KernelView(run=older, launch=1)
    for reference in ("run:abcdef0", "stage:naive", "abc", "rev:gone", "rev:"):
        with pytest.raises(InputError, match=f'there is no run "{reference}" here'):
            find_shown(settle(KernelView(run=reference), runs), runs)
    with pytest.raises(InputError, match=f'run {newer} has no stage "warptiled"'):
        find_shown(settle(KernelView(run="rev:faster", stage="warptiled"), runs), runs)


def test_another_run_shows_the_same_stage_and_another_launch_drops_the_line(runs):
    view = KernelView(run=runs.shown()[0].id, launch=0, line="k.cu:1")
    moved = move(view, {ids.KERNEL_RUN}, {"stage": "2d"}, runs)
    assert (moved.launch, moved.line) == (1, None)
    moved = move(view, {ids.KERNEL_RUN}, {"stage": "gone"}, runs)
    assert (moved.launch, moved.stage) == (0, None)
    assert move(view, {ids.KERNEL_LAUNCH}, None, runs).line is None
    assert move(view, {ids.SPOTS_SORT}, None, runs) is view


def test_a_run_that_is_not_listed_leads_nowhere(runs):
    for key in ("../../etc", "", "run.json", "/etc/passwd"):
        with pytest.raises(InputError):
            runs.run(key)
    assert runs.find("../..", 0) is None
    with pytest.raises(InputError, match="no launch 9"):
        runs.inspection(runs.shown()[0].id, 9)


def test_a_new_run_is_listed_and_a_launch_is_taken_apart_once(runs, tmp_path):
    run = runs.shown()[0].id
    assert runs.inspection(run, 1) is runs.inspection(run, 1)
    newer = "20261201T011207-ladder-4f2c9ab-91c9"
    Store(tmp_path).write(golden_run(["naive"], run_id=newer, created="2026-12-01T01:12:07+00:00"))
    assert [meta.id for meta in runs.shown()] == [newer, run]


def test_only_so_many_results_are_kept():
    recent, made = Recent(2), []
    for key in ("a", "b", "a", "c", "b"):
        recent.get(key, lambda key=key: made.append(key) or key)
    assert made == ["a", "b", "c", "b"]


def test_choices_name_runs_and_launches_as_text(runs):
    metas = runs.shown()
    assert run_options(metas, metas[0].id)[0]["label"] == "ladder · 1024³ · 2026-11-30 01:12"
    assert run_options(metas, "opened-x")[0]["label"] == "opened file, not stored"
    assert run_options(metas, "20261130T01\u202e")[0]["label"] == "20261130T01\\u202e"  # no run here, nor a file
    labels = [one["label"].replace("\u2009", " ") for one in launch_options(runs.launches(metas[0].id))]
    assert labels[0] == "0  naive  4.42 ms"


SPOTS = HotSpots(
    0,
    (
        Spot("k.cu", 10, instructions=2, samples=30.0, stalls={"selected": 10.0, "barrier": 20.0}),
        Spot("k.cu", 20, samples=70.0, stalls={"wait": 70.0}, shared_wavefronts=32.0, shared_wavefronts_ideal=1.0),
    ),
    (
        Spot("k.cu", 10, offset=0, sass="BAR.SYNC", samples=30.0, stalls={"barrier": 30.0}),
        Spot("k.cu", 20, offset=16, sass="STS [R1], R2", samples=70.0, stalls={"wait": 70.0}),
    ),
    100.0,
    excess_wavefronts=31.0,
)


def column(table, title):
    at = [one["title"] for one in table["columns"]].index(title)
    return [row["cells"][at] for row in table["rows"]]


def test_of_many_launches_those_searched_for_are_offered(runs):
    (first, *_) = runs.launches(runs.shown()[0].id)
    many = [replace(first, launch=number, nvtx=("epoch 7",) if number % 50 == 7 else ()) for number in range(1000)]
    options = launch_options(many, 900)
    assert [one["value"] for one in options] == [*map(str, range(200)), "900", ""]
    assert options[-1]["disabled"]
    assert options[-1]["label"].replace("\u2009", " ").startswith("800 more")
    found = launch_options(many, 900, "EPOCH 7")
    assert [one["value"] for one in found] == [
        str(number) for number in range(1000) if number % 50 == 7 or number == 900
    ]
    assert [one["value"] for one in launch_options(many, 3, "no such kernel")] == ["3"]


def test_very_long_names_do_not_fill_a_browsers_memory(runs):
    (first, *_) = runs.launches(runs.shown()[0].id)
    mangled = replace(first, stage=None, function="_Z" + "x" * 5000, kernel="_Z" + "x" * 5000 + " float4")
    (option,) = launch_options([mangled])
    assert len(option["label"]) < 200
    assert "…" in option["label"]
    assert option["search"].split() == ["0", "_Z" + "x" * 98, "float4", *first.nvtx]
    template = f"cutlass::gemm<float4, {'int, ' * 90}tile>"
    assert searched(template) == template
    assert len(searched("int, " * 900)) == 1000


def _rows_within_rows(part):
    inside = [one for one in part._traverse() if isinstance(one, html.Tr)]
    return [row for row in inside if any(isinstance(one, html.Tr) for one in row._traverse())]


def test_headers_of_tables_are_rows_of_their_own(runs):
    found = inspect(runs.run(runs.shown()[0].id), 0)
    assert _rows_within_rows(html.Div(kernel_cards.accesses_body(found))) == []


def test_hot_spots_hold_samples_by_reason_and_ratios_to_the_ideal():
    (table,) = spot_tables(SPOTS, KernelView(), LIGHT)
    assert [row["key"] for row in table["rows"]] == ["k.cu:20", "k.cu:10"]
    assert [cell["value"] for cell in column(table, "samples")] == [0.7, 0.3]
    widths = [[part[0] for part in cell["bar"]] for cell in column(table, "where warps wait, by reason")]
    assert widths == [[100.0], [pytest.approx(14.29, abs=0.01), pytest.approx(28.57, abs=0.01)]]
    assert column(table, "÷ ideal")[0] == {"text": "32.0×", "value": 32.0, "over": True}
    (in_order,) = spot_tables(SPOTS, KernelView(sort="source"), LIGHT)
    assert [row["key"] for row in in_order["rows"]] == ["k.cu:10", "k.cu:20"]


def test_a_chosen_line_marks_its_instructions_and_the_other_way_round():
    lines, code = spot_tables(SPOTS, KernelView(code="both", line="k.cu:20"), LIGHT)
    assert [row["key"] for row in lines["rows"] if row["chosen"]] == ["k.cu:20"]
    assert [row["key"] for row in code["rows"] if row["chosen"]] == ["+0010"]
    instruction = find_spot(SPOTS, "+0000")
    assert is_of(SPOTS.lines[0], instruction)
    assert not is_of(SPOTS.lines[1], instruction)
    assert find_spot(SPOTS, "k.cu:99") is None
    assert spot_key(instruction) == "+0000"


def test_code_without_lines_shows_instructions_whatever_was_asked_for():
    bare = HotSpots(0, (Spot(None, None, samples=1.0),), (Spot(None, None, offset=0, sass="EXIT", samples=1.0),), 1.0)
    (table,) = spot_tables(bare, KernelView(code="source"), LIGHT)
    assert table["columns"][0]["title"] == "offset"


METRICS = tuple(
    MetricValue(name, 1.0, None, "", meaning(name))
    for name in ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "dram__bytes_read.sum", "launch__block_size")
)


def test_metrics_are_found_by_name_and_by_meaning():
    names = lambda words: [one.name.partition("__")[0] for one in kernel_cards.matching(METRICS, words)]  # noqa: E731  # short
    assert names("SECTORS global") == ["l1tex"]
    assert names("device memory") == ["dram"]
    assert names("   ") == []
    assert names("nothing") == []


def test_what_was_not_collected_says_how_to_get_it():
    run = golden_run(["2d"])
    found = inspect(type(run)(**{**run.__dict__, "metrics": run.metrics.iloc[:0]}), 0)
    for draw, section in ((draw_units, "SpeedOfLight"), (draw_chart, "MemoryWorkloadAnalysis_Tables"),
                          (draw_stalls, "WarpStateStats")):  # fmt: skip
        drawn = draw(found, KernelView(), Screen(1440))
        assert drawn.figure is None
        assert f"ncu-lab profile --stage 2d --section {section}" in str(drawn.missing)


def test_a_narrow_page_has_the_table_instead_of_the_chart():
    found = inspect(golden_run(["2d"]), 0)
    drawn = draw_chart(found, KernelView(), Screen(390))
    assert drawn.figure is None
    assert drawn.folded
    assert len(drawn.card.table[1]) >= 13
