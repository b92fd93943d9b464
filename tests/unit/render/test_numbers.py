import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncu_lab.render import numbers

T = numbers.THIN


def plain(text: str) -> str:
    return numbers.plain_spaces(text)


@pytest.mark.parametrize(
    ("ns", "expected"),
    [
        (769_056.0, "769 µs"),
        (35_300_000.0, "35.3 ms"),
        (2_770_000.0, "2.77 ms"),
        (999_600.0, "1.00 ms"),  # rounding carries into the next prefix
        (1.0, "1.00 ns"),
        (0.25, "0.250 ns"),
        (0.0, "0 s"),
        (4.2e12, "4 200 s"),
        (None, "–"),
        (math.nan, "–"),
    ],
)
def test_durations_come_from_nanoseconds(ns, expected):
    assert plain(numbers.duration(ns)) == expected


def test_the_space_before_a_unit_is_thin():
    assert numbers.duration(769_000.0) == f"769{T}µs"
    assert numbers.percent(45.2) == f"45{T}%"


def test_four_digits_for_banners():
    assert plain(numbers.duration(768_512.0, 4)) == "768.5 µs"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.49e12, "490 GFLOP/s"),
        (22.36e12, "22.4 TFLOP/s"),
        (6.2e12, "6.20 TFLOP/s"),
        (999.5e9, "1.00 TFLOP/s"),
        (12.0, "12.0 FLOP/s"),
    ],
)
def test_flop_rates(value, expected):
    assert plain(numbers.flop_rate(value)) == expected


def test_other_units():
    assert plain(numbers.byte_count(8192.0)) == "8.19 kB"
    assert plain(numbers.byte_count(201_326_592.0)) == "201 MB"
    assert plain(numbers.byte_count(0.0)) == "0 B"
    assert plain(numbers.byte_rate(4.3e12)) == "4.30 TB/s"
    assert plain(numbers.frequency(1.98e9)) == "1.98 GHz"
    assert numbers.ratio(1.6634) == "1.66×"
    assert numbers.ratio(12.74) == "12.7×"
    assert numbers.ratio(None) == "–"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (130.0, "130"),
        (0.0, "0"),
        (7.76, "7.76"),
        (559_123.0, "559 k"),
        (2_460_000.0, "2.46 M"),
        (1000.0, "1.00 k"),
        (None, "–"),
    ],
)
def test_counts(value, expected):
    assert plain(numbers.count(value)) == expected


def test_whole_numbers_are_grouped_by_thin_spaces():
    assert numbers.integer(11_273_984) == f"11{T}273{T}984"
    assert numbers.integer(-1234) == f"−1{T}234"
    assert numbers.integer(None) == "–"


@pytest.mark.parametrize(
    ("value", "expected"),
    [(2.5, "2.50"), (16.5, "16.5"), (32.0, "32.0"), (4.849, "4.85"), (0.0624, "0.0624"), (12345.0, "12 345"), (0, "0")],
)
def test_three_significant_digits_keep_trailing_zeros(value, expected):
    assert plain(numbers.significant(value)) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (45.2, "45 %"),
        (9.94, "9.9 %"),
        (9.97, "10 %"),
        (2.0, "2.0 %"),
        (0.0, "0.0 %"),
        (0.02, "0.02 %"),
        (0.0004, "0.0004 %"),
        (99.5, "99.5 %"),
        (99.97, "99.97 %"),
        (99.4, "99 %"),
        (100.0, "100 %"),
        (-12.5, "−12 %"),
        (None, "–"),
    ],
)
def test_percent(value, expected):
    assert plain(numbers.percent(value)) == expected


def test_percent_in_tables_has_one_decimal():
    assert plain(numbers.percent(51.23, table=True)) == "51.2 %"
    assert plain(numbers.percent(99.97, table=True)) == "99.97 %"
    assert plain(numbers.share(0.512, table=True)) == "51.2 %"


def test_duration_spreads():
    assert plain(numbers.duration_spread(767_400.0, 1_200.0)) == "767 µs ± 1"
    assert plain(numbers.duration_spread(767_400.0, 300.0)) == "767 µs ± 0.3"
    assert plain(numbers.duration_spread(767_400.0, 0.0)) == "767 µs ± 0"
    assert plain(numbers.duration_spread(767_400.0, None)) == "767 µs"


def test_infinite_is_said():
    assert numbers.significant(math.inf) == "∞"
    assert numbers.ratio(-math.inf) == "−∞×"


def test_ascii_fallback():
    assert numbers.ascii_text(f"−1.5{T}µs · 2048³ ✓ ✗ – 1.66× ▼") == "-1.5 us | 2048^3 ok bad - 1.66x v"
    assert numbers.ascii_text("ключ") == "\\u043a\\u043b\\u044e\\u0447"


@given(st.floats(min_value=1e-9, max_value=1e20))
def test_a_prefixed_number_reads_back_within_half_a_digit(value):
    number, _, prefix = plain(numbers.si(value)).partition(" ")
    scale = {"": 1.0, "p": 1e-12, "n": 1e-9, "µ": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
    scale["E"] = 1e18
    assert float(number) * scale[prefix] == pytest.approx(value, rel=5.1e-3)
    assert 1.0 <= float(number) < 1000.0


@given(st.floats(min_value=-1e6, max_value=1e6))
def test_only_100_prints_as_100_and_only_0_as_0(value):
    text = plain(numbers.percent(value)).removesuffix(" %").lstrip("−").replace(" ", "")
    if abs(value) < 99.9999:
        assert float(text) != 100
    if abs(value) > 1e-6:
        assert float(text) != 0
