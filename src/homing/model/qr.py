"""QR codes of links: as an SVG for the page, as text for a terminal."""

import io

_QUIET = 4
_QUIET_ON_TERMINAL = 2


def qr_svg(text: str) -> str:
    """Draw a text as an SVG without scripts, styles or outside references, dark on light."""
    drawn = io.BytesIO()
    _make(text).save(
        drawn,
        kind="svg",
        xmldecl=False,
        nl=False,
        omitsize=True,
        svgclass=None,
        lineclass=None,
        border=_QUIET,
        dark="#000",
        light="#fff",
    )
    return drawn.getvalue().decode()


def qr_lines(text: str, columns: int) -> list[str]:
    """Draw a text in block characters, two rows of modules per line; nothing where a terminal is too narrow."""
    code = _make(text)
    if code.symbol_size(border=_QUIET_ON_TERMINAL)[0] > columns:
        return []
    drawn = io.StringIO()
    code.terminal(drawn, compact=True, border=_QUIET_ON_TERMINAL)
    return drawn.getvalue().splitlines()


def _make(text: str):
    # Imported here: it takes 80 ms, and most processes never draw one.
    import segno  # noqa: PLC0415

    return segno.make(text, error="m", micro=False)
