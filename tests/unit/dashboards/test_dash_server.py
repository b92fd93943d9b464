"""Serving: a port that is really free, nothing from elsewhere, nobody from elsewhere."""

import re
import socket

import pytest

from ncu_lab.errors import EnvironmentLacksError, Exit, UsageError
from ncu_lab_dash.app import create_app
from ncu_lab_dash.server import DEFAULT_PORT, address_of, is_loopback, take_port


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


def test_the_page_loads_nothing_from_elsewhere(tmp_path):
    answer = create_app(tmp_path).server.test_client().get("/")
    addresses = re.findall(r'(?:src|href)="([^"]+)"', answer.text)
    assert addresses
    assert all(address.startswith("/") for address in addresses)
    assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
