"""Units of Nsight Compute, in every spelling it has used, brought to base units.

Base units are byte, ns (a duration), s (below a fraction line), hz, and counts as they are. Scaling is SI throughout:
1 Kbyte is 1000 byte.
"""

from __future__ import annotations

from functools import lru_cache

_EXPONENTS = {"n": -9, "u": -6, "µ": -6, "μ": -6, "m": -3, "": 0, "K": 3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15}
_SCALABLE = {"s": "s", "second": "s", "byte": "byte", "bytes": "byte", "hz": "hz", "Hz": "hz"}


@lru_cache(maxsize=1024)
def base_unit(unit: str) -> tuple[str, float]:
    """Return the base unit of a unit and what a value must be multiplied with.

    Args:
        unit: As a report or an export spells it: ``Gbyte/s``, ``usecond``, ``sector/ns``, ``%``.

    Returns:
        Name of the base unit and the factor; a unit that has no prefix known here comes back as it is, with 1.
    """
    numerator, *denominators = unit.strip().split("/")
    name, exponent = _scaled(numerator)
    if name == "s":
        name, exponent = "ns", exponent + 9
    for denominator in denominators:
        below, down = _scaled(denominator)
        # ncu divides the value where it puts a prefix to a byte, on either side of the line: 5300 %/byte is printed as
        # 5.3 %/Kbyte. Times it converts as one would: 1 sector/ns is 1e9 sector/s.
        name, exponent = f"{name}/{below}", exponent + (down if below == "byte" else -down)
    # Older versions spell a frequency as what it is: cycles by time.
    return ("hz" if name == "cycle/s" else name), 10.0**exponent


def _scaled(unit: str) -> tuple[str, int]:
    """Split a simple unit into its base (``s`` for any time) and the power of ten of its prefix."""
    unit = unit.strip()
    for prefix, exponent in _EXPONENTS.items():
        if unit.startswith(prefix) and unit[len(prefix) :] in _SCALABLE:
            return _SCALABLE[unit[len(prefix) :]], exponent
    return unit, 0
