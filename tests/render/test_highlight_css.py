"""The colours of code: for every token Pygments knows, in both themes, and readable."""

import re
from pathlib import Path

import pytest

CSS = re.sub(r"/\*.*?\*/", "", (Path(__file__).parents[2] / "static/css/highlight.css").read_text(), flags=re.DOTALL)
PALETTES = [
    dict(re.findall(r"(--hl-[a-z]+): (#[0-9a-f]{6});", block)) for block in CSS.split("}") if "--hl-back:" in block
]


def luminance(colour: str) -> float:
    """Relative luminance, 0 to 1, of `#rrggbb`."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", PALETTES, ids=["light", "system dark", "chosen dark"])
def test_every_colour_is_readable_on_its_background(palette: dict[str, str]) -> None:
    assert all(contrast(colour, palette["--hl-back"]) >= 4.5 for name, colour in palette.items() if name != "--hl-back")


def test_the_themes_have_the_same_colours_and_both_darks_are_one() -> None:
    light, system, chosen = PALETTES
    assert light.keys() == system.keys()
    assert system == chosen
    assert set(re.findall(r"var\((--hl-[a-z]+)\)", CSS)) == light.keys()


def test_no_rule_reaches_outside_code() -> None:
    selectors = [part.strip() for part in re.findall(r"(?:^|[{}])\s*([^{}@;]+)\{", CSS)]
    parts = [part.strip() for selector in selectors for part in re.split(r",(?![^(]*\))", selector)]
    assert len(parts) > 15
    assert all(re.match(r'(?::root\[data-theme="(?:dark|light)"\] )?\.hl(?: |$)', part) for part in parts)


def test_every_class_in_the_rules_is_one_of_pygments() -> None:
    from pygments.token import STANDARD_TYPES  # type: ignore[import-untyped]

    assert set(re.findall(r"\.([a-z][a-z0-9]*)", CSS)) - {"hl"} <= set(STANDARD_TYPES.values())
