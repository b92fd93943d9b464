import pytest

from ncu_lab.parse.session import environment_from

VERSIONS = {"Nsight Compute Target": "2023.1.1.0 (build 1) (public-release)", "Display Driver Version": "550.90.07"}


def test_versions() -> None:
    environment = environment_from(VERSIONS, "")
    assert (environment.ncu, environment.driver, environment.cuda) == ("2023.1.1", "550.90.07", None)


@pytest.mark.parametrize(
    ("command", "clock", "cache"),
    [
        ("", None, None),  # not known: nothing is claimed
        ("ncu ./a", "base", "all"),  # what ncu does when it is not told
        ("ncu --clock-control none --cache-control=none ./a", "none", "none"),
    ],
)
def test_clock_and_cache_control(command: str, clock: str | None, cache: str | None) -> None:
    environment = environment_from({}, command)
    assert (environment.clock_control, environment.cache_control) == (clock, cache)


def test_sections_in_their_order() -> None:
    command = 'ncu --section SpeedOfLight --set full --section "Occupancy" --section-folder x ./a'
    assert environment_from({}, command).sections == ("set:full", "SpeedOfLight", "Occupancy")
