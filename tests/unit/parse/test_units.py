import pytest

from ncu_lab.parse.units import base_unit


@pytest.mark.parametrize(
    ("unit", "base", "factor"),
    [
        ("Kbyte", "byte", 1e3),
        ("Gbyte/s", "byte/s", 1e9),
        ("Tbyte/s", "byte/s", 1e12),
        ("us", "ns", 1e3),
        ("\u00b5s", "ns", 1e3),
        ("\u03bcs", "ns", 1e3),
        ("ms", "ns", 1e6),
        ("s", "ns", 1e9),
        ("Ghz", "hz", 1e9),
        ("Mhz", "hz", 1e6),
        ("sector/ns", "sector/s", 1e9),
        ("sector/us", "sector/s", 1e6),
        ("Kbyte/block", "byte/block", 1e3),
        ("Kbyte/cycle", "byte/cycle", 1e3),
        # older spellings
        ("nsecond", "ns", 1.0),
        ("usecond", "ns", 1e3),
        ("msecond", "ns", 1e6),
        ("byte/second", "byte/s", 1.0),
        ("Gbyte/second", "byte/s", 1e9),
        ("cycle/nsecond", "hz", 1e9),
        ("cycle/usecond", "hz", 1e6),
        ("cycle/second", "hz", 1.0),
        # ncu's own arithmetic (golden report: 5300 %/byte, printed as 5.3 %/Kbyte)
        ("%/Kbyte", "%/byte", 1e3),
    ],
)
def test_scaled_units_come_to_base_units(unit: str, base: str, factor: float) -> None:
    assert base_unit(unit) == (base, factor)


UNSCALED = (
    " % ns hz byte byte/s inst inst/cycle sector sectors cycle warp thread register/thread %/register block branches "
    "SM pass request sample cluster Mysteries"
)


@pytest.mark.parametrize("unit", UNSCALED.split(" "))
def test_others_stay_as_they_are(unit: str) -> None:
    assert base_unit(unit) == (unit, 1.0)
