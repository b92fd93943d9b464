"""The Runs page in a real browser: the table, and files that are opened, whole ones and broken ones."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest
from golden_runs import golden_run
from looking import PLOT, choose, is_wider_than_its_window, query, text, wait
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from ncu_lab.model import Problem
from ncu_lab.store import Store

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Serving = Callable[..., AbstractContextManager[str]]
GOLDEN = Path(__file__).parents[1] / "data" / "golden"
NEWER, OLDER = "20261130T011207-ladder-4f2c9ab-91c3", "20261129T011207-ladder-4f2c9ab-91c2"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store")
    Store(folder).write(golden_run(["naive", "2d"]))
    older = golden_run(
        ["naive"], problem=Problem(512, 512, 512), run_id=OLDER, created="2026-11-29T01:12:07+00:00"
    )  # fmt: skip
    Store(folder).write(replace(older, meta=replace(older.meta, name="<i>old</i>")))
    return folder


@pytest.fixture(scope="module")
def address(store: Path, serving: Serving) -> Iterator[str]:
    with serving(store, "--allow-import") as found:
        yield found


def open_page(browser: Chrome, address: str, search: str = "") -> None:
    browser.get(f"{address}runs{search}")
    wait(browser, "document.querySelector('#runs-body tbody tr')")


def shown(browser: Chrome) -> list[str]:
    found: list[str] = browser.execute_script(
        "return [...document.querySelectorAll('#runs-body .tick')].map(one => one.dataset.key)"
    )
    return found


def upload(browser: Chrome, path: Path, cards: int) -> str:
    """Give a file to the page; return the text of its card."""
    browser.find_element(By.ID, "file-input").send_keys(str(path))
    wait(browser, f"document.querySelectorAll('#opened-cards .card').length === {cards}")
    return browser.find_element(By.CSS_SELECTOR, "#opened-cards .card").text.replace("\u202f", " ")


def golden(folder: Path, name: str, *, cut: int | None = None) -> Path:
    data = gzip.decompress((GOLDEN / f"{name}.gz").read_bytes())
    path = folder / name
    path.write_bytes(data[:cut] if cut else data)
    return path


def test_runs_are_listed_with_their_durations_and_open_on_a_click(wide: Chrome, address: str) -> None:
    open_page(wide, address)
    assert shown(wide) == [NEWER, OLDER]
    assert wide.title == "Runs · ncu-lab"
    wait(wide, "document.querySelectorAll('#runs-body .strip-bars').length === 2")
    bars = wide.execute_script(
        "return [...document.querySelectorAll('#runs-body .strip-bars')].map(one => one.children.length)"
    )
    assert bars == [2, 1]
    assert "<i>old</i>" in text(wide, "runs-body")
    wide.find_element(By.CSS_SELECTOR, "#runs-body tbody tr a").click()
    wait(wide, f"location.pathname === '/kernel' && ({PLOT % 'waits'})?.data?.length")
    assert query(wide)["run"] == [NEWER]
    wait(wide, "document.title === 'Kernel · ncu-lab'")


def test_every_row_gets_its_strip(wide: Chrome, serving: Serving, tmp_path: Path) -> None:
    for number in range(45):
        made = f"2026-11-{1 + number // 24:02d}T{number % 24:02d}:00:00+00:00"
        Store(tmp_path).write(golden_run(["naive"], run_id=f"run-{number:02d}", created=made))
    failed = golden_run(["naive"], run_id="run-99", created="2026-11-03T00:00:00+00:00", status="check_failed")
    Store(tmp_path).write(failed)
    with serving(tmp_path) as many:
        open_page(wide, many)
        wait(wide, "document.querySelectorAll('#runs-body .strip-bars').length === 45")
        assert len(shown(wide)) == 46
        assert wide.execute_script("return document.querySelector('[data-into=strip-run-99]').textContent") == ""
        wide.get("about:blank")


def test_filter_order_and_ticks_are_in_the_address(wide: Chrome, address: str) -> None:
    open_page(wide, address, "?sort=oldest")
    assert shown(wide) == [OLDER, NEWER]
    wide.find_element(By.ID, "runs-filter").send_keys("2d")
    wait(wide, "document.querySelectorAll('#runs-body .tick').length === 1")
    assert shown(wide) == [NEWER]
    wait(wide, "location.search.includes('filter=2d')")
    open_page(wide, address, f"?picked={NEWER}")
    wide.find_element(By.CSS_SELECTOR, f".tick[data-key='{OLDER}']").click()
    wait(wide, "document.querySelectorAll('#runs-body tr.chosen').length === 2")
    wait(wide, "document.querySelector('#runs-comparable .chip')")
    assert "⊘ not comparable" in text(wide, "runs-comparable")
    assert "problem" in text(wide, "runs-comparable")
    choose(wide, "runs-sort", "name")
    wait(wide, "location.search.includes('sort=name')")
    assert query(wide)["picked"] == [f"{NEWER},{OLDER}"]


def test_a_filter_that_matches_nothing_says_what_there_is(wide: Chrome, address: str) -> None:
    wide.get(f"{address}runs?filter=wgmma")
    wait(wide, "document.querySelector('#runs-state .missing')")
    assert "No run matches “wgmma”" in text(wide, "runs-state")
    assert "2 runs are in this store" in text(wide, "runs-state")


def test_files_are_opened_read_in_part_or_refused(wide: Chrome, address: str, store: Path, tmp_path: Path) -> None:
    open_page(wide, address)
    before = sorted(path.name for path in store.iterdir())
    whole = upload(wide, golden(tmp_path, "cupy-nvtx.ncu-rep"), 1)
    assert "✓ read" in whole
    assert "Launches 3" in " ".join(whole.split())
    cut = upload(wide, golden(tmp_path, "ladder-full.ncu-rep", cut=-10), 2)
    assert "! read in part" in cut
    assert "11 of 12 results" in cut
    assert "byte 15346556" in cut
    broken = upload(wide, golden(tmp_path, "ladder-full.ncu-rep", cut=20000), 3)
    assert "✗ cannot be read" in broken
    assert "byte 20000" in broken
    assert str(tmp_path) not in broken
    noise = tmp_path / "<b>noise.csv"
    noise.write_bytes(b"hello\n" * 10)
    refused = upload(wide, noise, 4)
    assert "<b>noise.csv" in refused
    assert sorted(path.name for path in store.iterdir()) == before
    wide.execute_script("document.querySelector('#opened-cards [data-choose=opened-dismissed]').click()")
    wait(wide, "document.querySelectorAll('#opened-cards .card').length === 3")


def test_an_opened_file_is_shown_and_kept_only_when_asked(
    wide: Chrome, address: str, store: Path, tmp_path: Path
) -> None:
    open_page(wide, address)
    wide.execute_script("sessionStorage.clear()")
    open_page(wide, address)
    upload(wide, golden(tmp_path, "cupy-nvtx.raw.csv"), 1)
    wide.execute_script("document.querySelector('#opened-cards [data-choose=opened-kept]').click()")
    wait(wide, "document.getElementById('opened-cards').textContent.includes('Kept as')")
    wait(wide, "document.querySelectorAll('#runs-body .tick').length === 3")
    assert len(list(store.glob("*cupy-nvtx*"))) == 1
    wide.find_element(By.CSS_SELECTOR, "#opened-cards a.button").click()
    wait(wide, "location.pathname === '/kernel' && document.querySelector('#kernel-banner h1')")
    assert query(wide)["run"][0].startswith("opened-")
    assert "scale_and_add" in text(wide, "kernel-signature") or text(wide, "kernel-signature")


def test_without_permission_nothing_can_be_kept(wide: Chrome, serving: Serving, store: Path, tmp_path: Path) -> None:
    with serving(store) as address:
        wide.get(f"{address}runs")
        wait(wide, "document.querySelector('#runs-body tbody tr')")
        upload(wide, golden(tmp_path, "cupy-nvtx.raw.csv"), 1)
        assert not wide.find_elements(By.CSS_SELECTOR, "[data-choose=opened-kept]")
        assert "read-only" in text(wide, "runs-context")
        wide.get("about:blank")


@pytest.mark.parametrize("width", [390, 2560])
def test_no_width_scrolls_sideways(open_browser: Callable[[int, int], Chrome], address: str, width: int) -> None:
    browser = open_browser(width, 1200)
    open_page(browser, address)
    assert not is_wider_than_its_window(browser)
    assert browser.get_log("browser") == []
