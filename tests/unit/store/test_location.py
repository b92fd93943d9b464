from pathlib import Path

import pytest

from ncu_lab.errors import InputError
from ncu_lab.resources import data_dir
from ncu_lab.store import default_store


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "repo" / "sub"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("NCU_LAB_STORE", raising=False)
    return folder


def test_the_order(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = here.parent
    assert default_store() == here / "reports"
    (root / ".git").write_text("gitdir: elsewhere")  # a worktree
    assert default_store() == root / "reports"
    (root / "ncu-lab.toml").write_text('store = "runs"')
    assert default_store() == root / "runs"
    monkeypatch.setenv("NCU_LAB_STORE", "/elsewhere")
    assert default_store() == Path("/elsewhere")
    assert default_store(Path("given")) == Path("given")
    assert default_store(Path("given"), example=True) == data_dir("examples")


def test_a_project_file_need_not_say(here: Path) -> None:
    (here / "ncu-lab.toml").write_text("")
    assert default_store() == here / "reports"


@pytest.mark.parametrize(
    ("text", "says"), [("store = ", "is not valid TOML"), ("store = 3", "a path in quotes, not 3")]
)
def test_a_broken_project_file_is_named(text: str, says: str, here: Path) -> None:
    (here / "ncu-lab.toml").write_text(text)
    with pytest.raises(InputError, match=r"ncu-lab\.toml") as caught:
        default_store()
    assert says in caught.value.message
