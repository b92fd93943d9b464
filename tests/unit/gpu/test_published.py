from __future__ import annotations

from pathlib import Path

import pytest

from ncu_lab.errors import InputError
from ncu_lab.gpu.published import load_published
from ncu_lab.gpu.registry import load_stages

HEAD = "stage,gpu,problem,quantity,value,unit,source,url,note\n"
NAIVE = "naive,A GPU,4096³,speed,100,GFLOP/s,A post,https://example.org/,\n"
COALESCED = "coalesced,A GPU,4096³,speed,650,GFLOP/s,A post,https://example.org/,with a note\n"
CUBLAS = "cublas-fp32,A GPU,4096³,speed,1000,GFLOP/s,A post,https://example.org/,\n"
UNKNOWN = "elsewhere,A GPU,4096³,speed,800,GFLOP/s,A post,https://example.org/,\n"
NO_STAGE = ",A GPU,4096³,speed,5,GFLOP/s,A post,https://example.org/,nothing here does that\n"


def load(folder: Path, text: str):
    (folder / "figures.csv").write_text(text, encoding="utf-8")
    return {figure.stage: figure for figure in load_published(load_stages(), folder)}


def test_ratios_are_within_the_source(tmp_path: Path) -> None:
    found = load(tmp_path, HEAD + NAIVE + COALESCED + CUBLAS + NO_STAGE)
    assert list(found) == ["naive", "coalesced", "cublas-fp32"]
    assert found["naive"].share_of_reference == pytest.approx(0.1)  # 100 / 1000
    assert found["naive"].step is None
    assert found["coalesced"].step == pytest.approx(6.5)  # 650 / 100
    assert found["coalesced"].note == "with a note"
    assert found["cublas-fp32"].share_of_reference is None


def test_a_stage_that_the_ladder_lacks_takes_the_only_reference(tmp_path: Path) -> None:
    other = CUBLAS.replace("cublas-fp32", "cublas-tf32")
    assert load(tmp_path, HEAD + UNKNOWN + CUBLAS)["elsewhere"].share_of_reference == pytest.approx(0.8)
    assert load(tmp_path, HEAD + UNKNOWN + CUBLAS + other)["elsewhere"].share_of_reference is None


def test_unlike_gpus_problems_and_sources_are_never_divided(tmp_path: Path) -> None:
    for old, new in (("A GPU", "Another"), ("4096³", "2048³"), ("A post", "A book")):
        found = load(tmp_path, HEAD + NAIVE + CUBLAS.replace(old, new))
        assert found["naive"].share_of_reference is None


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (NAIVE.replace("A post", ""), '"source" is missing'),
        (NAIVE.replace("https://example.org/", " "), '"url" is missing'),
        (NAIVE.replace("A GPU", ""), '"gpu" is missing'),
        (NAIVE.replace("100", ""), '"value" is missing'),
        (NAIVE.replace("100", "fast"), "value is no number"),
        (NAIVE.replace("100", "nan"), "value must be above 0"),
        (NAIVE.replace("100", "0"), "value must be above 0"),
        (NAIVE.replace("GFLOP/s", "GB/s"), "speed in GB/s is unknown"),
        ("naive,A GPU\n", "needs 9 fields"),
        (NAIVE.replace("\n", ",more\n"), "needs 9 fields"),
        (NAIVE + NAIVE, "two figures of naive"),
    ],
)
def test_no_figure_without_source_hardware_and_unit(tmp_path: Path, row: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path, HEAD + row)
    assert message in caught.value.message
    assert str(tmp_path / "figures.csv") in caught.value.message


@pytest.mark.parametrize("text", ["", "stage,value\nnaive,1\n"])
def test_other_columns_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="its columns must be"):
        load(tmp_path, text)


def test_no_folder_means_no_figures(tmp_path: Path) -> None:
    assert load_published(load_stages(), tmp_path / "nothing") == ()


def test_the_bundled_figures() -> None:
    figures = load_published(load_stages())
    assert all(figure.source and figure.gpu and figure.url.startswith("https://") for figure in figures)
    by_gpu = {(figure.gpu, figure.stage): figure for figure in figures}
    assert len(by_gpu) == len(figures) == 9 + 2 + 4
    best = by_gpu["NVIDIA RTX A6000", "warptiled"]
    assert best.share_of_reference == pytest.approx(21779.3 / 23249.6)  # the 93.7 % that the post ends with
    assert by_gpu["NVIDIA Tesla V100", "smem-padded"].step == pytest.approx(199.4 / 140.2)
    assert not any(figure.stage == "double-buffered" for figure in figures)  # no like-for-like figure exists
