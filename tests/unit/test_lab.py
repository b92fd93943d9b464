"""The set-up script: which pip it would fetch and from where, and when it has anything to do."""

from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module, its checkout moved to an empty folder."""
    path = Path(__file__).parents[2] / "lab"
    loader = importlib.machinery.SourceFileLoader("lab", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("lab", loader))
    loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "STAMP", tmp_path / ".venv" / "ncu-lab.json")
    monkeypatch.setattr(module, "PYTHON", tmp_path / ".venv" / "bin" / "python")
    for name in ("PIP_INDEX_URL", "PIP_CONFIG_FILE", "PIP_CERT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(module.PROGRAM_VARIABLE, "what ./lab itself sets")  # and set back to what it is after the test
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(tmp_path / "system"))
    return module


@pytest.fixture
def installs(lab: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a set-up does, in order, with venv and pip replaced."""
    done: list[str] = []

    def create() -> None:
        done.append("venv")
        lab.PYTHON.parent.mkdir(parents=True, exist_ok=True)
        lab.PYTHON.touch()

    (lab.ROOT / "pyproject.toml").write_text("[project]")
    monkeypatch.setattr(lab, "create_venv", create)
    monkeypatch.setattr(lab, "has_pip", lambda: lab.PYTHON.exists())
    monkeypatch.setattr(lab, "gpu_extras", set)
    monkeypatch.setattr(lab, "toolkit_extras", set)
    monkeypatch.setattr(lab, "install", lambda wanted: done.append(",".join(sorted(wanted))))
    return done


def test_the_index_is_pips_own(lab: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configured = [lab.index_url()]
    for file in (tmp_path / "system" / "pip" / "pip.conf", tmp_path / "config" / "pip" / "pip.conf"):
        file.parent.mkdir(parents=True)
        file.write_text(f"[global]\nindex-url = http://{file.parts[-3]}.test/simple/\n")
        configured.append(lab.index_url())
    monkeypatch.setenv("PIP_INDEX_URL", "http://environment.test/simple")
    configured.append(lab.index_url())
    assert configured == [
        "https://pypi.org/simple",
        "http://system.test/simple",
        "http://config.test/simple",
        "http://environment.test/simple",
    ]


def index_page(wheel: bytes, digest: str | None = None) -> str:
    digest = digest or hashlib.sha256(wheel).hexdigest()
    return f"""
        <a href="pip-9.0.1-py3-none-any.whl#sha256=00">old</a>
        <a href="pip-24.10-py3-none-any.whl#sha256={digest}" data-requires-python="&gt;=3.9">newest that runs</a>
        <a href="pip-24.2-py3-none-any.whl#sha256=00">older, though it sorts later as text</a>
        <a href="pip-99.0-py3-none-any.whl#sha256=00" data-requires-python="&gt;=3.99">for a later Python</a>
        <a href="pip-25.0b1-py3-none-any.whl#sha256=00">a beta</a>
        <a href="pip-26.0.tar.gz#sha256=00">sources</a>
    """


def test_the_newest_fitting_pip_is_fetched(lab: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = tmp_path / "simple" / "pip"
    index.mkdir(parents=True)
    (index / "page").write_text(index_page(b"wheel"))
    (index / "pip-24.10-py3-none-any.whl").write_bytes(b"wheel")
    (tmp_path / "into").mkdir()
    serve(monkeypatch, lab, index)
    wheel = lab.download_pip(tmp_path / "into")
    assert (wheel.name, wheel.read_bytes()) == ("pip-24.10-py3-none-any.whl", b"wheel")


def test_a_pip_with_another_hash_is_refused(lab: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = tmp_path / "simple" / "pip"
    index.mkdir(parents=True)
    (index / "page").write_text(index_page(b"wheel"))
    (index / "pip-24.10-py3-none-any.whl").write_bytes(b"tampered with")
    serve(monkeypatch, lab, index)
    with pytest.raises(lab.SetupError, match="SHA-256"):
        lab.download_pip(tmp_path)


def test_no_index_is_one_clear_line(lab: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:1/simple")
    with pytest.raises(lab.SetupError, match=r"pip could not be fetched.*\n  apt-get install python3-venv"):
        lab.download_pip(tmp_path)


def test_set_up_does_only_what_is_missing(lab: ModuleType, installs: list[str]) -> None:
    lab.set_up(develop=False)
    lab.set_up(develop=False)
    assert installs == ["venv", ""]
    lab.set_up(develop=True)
    lab.set_up(develop=False)
    lab.set_up(develop=True)
    assert installs == ["venv", "", "dev"]


@pytest.mark.parametrize(("compiler", "extras"), [("/usr/bin/g++", "dev,nvcc"), (None, "dev")])
def test_developers_get_nvcc_where_it_can_work(
    lab: ModuleType, installs: list[str], monkeypatch: pytest.MonkeyPatch, compiler: str | None, extras: str
) -> None:
    monkeypatch.setattr(lab, "toolkit_extras", lambda: {"nvcc"})
    monkeypatch.setattr(lab, "apt_install", lambda *packages: False)
    monkeypatch.setattr(lab.shutil, "which", lambda program: compiler)
    lab.set_up(develop=True)
    assert installs == ["venv", extras]


def test_a_changed_project_is_installed_anew_with_what_it_had(lab: ModuleType, installs: list[str]) -> None:
    lab.set_up(develop=True)
    (lab.ROOT / "pyproject.toml").write_text("[project] # changed")
    lab.set_up(develop=False)
    assert installs == ["venv", "dev", "dev"]


def test_an_interrupted_set_up_is_taken_up_again(
    lab: ModuleType, installs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(wanted: set[str]) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as interrupted:
        interrupted.setattr(lab, "install", stop)
        with pytest.raises(KeyboardInterrupt):
            lab.set_up(develop=False)
    assert not lab.STAMP.exists()
    lab.set_up(develop=False)
    assert installs == ["venv", ""]


def test_a_moved_checkout_gets_a_new_environment(lab: ModuleType, installs: list[str]) -> None:
    lab.set_up(develop=False)
    stamp = json.loads(lab.STAMP.read_text())
    lab.STAMP.write_text(json.dumps({**stamp, "root": "/elsewhere"}))
    lab.set_up(develop=False)
    assert installs == ["venv", "", "venv", ""]


@pytest.mark.parametrize(
    ("driver", "on_path", "extras"),
    [
        (None, (), set()),
        (12, (), {"cuda12"}),
        (13, ("nvcc", "cuobjdump"), {"cuda13"}),
        (13, ("nvcc",), {"cuda13", "sass"}),
        (13, (), {"cuda13", "nvcc", "libs", "sass"}),
    ],
)
def test_the_gpu_decides_the_extras(
    lab: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    driver: int | None,
    on_path: tuple[str, ...],
    extras: set[str],
) -> None:
    monkeypatch.setattr(lab, "cuda_driver_major", lambda: driver)
    monkeypatch.setattr(lab.shutil, "which", lambda tool, path: tool if tool in on_path else None)
    assert lab.gpu_extras() == extras


@pytest.mark.parametrize(
    ("doctor", "served", "commands"),
    [
        (0, True, ["doctor", "profile --stage 2d", "dashboard"]),
        (4, True, ["doctor", "ladder --example", "dashboard --example"]),
        (4, False, ["doctor", "ladder --example"]),
        (2, True, ["doctor"]),
    ],
)
def test_the_main_job_does_what_the_machine_can(
    lab: ModuleType, monkeypatch: pytest.MonkeyPatch, doctor: int, served: bool, commands: list[str]
) -> None:
    typed: list[str] = []

    def run(_: Path, *arguments: str) -> int:
        typed.append(" ".join(arguments))
        return doctor if arguments == ("doctor",) else 0

    monkeypatch.setattr(lab, "set_up", lambda develop: None)
    monkeypatch.setattr(lab, "run", run)
    monkeypatch.setattr(lab, "become", run)
    assert lab.main([] if served else ["--no-serve"]) == (doctor if doctor == 2 else 0)
    assert typed == commands


def serve(monkeypatch: pytest.MonkeyPatch, lab: ModuleType, folder: Path) -> None:
    """Let the index be a folder: its page is the file ``page`` there."""
    opened = lab.urllib.request.urlopen
    page = "http://index.test/simple/pip/"

    def from_folder(address: str, context: object) -> object:
        assert address.startswith(page)
        answer = opened((folder / (address.removeprefix(page) or "page")).as_uri())
        answer.url = address
        return answer

    monkeypatch.setenv("PIP_INDEX_URL", "http://index.test/simple")
    monkeypatch.setattr(lab.urllib.request, "urlopen", from_folder)


def test_commands_are_told_the_way_the_script_was_called(
    lab: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told: list[str] = []
    monkeypatch.setattr(lab, "set_up", lambda develop: None)
    monkeypatch.setattr(lab, "run", lambda *command: 2)
    monkeypatch.setattr(lab, "become", lambda *command: told.append(lab.os.environ[lab.PROGRAM_VARIABLE]))
    for called in ("./lab", "lab", "/check out/lab"):
        monkeypatch.setattr("sys.argv", [called, "stages"])
        lab.main(["stages"])
    assert told == ["./lab", "./lab", "'/check out/lab'"]
    monkeypatch.setattr("sys.argv", ["./lab"])
    assert lab.main([]) == 2
    assert "$ ./lab doctor" in capsys.readouterr().out


def test_tests_run_in_parallel_unless_the_arguments_say_otherwise(
    lab: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run: list[object] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lab, "TEST_PROGRAMS", {})
    monkeypatch.setattr(lab, "set_up", lambda develop: run.append(develop))
    monkeypatch.setattr(lab, "become", lambda *command: run.extend(command))
    lab.main(["test", "-n", "0", "-k", "ladder"])
    assert run[:4] == [True, lab.PYTHON, "-m", "pytest"]
    given = run[4:]
    assert given[:2] == ["-n", "auto"]
    assert given[-4:] == ["-n", "0", "-k", "ladder"]  # the last of an option counts


@pytest.mark.parametrize("open_end", [True, False])
def test_help_without_a_reader_or_room_is_no_traceback(open_end: bool) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    full = os.open("/dev/full", os.O_WRONLY)
    command = [sys.executable, Path(__file__).parents[2] / "lab", "--help"]
    done = subprocess.run(command, stdout=writing if open_end else full, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    os.close(full)
    if open_end:
        assert (done.returncode, done.stderr) == (0, "")
    else:
        assert done.returncode == 4
        assert len(done.stderr.splitlines()) == 1
