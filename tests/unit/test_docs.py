"""Everything a user can type or read off is documented, and the generated pages are up to date."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from ncu_lab.collect.causes import CAUSES
from ncu_lab.metrics import CATALOGUE

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_command_and_option_says_what_it_does(generate: ModuleType) -> None:
    for name, command in generate.with_groups():
        assert command.help, f"the function of command {name} has no docstring"
        for spelling, meaning in generate.documented(command, name):
            assert meaning.partition("[")[0].strip(), f"{name} {spelling} has no help"


def test_the_list_of_commands_cuts_no_sentence(generate: ModuleType) -> None:
    command = [sys.executable, "-m", "ncu_lab.cli.app", "--help"]
    printed = subprocess.run(command, env={**os.environ, "COLUMNS": "80"}, capture_output=True, text=True, check=True)
    listed = printed.stdout.partition("\nCommands:\n")[2].splitlines()
    assert [line.split()[0] for line in listed] == list(generate.commands())
    assert [line for line in listed if not line.endswith(".") or line.endswith("...")] == []


def test_every_command_is_in_the_reference(generate: ModuleType) -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    missing = [name for name, _ in generate.with_groups() if f"## {name}\n" not in page]
    assert missing == [], "run: python docs/generate.py"


def test_every_metric_is_in_the_reference() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert [metric.key for metric in CATALOGUE if f"| `{metric.key}` |" not in page] == []


def test_generated_pages_are_up_to_date(generate: ModuleType) -> None:
    for name, page in generate.GENERATED.items():
        assert (ROOT / "docs" / name).read_text(encoding="utf-8") == page(), "run: python docs/generate.py"


def test_every_cause_of_failure_is_in_the_reference() -> None:
    page = (ROOT / "docs" / "failures.md").read_text(encoding="utf-8")
    assert [code for code in CAUSES if f"| `{code}` |" not in page] == []


def test_only_marked_output_is_renewed(generate: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generate, "printed", lambda arguments: f"output of {' '.join(arguments)}\n")
    page = (
        "kept\n<!-- $ ncu-lab stages --format markdown -->\nold\n<!-- end -->\nkept too\n"
        "<!-- $ ncu-lab ladder --example -->\n<!-- end -->\n"
    )
    assert generate.with_output(page) == (
        "kept\n"
        "<!-- $ ncu-lab stages --format markdown -->\n\noutput of stages --format markdown\n\n<!-- end -->\n"
        "kept too\n"
        "<!-- $ ncu-lab ladder --example -->\n\n```text\noutput of ladder --example\n```\n\n<!-- end -->\n"
    )


@pytest.mark.git
def test_commands_can_stand_in_the_repository_of_known_history(generate: ModuleType) -> None:
    page = generate.with_output("<!-- gram$ ncu-lab history --stage gram --format csv -->\n<!-- end -->\n")
    assert page.count("\nd600eba") == 1
    assert page.count(",build_failed,") == 1


def test_a_difference_is_shown_and_written_away(
    generate: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text("old\n")
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    monkeypatch.setattr(generate, "pages", lambda: iter([(page, "new\n")]))
    monkeypatch.setattr(generate, "renew_figures", lambda check: 0)
    assert generate.main(check=True) == 1
    assert "-old\n+new\n" in capsys.readouterr().out
    assert page.read_text() == "old\n"
    assert generate.main(check=False) == 0
    assert page.read_text() == "new\n"
    assert generate.main(check=True) == 0
