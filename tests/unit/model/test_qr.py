"""QR codes hold nothing but dark and light squares, and fit where they are shown."""

import xml.etree.ElementTree as ET

from homing.model.qr import qr_lines, qr_svg

URL = "https://t.me/homing_bot?start=hm-abcdefghij234567"


def test_an_svg_has_two_paths_and_nothing_that_runs_or_loads() -> None:
    svg = ET.fromstring(qr_svg(URL))
    kinds = {element.tag.rpartition("}")[2] for element in svg.iter()}
    assert kinds == {"svg", "path"}
    assert {name for element in svg.iter() for name in element.attrib} == {"viewBox", "fill", "stroke", "d"}
    assert qr_svg(URL) != qr_svg(URL[:-1] + "2")


def test_on_a_terminal_it_is_drawn_only_where_it_fits() -> None:
    lines = qr_lines(URL, 80)
    assert {len(line) for line in lines} == {37}
    assert len(lines) == 19
    assert qr_lines(URL, 37) == lines
    assert qr_lines(URL, 36) == []
