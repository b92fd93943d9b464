from pathlib import Path

from ncu_lab.parse.csv_page import read_csv

SESSION = """Launch Settings
"Launch Attribute","Value"
"Profiler Command Line","ncu --clock-control none --set full ./a.out "

Session Info
"Session Attribute","Value"
"Created","2026-Feb-09 11:12:05"
"Host Name","one"
"Target Name","two"
"Target IP Addresses","192.0.2.2, fd00::2"
"Target OS","Linux - #1 SMP"
"CUDA Version","13.0"
"Display Driver Version","580.1"
"Nsight Compute Target","2025.3.1.0 (build 1) (public-release)"

Processes
"Process Id","Process Name"
"7","/tmp/a.out"

Device Attributes
"Device Attribute","Device 0","Device 1"
"display_name","NVIDIA H200","NVIDIA L4"
"multiprocessor_count","132","58"
"compute_capability_major","9","8"
"compute_capability_minor","0","9"
"total_memory","150109880320","23000000000"
"""


def test_session_page(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("==PROF== noise\n" + SESSION)
    read = read_csv(path)
    assert read.launches.empty
    assert read.device is not None
    assert (read.device.name, read.device.compute_capability, read.device.sm_count) == ("NVIDIA H200", (9, 0), 132)
    assert read.device.memory_bytes == 150109880320
    environment = read.environment
    assert (environment.ncu, environment.cuda, environment.driver) == ("2025.3.1", "13.0", "580.1")
    assert (environment.clock_control, environment.sections) == ("none", ("set:full",))
    session = read.session
    assert session is not None
    assert session.created == "2026-02-09T11:12:05+00:00"
    assert session.command == "ncu --clock-control none --set full ./a.out"
    assert (session.host, session.target) == ({"name": "one"}, {"os": "Linux", "os_version": "#1 SMP", "name": "two"})
    assert session.addresses == ("192.0.2.2", "fd00::2")
    assert session.processes == {"7": "/tmp/a.out"}
    codes = {notice.code: notice.message for notice in read.notices}
    assert set(codes) == {"session_page", "several_devices"}
    assert "NVIDIA H200 and NVIDIA L4" in codes["several_devices"]


def test_what_is_not_told_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('Session Info\n"Session Attribute","Value"\n"Created","soon"\n')
    read = read_csv(path)
    assert read.device is None
    assert read.session is not None
    assert (read.session.created, read.session.command) == (None, "")
    assert (read.environment.ncu, read.environment.clock_control) == (None, None)
