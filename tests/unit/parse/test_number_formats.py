import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncu_lab.errors import InputError
from ncu_lab.parse.numbers import Decimal, decimal_point, is_missing, parse_number

NUMBERS = st.floats(min_value=-1e15, max_value=1e15, allow_nan=False) | st.integers(-(10**15), 10**15)
LOCALES: list[tuple[Decimal, str]] = [(".", ","), (".", ""), (",", "."), (",", "")]


def printed(value: float, decimals: int, decimal: str, group: str) -> str:
    """Format as ncu does in a locale: fixed decimals, thousands separated or not."""
    text = f"{value:,.{decimals}f}"
    return text.translate({ord(","): group, ord("."): decimal})


def column(*cells: str) -> list[tuple[str, str]]:
    return [("m", cell) for cell in cells]


@given(NUMBERS, st.sampled_from([0, 2, 6]), st.sampled_from(LOCALES))
def test_what_ncu_prints_is_read_back(value: float, decimals: int, locale: tuple[Decimal, str]) -> None:
    decimal, group = locale
    read = parse_number(printed(value, decimals, decimal, group), decimal)
    assert read == pytest.approx(value, rel=1e-12, abs=0.51 * 10.0**-decimals)


@given(st.lists(st.tuples(NUMBERS, st.sampled_from([2, 6])), min_size=1), st.sampled_from(LOCALES))
def test_the_decimal_point_is_found_from_decimals(values: list[tuple[float, int]], locale: tuple[Decimal, str]) -> None:
    cells = [printed(value, decimals, *locale) for value, decimals in values]
    assert decimal_point(column(*cells, "NVIDIA H200", "n/a", "0"), "x.csv") == locale[0]


@given(st.text(max_size=20))
def test_any_text_is_a_finite_number_or_none(text: str) -> None:
    for decimal, _ in LOCALES:
        value = parse_number(text, decimal)
        assert value is None or math.isfinite(value)


@pytest.mark.parametrize(
    ("text", "decimal", "value"),
    [
        ("13,485", ".", 13485.0),
        ("13,485", ",", 13.485),
        ("27.595.520", ",", 27595520.0),
        ("65,77", ",", 65.77),
        ("2,002,644,742,137.64", ".", 2002644742137.64),
        ("4.87e+05", ".", 487000.0),
        ("-0.5", ".", -0.5),
        ("1 234 567,5", ",", 1234567.5),
        ("1\u202f234", ",", 1234.0),
        ("1'234.5", ".", 1234.5),
        ("550.90.07", ".", None),  # a version
        ("1,23,456", ".", None),
        ("0,123", ".", None),
        ("NVIDIA H200", ".", None),
        ("12 (3; 4)", ".", None),
        ("", ".", None),
        ("nan", ".", None),
        ("1e999", ".", None),
        ("\u0661\u0662", ".", None),  # digits of another script
    ],
)
def test_examples(text: str, decimal: Decimal, value: float | None) -> None:
    assert parse_number(text, decimal) == value


@pytest.mark.parametrize(
    "text", ["", " ", "-", "n/a", "N/A", "nan", "-nan", "-nan(ind)", "(!) nan", "(!) n/a", "no data"]
)
def test_missing(text: str) -> None:
    assert is_missing(text)


@pytest.mark.parametrize("text", ["0", "0.00", "none", "all", "-1"])
def test_not_missing(text: str) -> None:
    assert not is_missing(text)


def test_a_file_that_could_mean_either_is_refused() -> None:
    with pytest.raises(InputError, match=r'x\.csv: "13,485" \(duration\) may be a thousand or a fraction'):
        decimal_point([("count", "7"), ("duration", "13,485")], "x.csv")


def test_one_telling_cell_is_enough() -> None:
    assert decimal_point(column("13,485", "0.5"), "x.csv") == "."
    assert decimal_point(column("13.485", "1.234.567"), "x.csv") == ","
    assert decimal_point(column("13.485", "0.485"), "x.csv") == "."
    assert decimal_point(column("27.595.520", "65,77"), "x.csv") == ","


def test_averages_of_six_decimals_are_the_same_in_every_locale() -> None:
    # A German export of ncu 2025.3.1: the first is printed as in C, the others in the locale.
    assert decimal_point(column("5466.500000", "1.980.000", "1.221,05"), "x.csv") == ","
    assert parse_number("5466.500000", ",") == 5466.5
    assert parse_number("-0.018457", ",") == -0.018457
    assert parse_number("1.980.000", ",") == 1_980_000.0


def test_contradicting_cells_are_refused() -> None:
    with pytest.raises(InputError, match=r'mixes number formats: "65\.77" \(a\) and "65,77" \(b\)'):
        decimal_point([("a", "65.77"), ("b", "65,77")], "x.csv")


def test_whole_numbers_need_no_decision() -> None:
    assert decimal_point(column("1", "25591", ""), "x.csv") == "."
