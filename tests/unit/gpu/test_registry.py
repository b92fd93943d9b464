from __future__ import annotations

from pathlib import Path

import pytest

from ncu_lab.errors import InputError, UsageError
from ncu_lab.gpu.registry import find_stage, load_stages

GOOD = """
[[stage]]
id = "one"
title = "one"
change = "Everything."
bottleneck = "none"
dtype = "fp32"
file = "one.cu"
entry = "one"
block = [32, 8, 1]
tile = { BM = 32, BN = 16 }
grid = ["m", "n"]
reference = "library"

[[stage]]
id = "library"
title = "library"
change = "The library."
bottleneck = "none"
dtype = "fp32"
library_math = "pedantic"
kernel_pattern = "simt|ffma"
"""


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    (tmp_path / "one.cu").write_text("// a kernel\n")
    path = tmp_path / "stages.toml"
    path.write_text(GOOD)
    return path


def test_reads_stages_in_order_with_tuples(registry: Path) -> None:
    stages = load_stages(registry)
    assert list(stages) == ["one", "library"]
    one = stages["one"]
    assert one.block == (32, 8, 1)
    assert one.grid == ("m", "n")
    assert one.multiples == (1, 1, 1)
    assert not one.is_reference
    assert stages["library"].is_reference


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "one"', 'titel = "one"', '"title" is missing'),
        ('entry = "one"', 'entry = "one"\nentri = "x"', 'unknown key "entri"'),
        ('file = "one.cu"', 'file = "two.cu"', "does not exist"),
        ('file = "one.cu"', "", "needs file and entry"),
        ('entry = "one"', 'entry = "one"\nsecond_file = "two.cu"', "two.cu does not exist"),
        ('entry = "one"', 'entry = "one"\nsecond_level = 4', "second_level must be 0 to 3"),
        ('reference = "library"', 'reference = "nobody"', 'its reference "nobody" is not registered'),
        ('reference = "library"', 'reference = "one"', "no library reference"),
        ('reference = "library"', 'predecessor = "nobody"', 'its predecessor "nobody" is not registered'),
        ('reference = "library"', 'predecessor = "one"', "its own predecessor"),
        ('id = "library"', 'id = "one"', "registered twice"),
        ('id = "one"', 'id = "One Two"', "an id is made of"),
        ('dtype = "fp32"\nfile', 'dtype = "fp8"\nfile', "dtype = 'fp8' is unknown"),
        ("block = [32, 8, 1]", "block = [32, 8]", "block must be a list of 3"),
        ("block = [32, 8, 1]", "block = [32, 64, 1]", "exceeds CUDA's limit"),
        ("block = [32, 8, 1]", "block = [32, 0, 1]", "at least 1"),
        ('grid = ["m", "n"]', 'grid = ["m", "m"]', "grid must be"),
        ("tile = { BM = 32, BN = 16 }", "tile = { BM = 32 }", "needs BM and BN"),
        ("tile = { BM = 32, BN = 16 }", "tile = { BM = 32, BN = true }", "positive integers"),
        ('grid = ["m", "n"]', "min_cc = true", "min_cc must be of type int"),
        ('grid = ["m", "n"]', "multiples = [32, 32, 8]", "some shapes have no path"),
        ('grid = ["m", "n"]', 'plan = "clustered"', "some shapes have no path"),
        ('grid = ["m", "n"]', 'plan = "somehow"', "plan = 'somehow' is unknown"),
        ('grid = ["m", "n"]', 'fallback = "nobody"', 'its fallback "nobody" has no guarded path'),
        ('grid = ["m", "n"]', 'fallback = "one"\nhas_guarded = true', "exclude each other"),
        ('grid = ["m", "n"]', 'aligned = ["A", "D"]', "aligned must be a list of names"),
        ('grid = ["m", "n"]', 'auxiliary = "reduce"', "auxiliary must be a list of names"),
        ('kernel_pattern = "simt|ffma"', 'kernel_pattern = "("', "no regular expression"),
        ('kernel_pattern = "simt|ffma"', "", "needs a kernel_pattern"),
    ],
)
def test_names_file_stage_and_fault(registry: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    registry.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        load_stages(registry)
    assert message in caught.value.message
    assert str(registry) in caught.value.message


@pytest.mark.parametrize("text", ["", "stage = 3", "not toml [", "\x80"])
def test_refuses_what_is_no_registry(tmp_path: Path, text: str) -> None:
    path = tmp_path / "stages.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match="stages"):
        load_stages(path)


def test_missing_registry(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        load_stages(tmp_path / "stages.toml")


def test_unknown_stage_suggests_the_nearest(registry: Path) -> None:
    stages = load_stages(registry)
    assert find_stage(stages, "one").id == "one"
    with pytest.raises(UsageError) as caught:
        find_stage(stages, "ones")
    assert caught.value.message == 'there is no stage "ones". Did you mean one? (ncu-lab stages lists all)'
    with pytest.raises(UsageError, match=r'no stage "xyz"\. \(ncu-lab'):
        find_stage(stages, "xyz")


def test_bundled_registry_is_sound() -> None:
    stages = load_stages()
    for id in ("naive", "coalesced", "smem", "smem-conflict", "smem-padded", "1d", "2d", "vectorized"):
        assert not stages[id].is_reference
    assert {stage.library_math for stage in stages.values() if stage.is_reference} == {
        "pedantic",
        "tf32",
        "fp16",
        "bf16",
        "cutlass",
    }
