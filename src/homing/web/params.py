"""Merges path, query and body parameters into one dict for validation."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from homing.model.errors import Invalid, Malformed
from homing.operations.binding import BoundOperation
from homing.operations.shapes.base import Listing, PageAsk, read

_OFFSET = re.compile(r"(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d(?::\d\d(?:\.\d+)?)?) (\d\d:?\d\d)")


def gathered(operation: BoundOperation, query: Iterable[tuple[str, str]], path: Mapping[str, str]) -> dict[str, Any]:
    """Gather what the path and the query say."""
    row = operation.row
    given: dict[str, Any] = dict(row.defaults)
    seen: set[str] = set()
    for name, value in query:
        if name in seen:
            raise Malformed(f"{name[:100]} is given twice in the query. Give it once.")
        seen.add(name)
        # A + that nobody encoded comes as a space; after an instant it can only have been one.
        given[name] = _OFFSET.sub(r"\1+\2", value) if _OFFSET.fullmatch(value) else value
    given = whole_list(operation, given)
    if row.has_body and (extra := given.keys() - row.defaults.keys() - set(row.query)):
        names = ", ".join(sorted(extra))[:200]
        raise Invalid(f"{names}: this stands in the body, not in the query.", field=names, code="unknown_field")
    if taken := given.keys() & set(row.in_path.values()):
        names = ", ".join(sorted(taken))
        raise Invalid(f"{names}: this stands in the path already.", field=names, code="unknown_field")
    return given | {field: path[name] for name, field in row.in_path.items()}


def only_of_body(operation: BoundOperation, body: dict[str, Any]) -> dict[str, Any]:
    """Give the body, unless it names what stands in the path or in the query."""
    for where, names in (("path", operation.row.in_path.values()), ("query", operation.row.query)):
        if taken := ", ".join(sorted(body.keys() & set(names))):
            raise Invalid(f"{taken}: this stands in the {where}, not in the body.", field=taken, code="read_only")
    return body


def whole_list(operation: BoundOperation, given: dict[str, Any]) -> dict[str, Any]:
    """A list that is given whole takes the same words as all lists: a limit changes nothing, and no cursor is its."""
    if not issubclass(operation.answer, Listing):
        return given
    page = read(PageAsk, {name: value for name, value in given.items() if name in PageAsk.model_fields})
    if page.cursor is not None:
        raise Malformed("This list has one page only. Ask without a cursor.", code="bad_cursor")
    return {name: value for name, value in given.items() if name not in PageAsk.model_fields}
