"""What OpenAPI says of each address: taken from the same asks and answers that are used, so that it cannot drift."""

from collections.abc import Iterable, Mapping
from typing import Any

from homing.operations.shapes.base import Ask, Listing, PageAsk
from homing.web.callers import KEY
from homing.web.problems import CODES, MEDIA, Problem
from homing.web.routes import Route

Json = dict[str, Any]

_PROBLEM = Problem.__name__
OPEN_TO_ALL: Json = {"security": []}
_REF = "#/components/schemas/{model}"
_SENTENCES = {
    400: "The request cannot be read.",
    401: "Nobody is signed in.",
    403: "Not allowed: the role, the Host or the Origin.",
    404: "There is no such thing, or it is not yours.",
    409: "Something stands in the way.",
    413: "The body is larger than 1 MB.",
    422: "A field cannot be taken.",
    429: "Too many requests; Retry-After says when to come back.",
    500: "A bug of ours; the log has it under the request_id.",
    503: "The database does not answer.",
}
_KEY_HEADER: Json = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Done once in 24 hours for each key; a repeat gets the first answer.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 256},
}


def refusals(method: str, *, body: bool) -> dict[int | str, Json]:
    """Document every problem that an address can answer with."""
    statuses = [400, 401, 403, 404, 422, 429, 500, 503]
    if method != "GET":
        statuses.append(409)
    if body:
        statuses.append(413)
    return {status: {"$ref": f"#/components/responses/{_PROBLEM}{status}"} for status in sorted(statuses)}


def _problem(status: int) -> Json:
    ref = {"$ref": _REF.format(model=_PROBLEM)}
    codes = {"properties": {"code": {"enum": list(CODES[status])}}}
    return {"description": _SENTENCES[status], "content": {MEDIA: {"schema": {"allOf": [ref, codes]}}}}


def asked(route: Route) -> tuple[Json, Json]:
    """Describe what an address takes; return that and the schemas it refers to."""
    operation = route.operation
    schema, schemas = _schema_of(operation.ask)
    fields: Mapping[str, Json] = schema.get("properties", {})
    parameters = [_parameter(name, "path", fields[field], required=True) for name, field in route.named.items()]
    described: Json = {"parameters": parameters}
    if not route.has_body:
        for name, one in fields.items():
            if name not in route.named.values():
                default = {"default": route.defaults[name]} if name in route.defaults else {}
                parameters.append(_parameter(name, "query", one | default, required=name in schema.get("required", [])))
        if issubclass(operation.answer, Listing):
            parameters += _page_parameters()
    if route.method == "POST":
        parameters.append(_KEY_HEADER)
    if operation.body is not None:
        body, more = _schema_of(operation.body)
        name = operation.body.__name__
        schemas |= more | {name: body}
        content = {"application/json": {"schema": {"$ref": _REF.format(model=name)}}}
        described["requestBody"] = {"required": bool(body.get("required")), "content": content}
    return described, schemas


def _page_parameters() -> list[Json]:
    """Describe the words that all lists take."""
    schema, _ = _schema_of(PageAsk)
    return [_parameter(name, "query", one, required=False) for name, one in schema["properties"].items()]


def _parameter(name: str, where: str, schema: Json, *, required: bool) -> Json:
    return {"name": name, "in": where, "required": required, "schema": _plain(schema)}


def _plain(schema: Json) -> Json:
    """A query has no null: whoever means nothing leaves the word out."""
    kinds = [kind for kind in schema.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) != 1:
        return schema
    return kinds[0] | {name: value for name, value in schema.items() if name not in ("anyOf", "default")}


def _schema_of(ask: type[Ask]) -> tuple[Json, Json]:
    schema = ask.model_json_schema(ref_template=_REF)
    return schema, schema.pop("$defs", {})


def whole(document: Json, schemas: Iterable[Json]) -> Json:
    """Complete the document: schemas of asks, how to prove oneself, where neither is needed."""
    parts = document.setdefault("components", {})
    known = parts.setdefault("schemas", {})
    for more in schemas:
        known.update(more)
    problem = Problem.model_json_schema(ref_template=_REF)
    known.update(problem.pop("$defs", {}))
    known[_PROBLEM] = problem
    parts["responses"] = {f"{_PROBLEM}{status}": _problem(status) for status in _SENTENCES}
    parts["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer"},
        "cookie": {"type": "apiKey", "in": "cookie", "name": "homing_4664", "description": "The page's; by port."},
        "key": {"type": "apiKey", "in": "header", "name": KEY, "description": "The page's, from sign_in."},
    }
    document["security"] = [{"token": []}, {"cookie": [], "key": []}]
    return document
