"""The dashboard for a team: the WSGI callable of the documentation under a real server, over a socket."""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from golden_runs import golden_run

from ncu_lab.store import Store
from ncu_lab_dash.pages.registry import PAGES

pytestmark = pytest.mark.slow

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
DOCS = Path(__file__).parents[2] / "docs" / "dashboard.md"
WERKZEUG = """\
import sys
from werkzeug.serving import run_simple
from ncu_lab_dash.wsgi import serve_store
run_simple("127.0.0.1", int(sys.argv[1]), serve_store(sys.argv[2]), threaded=True)
"""


def command(server: str, port: int, store: Path) -> list[str]:
    """Return what starts a server; that of gunicorn is the documented one, for another port and store."""
    if server == "werkzeug":
        return [sys.executable, "-c", WERKZEUG, str(port), str(store)]
    documented = next(line for line in DOCS.read_text("utf-8").splitlines() if line.startswith("gunicorn "))
    words = documented.replace("127.0.0.1:8050", f"127.0.0.1:{port}").replace("/srv/ncu-lab/reports", str(store))
    options, quoted = words.removeprefix("gunicorn ").split(" '")
    return [sys.executable, "-m", "gunicorn", *options.split(), quoted.removesuffix("'")]


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@pytest.fixture(params=["werkzeug", "gunicorn"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if importlib.util.find_spec(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    Store(tmp_path / "reports").write(golden_run(["naive", "2d"]))
    port = free_port()
    process = subprocess.Popen(
        command(request.param, port, tmp_path / "reports"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "HOME": str(tmp_path)},  # gunicorn keeps a socket there
    )
    try:
        wait_for(port, process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.communicate(timeout=20)


def wait_for(port: int, process: subprocess.Popen[str]) -> None:
    for _ in range(300):
        if process.poll() is not None:
            raise AssertionError(process.communicate()[1])
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the server never listened")


def ask(address: str, data: bytes | None = None, **headers: str) -> tuple[int, bytes]:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        with urllib.request.urlopen(urllib.request.Request(address, data, names), timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def call(address: str, output: str, inputs: list[dict[str, Any]]) -> tuple[int, bytes]:
    component, _, name = output.partition(".")
    body = {
        "output": output,
        "outputs": {"id": component, "property": name},
        "inputs": inputs,
        "state": [{"id": "version", "property": "data", "value": None}],
        "changedPropIds": [],
    }
    return ask(f"{address}/_dash-update-component", json.dumps(body).encode(), Content_Type="application/json")


def test_pages_callbacks_and_uploads_are_served(address: str) -> None:
    assert [ask(address + page.path, Host="gpu-box.example")[0] for page in PAGES] == [200] * len(PAGES)
    assert ask(f"{address}/nope")[0] == 404
    status, answer = call(address, "version.data", [{"id": "watch", "property": "n_intervals", "value": 1}])
    assert (status, len(json.loads(answer)["response"]["version"]["data"])) == (200, 16)
    report = gzip.decompress((GOLDEN / "cupy-nvtx.raw.csv.gz").read_bytes())
    sent = {"Content_Type": "application/octet-stream", "X_File_Name": "a.csv"}
    status, answer = ask(f"{address}/open", report, **sent)
    assert (status, json.loads(answer)["state"]) == (200, "read"), answer
    assert ask(f"{address}/open", report, Origin="http://evil.example", **sent)[0] == 403
