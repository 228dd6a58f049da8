"""Runs in a process of its own: a URL and its HTML come in on stdin; the length of the Markdown goes out on stdout,
then a line break and its beginning: a small page can become a very large text, whole links for short ones for example.

Pages are hostile: one with a hundred thousand attributes holds the interpreter's lock for seconds, and nobody knows
which one ends the process. Here that costs one page and not a worker. Imports nothing of Homing.
"""

import contextlib
import resource
import sys

from html_to_markdown import ConversionOptions, InlineDataMedia, PreprocessingOptions, convert

MEMORY_BYTES = 1 << 30


def main() -> None:
    seconds, characters = map(int, sys.argv[1:])
    for limit, most in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, MEMORY_BYTES)):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(limit, (most, most))
    url, _, html = sys.stdin.buffer.read().decode("utf-8", "replace").partition("\n")
    options = ConversionOptions(
        # Whole links: a model may follow only what it was shown.
        base_url=url,
        compact_tables=True,
        extract_metadata=False,
        inline_data_media=InlineDataMedia.ALT_TEXT_ONLY,
        # Nothing a browser shows is left out: what looks like a menu or a form may be what was asked for.
        preprocessing=PreprocessingOptions(preset="minimal", remove_navigation=False, remove_forms=False),
    )
    text = (convert(html, options).content or "").strip()
    sys.stdout.buffer.write(f"{len(text)}\n{text[:characters]}".encode("utf-8", "replace"))


if __name__ == "__main__":
    main()
