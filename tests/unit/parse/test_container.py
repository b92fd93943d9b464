import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ncu_lab.errors import InputError
from ncu_lab.parse.container import read_container


def varint(value: int) -> bytes:
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def message(field: int, content: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(content)) + content


def sized(content: bytes) -> bytes:
    return struct.pack("<I", len(content)) + content


def block(results: int, payload: bytes, extra: bytes = b"") -> bytes:
    return sized(number(2, results) + number(5, len(payload)) + extra) + payload


HEADER = b"NVR\0" + sized(number(1, 7))
SESSION = message(
    3, message(8, message(1, b"CUDA Version") + message(2, b"13.0")) + message(11, b"ncu --set full ./a ")
)
PROCESS = message(6, number(1, 1023) + message(2, b"127.0.0.1") + message(3, b"/tmp/lab/ladder"))


@pytest.fixture
def written(tmp_path: Path) -> Callable[[bytes], Path]:
    def write(content: bytes) -> Path:
        path = tmp_path / "x.ncu-rep"
        path.write_bytes(content)
        return path

    return write


Written = Callable[[bytes], Path]


def test_an_intact_file(written: Written) -> None:
    blocks = block(0, b"", SESSION) + block(1, sized(b"r"), PROCESS) + block(2, sized(b"s") * 2, PROCESS)
    container = read_container(written(HEADER + blocks))
    assert (container.version, container.announced, container.complete) == (7, 3, 3)
    assert container.damage is None
    assert container.session.versions == {"CUDA Version": "13.0"}
    assert container.session.command == "ncu --set full ./a"
    assert [process.label if process else None for process in container.processes] == ["ladder (1023)"] * 3


def test_ranges_and_graphs_count_too(written: Written) -> None:
    extra = number(7, 1) + number(9, 2)
    assert read_container(written(HEADER + block(1, b"123456", extra))).announced == 4


def test_a_header_without_blocks_has_no_results(written: Written) -> None:
    container = read_container(written(HEADER))
    assert (container.announced, container.damage) == (0, None)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty (0 bytes)"),
        (b"Kernel Name,Duration\n", "does not start with the bytes 'NVR'"),
        (b"NV", "does not start with the bytes 'NVR'"),
        (b"NVR\0\x02", "ends inside its file header (byte 5)"),
        (b"NVR\0\x02\0\0\0\x08", "ends inside its file header (byte 9)"),
        (b"NVR\0" + sized(b"\xff\xff"), "has a garbled file header (byte 4)"),
    ],
)
def test_what_is_no_report_is_refused(content: bytes, says: str, written: Written) -> None:
    with pytest.raises(InputError) as caught:
        read_container(written(content))
    assert says in caught.value.message
    assert caught.value.hint


def test_truncation_is_told_with_its_offset(written: Written) -> None:
    first, second = block(1, sized(b"r" * 10)), block(2, sized(b"s" * 40))
    whole = HEADER + first + second
    container = read_container(written(whole[:-10]))
    assert (container.announced, container.complete) == (3, 1)
    start = len(HEADER) + len(first)
    assert container.damage is not None
    assert container.damage.offset == start
    assert container.damage.message == (
        f"the last block is cut at byte {len(whole) - 10} (it begins at {start} and should end at {len(whole)}; blocks "
        "after it, if any, are lost too)"
    )


def test_trailing_bytes_are_told(written: Written) -> None:
    sound = HEADER + block(1, sized(b"r"))
    container = read_container(written(sound + b"abc"))
    assert container.complete == 1
    assert container.damage is not None
    assert container.damage.offset == len(sound)


@pytest.mark.parametrize("more", [bytes(10), b"\r\n and words that are no part of a report", HEADER + bytes(30)])
def test_what_is_no_block_is_not_called_one_that_was_cut(more: bytes, written: Written) -> None:
    sound = HEADER + block(1, sized(b"r"))
    container = read_container(written(sound + more))
    assert container.complete == 1
    assert container.damage is not None
    assert container.damage.offset == len(sound)
    assert container.damage.message.startswith(f"the {len(more)} bytes from byte {len(sound)} are no block")


def test_code_that_no_result_follows_is_told(written: Written) -> None:
    code = sized(number(1, 1) + number(5, 8)) + sized(b"code")
    assert not read_container(written(HEADER + code + block(1, sized(b"r")))).ends_in_code
    assert read_container(written(HEADER + block(1, sized(b"r")) + code)).ends_in_code
    assert not read_container(written(HEADER + code + b"abc")).ends_in_code  # the damage is told


def test_more_results_than_bytes_are_not_believed(written: Written) -> None:
    container = read_container(written(HEADER + block(2**40, b"1234")))
    assert (container.announced, container.complete) == (0, 0)
    assert container.damage is not None
    assert "announces" in container.damage.message


@pytest.mark.parametrize("name", ["ladder-full", "cupy-nvtx"])
def test_golden_reports_are_intact(name: str, golden: Callable[[str], Path]) -> None:
    container = read_container(golden(f"{name}.ncu-rep"))
    results, process = {"ladder-full": (12, "ladder (1023)"), "cupy-nvtx": (3, "python3.12 (2195)")}[name]
    assert (container.version, container.announced, container.complete, container.damage) == (7, results, results, None)
    assert {one.label for one in container.processes if one} == {process}
    assert container.session.versions["Nsight Compute Target"].startswith("2025.3.1.0")
    assert container.session.versions["CUDA Version"] == "13.0"
    assert "--clock-control none" in container.session.command


@given(noise=st.binary(max_size=200), at=st.integers(0, 120))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)  # shared machines stall
def test_no_bytes_raise_anything_but_input_error(noise: bytes, at: int, written: Written) -> None:
    sound = HEADER + block(1, sized(b"r" * 5), PROCESS) + block(0, b"", SESSION)
    content = sound[:at] + noise + sound[at + len(noise) :]
    try:
        container = read_container(written(content))
    except InputError:
        return
    assert 0 <= container.complete <= container.announced <= len(content)


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)  # shared machines stall
def test_every_cut_is_noticed(data: st.DataObject, written: Written) -> None:
    blocks = [block(1, sized(b"r" * size), PROCESS) for size in (3, 30, 300)]
    whole = HEADER + b"".join(blocks)
    ends = [len(HEADER), *(len(HEADER) + sum(map(len, blocks[: n + 1])) for n in range(3))]
    cut = data.draw(st.integers(len(HEADER), len(whole) - 1))
    container = read_container(written(whole[:cut]))
    assert container.complete == sum(end <= cut for end in ends[1:])
    # A cut between blocks leaves a shorter, sound file: only ncu itself could tell.
    assert (container.damage is None) == (cut in ends)
