"""The Runs page without a browser: filter, order, ticks, strips, opened files."""

import gzip
import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from golden_runs import golden_run

from ncu_lab.store import Store
from ncu_lab.workflows.inspecting import list_launches
from ncu_lab_dash.app import create_app
from ncu_lab_dash.data import LadderData
from ncu_lab_dash.opened import MOST_BYTES, OpenedFiles, shown_name
from ncu_lab_dash.opened_cards import opened_card
from ncu_lab_dash.run_data import RunData
from ncu_lab_dash.runs_table import matching, ordered, runs_table, strip
from ncu_lab_dash.runs_view import RunsView, read_search, read_view, toggle

GOLDEN = Path(__file__).parents[2] / "data" / "golden"
CSV = gzip.decompress((GOLDEN / "cupy-nvtx.raw.csv.gz").read_bytes())


def metas():
    first = golden_run(["naive"]).meta
    named = replace(first, id="b", stages=(), name="<script>saxpy", problem=None, status="partial")
    failed = replace(first, id="c", status="check_failed", error="wrong at 0, 0")
    return [first, named, failed]


@pytest.mark.parametrize("view", [RunsView(), RunsView("2d a100", "size", ("x", "y"), "dark"), RunsView(picked=("a",))])
def test_an_address_restores_the_view_it_was_made_of(view):
    assert read_search(view.search()) == view


def test_values_that_no_page_writes_fall_back():
    assert read_view({"filter": 3, "sort": "evil", "picked": {"a": 1}, "theme": "red"}) == RunsView()
    assert read_view({"picked": "a,b,c,,a"}).picked == ("b", "c")
    assert read_search(None) == RunsView()


def test_two_runs_are_ticked_at_most():
    assert toggle((), "a") == ("a",)
    assert toggle(("a", "b"), "c") == ("b", "c")
    assert toggle(("a", "b"), "a") == ("b",)


def test_every_word_of_the_filter_must_be_somewhere():
    assert [meta.id for meta in matching(metas(), "NAIVE h200 check")] == ["c"]
    assert [meta.id for meta in matching(metas(), "saxpy")] == ["b"]
    assert len(matching(metas(), "")) == 3
    assert matching(metas(), "wgmma") == []


def test_orders():
    found = metas()
    assert [meta.id for meta in ordered(found, "size", {found[0].id: 1, "b": 3, "c": 2}.__getitem__)] == [
        "b",
        "c",
        found[0].id,
    ]
    assert [meta.id for meta in ordered(found, "oldest", len)] == ["c", "b", found[0].id]


def test_rows_are_data_with_a_link_and_a_state_in_words():
    table = runs_table(metas(), RunsView(picked=("b",)), lambda run: 2_000_000)
    cells = table["rows"][1]["cells"]
    assert cells[0]["tick"] is True
    assert cells[2] == {"link": "/kernel?run=b", "text": "<script>saxpy", "title": "b"}
    assert [row["cells"][-1]["text"] for row in table["rows"]] == ["✓ complete", "! in part", "✗ check failed"]
    assert table["rows"][2]["cells"][-1]["title"] == "wrong at 0, 0"


def test_a_strip_has_a_bar_a_launch_on_a_log_scale_of_its_own():
    entries = list_launches(golden_run(["naive", "2d", "cublas-fp32"]))
    found = strip(entries)
    assert len(found["heights"]) == 3
    assert max(found["heights"]) == 1.0
    assert min(found["heights"]) == 0.15
    assert found["holds"] == "3 launches"
    assert strip([]) == {"heights": [], "title": "no durations", "holds": "0 launches"}


def test_two_problems_are_not_comparable_and_the_page_knows_before_the_click(tmp_path):
    Store(tmp_path).write(golden_run(["naive"]))
    other = golden_run(["naive"], run_id="20261129T011207-naive-4f2c9ab-91c2", created="2026-11-29T01:12:07+00:00")
    problem = replace(other.meta.problem, m=512)
    Store(tmp_path).write(replace(other, meta=replace(other.meta, problem=problem)))
    runs = RunData(tmp_path, LadderData(tmp_path).version)
    a, b = (meta.id for meta in runs.shown())
    found = runs.comparability(a, b)
    assert not found.is_comparable
    assert [one.what for one in found.reasons] == ["problem"]
    assert runs.comparability(a, a).is_comparable


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a.ncu-rep", "a.ncu-rep"),
        ("../../etc/passwd", "passwd"),
        ("C:\\tmp\\x.csv", "x.csv"),
        ("/", "unnamed file"),
        ("a\x1b[2J.csv", "a\\x1b[2J.csv"),
    ],
)
def test_a_files_name_is_only_shown(name, shown):
    assert shown_name(name) == shown


def opened(data, name):
    return OpenedFiles().open(name, io.BytesIO(data), len(data))


def test_an_export_is_read_in_a_child_and_shown_under_its_name():
    found = opened(CSV, "../../evil/my export.csv")
    assert found.state == "read"
    assert found.run.meta.id == found.key
    assert found.run.meta.name == "my export.csv"
    assert len(found.run.launches) == 3
    assert "Launches" in str(opened_card(found, may_keep=False))


def test_an_export_of_the_session_page_is_said_to_hold_no_more_than_that():
    session = gzip.decompress((GOLDEN / "ladder-full.session.csv.gz").read_bytes())
    card = str(opened_card(opened(session, "session.csv"), may_keep=True))
    assert "It holds only the session: device and environment, no launches." in card
    assert "Keep in store" not in card
    assert "only the session" not in str(opened_card(opened(CSV, "x.csv"), may_keep=True))


def test_what_cannot_be_read_is_told_without_the_temporary_path():
    found = opened(b"hello " * 50, "x.ncu-rep")
    assert (found.state, found.run) == ("refused", None)
    assert found.error.message.startswith("x.ncu-rep is neither")
    assert "/tmp" not in found.error.message + (found.error.hint or "")
    assert "Keep in store" not in str(opened_card(found, may_keep=True))


def test_files_go_when_dismissed_or_when_there_are_too_many():
    files = OpenedFiles()
    keys = [files.open(f"{n}.csv", io.BytesIO(b"x"), 1).key for n in range(9)]
    assert files.find(keys[0]) is None
    assert files.find(keys[8]) is not None
    files.dismiss(keys[8])
    assert files.find(keys[8]) is None
    assert len(set(keys)) == 9


def post(client, data, name="a.csv", **headers):
    return client.post("/open", data=data, headers={"X-File-Name": name, **headers})


def test_the_server_takes_a_file_and_names_it(tmp_path):
    app = create_app(tmp_path)
    answer = post(app.server.test_client(), CSV, "caf%C3%A9.csv")
    assert answer.status_code == 200
    assert re.fullmatch(r"opened-[\w-]{16}", answer.json["key"])
    assert answer.json["state"] == "read"
    assert list(tmp_path.iterdir()) == []  # nothing is stored


def test_the_server_refuses_what_is_too_large_nameless_or_from_elsewhere(tmp_path):
    client = create_app(tmp_path).server.test_client()
    assert client.post("/open", data=b"x").status_code == 400
    length = {"CONTENT_LENGTH": str(MOST_BYTES + 1)}
    too_large = client.post("/open", data=b"x", headers={"X-File-Name": "a"}, environ_overrides=length)
    assert too_large.status_code == 413
    assert "ncu-lab import" in too_large.text
    assert post(client, b"x", Origin="http://evil.example").status_code == 403
    assert post(client, b"x", Origin="http://localhost").status_code == 200
    assert client.get("/open").status_code == 404


def test_an_opened_file_is_kept_as_an_import_of_its_own(tmp_path):
    runs = RunData(tmp_path, LadderData(tmp_path).version)
    kept = runs.keep(opened(CSV, "my export.csv").run)
    (meta,) = runs.shown()
    assert meta.id == kept
    assert (meta.source, meta.name) == ("import", "my export")
    assert len(runs.run(kept).launches) == 3
