"""Serving: a port that is really free, nothing from elsewhere, nobody from elsewhere."""

import re
import socket

import pytest
from golden_runs import golden_run

from ncu_lab.errors import EnvironmentLacksError, Exit, UsageError
from ncu_lab.store import Store
from ncu_lab_dash.app import create_app
from ncu_lab_dash.pages.registry import PAGES
from ncu_lab_dash.server import DEFAULT_PORT, address_of, is_loopback, take_port
from ncu_lab_dash.wsgi import serve_store


@pytest.fixture
def taken():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def test_a_taken_port_is_an_error_with_the_way_out(taken):
    with pytest.raises(EnvironmentLacksError) as raised:
        take_port("127.0.0.1", taken)
    assert str(taken) in raised.value.message
    assert "--port" in raised.value.hint
    assert raised.value.exit_code == Exit.ENVIRONMENT


def test_without_a_port_the_next_free_one_is_taken():
    with take_port("127.0.0.1", None) as first, take_port("127.0.0.1", None) as second:
        ports = [listener.getsockname()[1] for listener in (first, second)]
        assert DEFAULT_PORT <= ports[0] < ports[1]
        assert address_of("127.0.0.1", second) == f"http://127.0.0.1:{ports[1]}/"


def test_a_host_that_is_not_of_this_machine_is_wrong_usage():
    with pytest.raises(UsageError) as raised:
        take_port("192.0.2.1", 0)
    assert "192.0.2.1" in raised.value.message


def test_loopback_names():
    assert [is_loopback(host) for host in ("127.0.0.1", "localhost", "::1", "127.8.9.1", "0.0.0.0", "lab.example")] == [
        True, True, True, True, False, False,
    ]  # fmt: skip


def test_a_foreign_host_header_is_refused_unless_any_host_is_served(tmp_path):
    client = create_app(tmp_path).server.test_client()
    assert client.get("/", headers={"Host": "evil.example:8050"}).status_code == 403
    assert client.get("/", headers={"Host": "127.0.0.1:8050"}).status_code == 200
    assert client.get("/", headers={"Host": "localhost:8050"}).status_code == 200
    assert client.get("/", headers={"Host": "[::1]:8050"}).status_code == 200
    open_client = create_app(tmp_path, any_host=True).server.test_client()
    assert open_client.get("/", headers={"Host": "gpu-box:8050"}).status_code == 200


def test_a_team_is_served_by_whatever_name_its_server_has(tmp_path):
    client = serve_store(str(tmp_path)).test_client()
    assert client.get("/kernel", headers={"Host": "gpu-box.example"}).status_code == 200


def test_calls_of_another_sites_pages_are_refused(tmp_path):
    client = create_app(tmp_path).server.test_client()
    assert client.get("/_dash-layout", headers={"Origin": "http://evil.example"}).status_code == 403
    assert client.get("/_dash-layout", headers={"Origin": "null"}).status_code == 403
    assert client.get("/_dash-layout", headers={"Origin": "http://[no-address"}).status_code == 403
    assert client.get("/_dash-layout", headers={"Origin": "http://localhost"}).status_code == 200


def test_every_page_has_its_address(tmp_path):
    client = create_app(tmp_path).server.test_client()
    assert [client.get(page.path).status_code for page in PAGES] == [200] * len(PAGES)
    for path in ("/kernel/", "/kernel/../../etc/passwd", "/assets/../app.py", "/runs/x"):
        assert client.get(path).status_code == 404


def test_an_address_of_no_page_is_not_found_and_leads_home(tmp_path):
    client = create_app(tmp_path).server.test_client()
    for path in ("/nope", "/a/b", "/_dash-update-component"):
        answer = client.get(path)
        assert answer.status_code == 404
        assert '<a href="/">' in answer.text
    assert client.get("/_dash-layout").status_code == 200
    assert client.get("/assets/page.css").status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        "{", "{}", "[]", "null",
        '{"output": "url.search"}', '{"output": ["a"]}', '{"output": "version.data", "inputs": 3}',
        '{"output": "matrix.figure", "inputs": [{"id": "version", "property": "data"}]}', "[" * 100_000,
    ],
)  # fmt: skip
def test_a_malformed_call_is_refused_without_a_traceback(tmp_path, body, caplog):
    client = create_app(tmp_path).server.test_client()
    answer = client.post("/_dash-update-component", data=body, content_type="application/json")
    assert answer.status_code == 400
    assert caplog.records == []


def test_values_no_browser_sends_are_taken_as_none(tmp_path, caplog):
    Store(tmp_path).write(golden_run(["naive", "2d", "cublas-fp32"]))
    app = create_app(tmp_path)
    names = [name for name, one in app.callback_map.items() if "callback" in one]
    assert len(names) > 8
    for name in names:
        wired = app.callback_map[name]
        outputs = [dict(zip(("id", "property"), one.split("."), strict=True)) for one in name.strip(".").split("...")]
        for value in (None, 3, "nope", [[1]], {"width": "wide"}, {"width": -1}, {"points": [3]}):
            body = {
                "output": name,
                "outputs": outputs if name.startswith("..") else outputs[0],
                "inputs": [{**one, "value": value} for one in wired["inputs"]],
                "state": [{**one, "value": value} for one in wired["state"]],
                "changedPropIds": ["{id}.{property}".format(**wired["inputs"][-1])],
            }
            answer = app.server.test_client().post("/_dash-update-component", json=body)
            assert answer.status_code in (200, 204), (name, value, answer.text)
    assert caplog.records == []


def test_an_error_of_our_own_keeps_its_traceback(tmp_path, monkeypatch, caplog):
    def fail(self):
        raise KeyError("a bug")

    monkeypatch.setattr("ncu_lab_dash.data.LadderData.version", fail)
    body = {
        "output": "version.data",
        "outputs": {"id": "version", "property": "data"},
        "inputs": [{"id": "watch", "property": "n_intervals", "value": 0}],
        "state": [{"id": "version", "property": "data", "value": None}],
        "changedPropIds": [],
    }
    answer = create_app(tmp_path).server.test_client().post("/_dash-update-component", json=body)
    assert answer.status_code == 500
    assert "a bug" in caplog.text


def test_the_page_loads_nothing_from_elsewhere(tmp_path):
    answer = create_app(tmp_path).server.test_client().get("/")
    addresses = re.findall(r'(?:src|href)="([^"]+)"', answer.text)
    assert addresses
    assert all(address.startswith("/") for address in addresses)
    assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
