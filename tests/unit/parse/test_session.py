from collections.abc import Callable
from pathlib import Path

import pytest

from ncu_lab.model import Session
from ncu_lab.parse.container import read_container
from ncu_lab.parse.redaction import redact
from ncu_lab.parse.session import environment_from, options_of

VERSIONS = {"Nsight Compute Target": "2023.1.1.0 (build 1) (public-release)", "Display Driver Version": "550.90.07"}


def test_versions() -> None:
    environment = environment_from(VERSIONS, "")
    assert (environment.ncu, environment.driver, environment.cuda) == ("2023.1.1", "550.90.07", None)


@pytest.mark.parametrize(
    ("command", "clock", "cache"),
    [
        ("", None, None),  # not known: nothing is claimed
        ("ncu ./a", "base", "all"),  # what ncu does when it is not told
        ("ncu --clock-control none --cache-control=none ./a", "none", "none"),
    ],
)
def test_clock_and_cache_control(command: str, clock: str | None, cache: str | None) -> None:
    environment = environment_from({}, command)
    assert (environment.clock_control, environment.cache_control) == (clock, cache)


def test_sections_in_their_order() -> None:
    command = 'ncu --section SpeedOfLight --set full --section "Occupancy" --section-folder x ./a'
    assert environment_from({}, command).sections == ("set:full", "SpeedOfLight", "Occupancy")


def test_options_up_to_the_program() -> None:
    command = '"/opt/n c/ncu" --set full -f --nvtx --section A --section=B -o x python3 a.py --set none'
    assert options_of(command) == {"set": "full", "f": "", "nvtx": "", "section": "A,B", "o": "x"}
    assert options_of("") == {}
    assert options_of("ncu --set full ./a 'not closed") == {"set": "full"}


def test_a_session_is_read_whole(golden: Callable[[str], Path]) -> None:
    session = read_container(golden("cupy-nvtx.ncu-rep")).session
    assert session.created == "2026-11-30T00:54:51+00:00"
    assert session.host == session.target == {
        "os": "Linux", "os_version": "#1 SMP PREEMPT_DYNAMIC @0", "processor": "Intel(R) Xeon(R) Processor",
        "architecture": "x86_64", "name": "vm",
    }  # fmt: skip
    assert session.addresses == ("192.0.2.2", "fd00::2", "fe80::fc:ff:fe00:1%eth0")
    assert session.versions["CUDA Version"] == "13.0"
    assert session.processes == {"2195": "/usr/bin/python3.12"}
    assert session.options["section"] == "SpeedOfLight,SourceCounters"
    assert session.options["clock-control"] == "none"


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("/home/jane/bin/ncu -o /home/jane/x ./app", "<path>/ncu -o <path>/x ./app"),
        ("ncu --export=/data/ssd/jane/x,~/y jane", "ncu --export=<path>/x,<path>/y <user>"),
        (r'"C:\Program Files\N\ncu.exe" -o C:\Users\jane\x.ncu-rep a.exe', "<path>/ncu.exe -o <path>/x.ncu-rep a.exe"),
        ("ncu ./app --home /home/jane --root /", "ncu ./app --home <path> --root <path>/"),
        ("ncu ./app box7 --peer=10.1.17.11:80 fe80::1%eth0", "ncu ./app <host> --peer=<address>:80 <address>"),
        ("ncu -k at::native https://docs/x 1.2.3 ../a boxes", "ncu -k at::native https://docs/x 1.2.3 ../a boxes"),
        ("ncu -k void::c ./app 300.1.1.1", "ncu -k void::c ./app 300.1.1.1"),
    ],
)  # fmt: skip
def test_what_is_private_is_taken_out(command: str, shown: str) -> None:
    session = Session(command=command, host={"os": "Linux", "name": "box7"}, processes={"1": "/home/jane/app"})
    assert redact(session).command == shown
    assert redact(session).processes == {"1": "<path>/app"}
    assert redact(session).host == {"os": "Linux", "name": "<host>"}
    assert redact(redact(session)) == redact(session)


def test_a_path_with_spaces_is_one_path() -> None:
    path = r"C:\Users\Jane Doe\My Reports\x.ncu-rep"
    session = redact(Session(options={"export": path, "set": "full"}, processes={"7": path}, addresses=("10.0.0.1",)))
    assert session.options == {"export": "<path>/x.ncu-rep", "set": "full"}
    assert session.processes == {"7": "<path>/x.ncu-rep"}
    assert session.addresses == ("<address>",)
