"""Colours: every text reads on its ground, and every stall reason has a colour of its own."""

import pytest

from ncu_lab.metrics import STALL_ORDER
from ncu_lab.render.palette import DARK, LIGHT, contrast, stall_colour, stall_family, stall_label, text_on


def test_contrast_of_black_and_white_is_21():
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#777777") == pytest.approx(1.0)
    # A known value: #767676 is the lightest grey that reaches 4.5 on white.
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_every_text_reaches_4_5_to_1(theme):
    pairs = [
        (theme.text, theme.page), (theme.text, theme.card), (theme.text, theme.selection), (theme.text, theme.shade),
        (theme.muted, theme.page), (theme.muted, theme.card), (theme.muted, theme.selection),
        (theme.muted, theme.shade), (theme.accent, theme.card), (theme.better, theme.card),
        (theme.better, theme.selection), (theme.worse, theme.card), (theme.worse, theme.selection),
        (theme.worse, theme.shade), (theme.better, theme.better_tint), (theme.worse, theme.worse_tint),
        (theme.unsure, theme.unsure_tint),
    ]  # fmt: skip
    assert [(a, b, contrast(a, b)) for a, b in pairs if contrast(a, b) < 4.5] == []


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_words_in_bars_read_on_every_stall_colour(theme):
    for reason in STALL_ORDER:
        colour = stall_colour(reason, theme)
        assert contrast(text_on(colour), colour) >= 4.5, reason


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_no_two_reasons_share_a_colour(theme):
    assert len({stall_colour(reason, theme) for reason in STALL_ORDER}) == len(STALL_ORDER)


def test_a_reason_the_catalogue_does_not_know_is_grey_under_its_own_name():
    assert stall_colour("warp_nap", LIGHT) == stall_colour("misc", LIGHT)
    assert stall_label("warp_nap") == "warp nap"
    assert stall_family("warp_nap") == "other"


def test_tokens_become_custom_properties():
    css = LIGHT.css()
    assert "--page: #f6f8fa;" in css
    assert "--neutral-1: #3f4751;" in css
    assert "name" not in css
