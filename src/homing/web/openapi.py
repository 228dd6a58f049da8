"""The OpenAPI document, made of the contract's table and of the requests and answers that are used.

Run as a program it prints the document, from which the page's build generates its types (ADR 0034).
"""

import json
import sys
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from homing import __version__
from homing.model.contract import OPERATIONS, SECOND_ADDRESSES, STREAMS, Json, public
from homing.operations.binding import BoundOperation, bind
from homing.operations.shapes.base import Listing, PageAsk
from homing.web import custom_endpoints
from homing.web.callers import KEY
from homing.web.problems import CODES, MEDIA, Problem
from homing.web.waiting import AnsweredShape

_DESCRIPTION = "AI agents that come back by themselves: sessions, jobs, runs, deliveries, and both live streams."
_PROBLEM = Problem.__name__
_REF = "#/components/schemas/{model}"
_SENTENCES = {
    400: "The request cannot be read.",
    401: "Nobody is signed in.",
    403: "Not allowed: the role, the Host or the Origin.",
    404: "There is no such thing, or it is not yours.",
    409: "The current state does not allow it.",
    413: "The body is larger than 1 MB, or the file larger than 25 MB.",
    422: "A field is not valid.",
    429: "Too many requests; Retry-After says when to try again.",
    500: "A bug in Homing; the log has it under the request_id.",
    503: "The database does not answer.",
}
_KEY_HEADER: Json = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Done once in 24 hours for each key; a repeat gets the first answer.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 256},
}
_STREAM_PARAMETERS: Mapping[str, list[Json]] = {
    "watch_session": [
        {"name": "key", "in": "path", "required": True, "schema": {"type": "string"}},
        {
            "name": "after",
            "in": "query",
            "required": False,
            "schema": {"type": "string", "pattern": r"^\d{1,15}(\.\d{1,15})?$"},
        },
        {"name": "Last-Event-ID", "in": "header", "schema": {"type": "string"}},
    ],
    "watch_events": [],
}
# What signing out gives up stands in the cookie, and what a hook's caller sends is theirs.
_OTHER_BODIES: Mapping[str, Json | None] = {
    "sign_out": None,
    "add_file": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {"file": {"type": "string", "format": "binary"}},
                    "required": ["file"],
                    "additionalProperties": False,
                }
            }
        },
    },
    "call_hook": {"content": {"application/json": {"schema": {}}, "text/plain": {"schema": {"type": "string"}}}},
}

_TEXTS = ("session_key", "user_name", "agent_name", "timezone", "exported_at")
# What is given as bytes: a file is of any type, an export of one of two.
_OTHER_ANSWERS: Mapping[str, Json] = {
    "get_file": {"*/*": {"schema": {"type": "string", "format": "binary"}}},
    "export_session": {
        "text/markdown": {"schema": {"type": "string"}},
        "application/json": {
            "schema": {
                "type": "object",
                "properties": {
                    **{name: {"type": "string"} for name in _TEXTS},
                    "title": {"type": ["string", "null"]},
                    "messages": {"type": "array", "items": {"$ref": _REF.format(model="MessageShape")}},
                },
                "required": [*_TEXTS, "title", "messages"],
            }
        },
    },
}


def document() -> Json:
    """Make the document of this version."""
    operations = [bind(row) for row in (*OPERATIONS, *SECOND_ADDRESSES)]
    answers: list[type[BaseModel]] = [Problem, AnsweredShape, *(operation.answer for operation in operations)]
    refs, found = models_json_schema([(one, "serialization") for one in answers], ref_template=_REF)
    schemas: Json = found["$defs"]
    paths: dict[str, Json] = {}
    for operation in operations:
        described = _operation(operation, schemas)
        good = dict.fromkeys(operation.row.also, AnsweredShape if operation.row.query else operation.answer)
        for status, answer in ({operation.row.status: operation.answer} | good).items():
            told = operation.row.also.get(status, "Successful Response")
            content = _OTHER_ANSWERS.get(operation.row.name) or {
                "application/json": {"schema": refs[answer, "serialization"]}
            }
            described["responses"][str(status)] = {"description": told, "content": content}
        paths.setdefault(operation.row.public_path, {})[operation.row.method.lower()] = described
    for name, path in STREAMS.items():
        paths[public(path)] = {"get": _stream(name)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Homing", "description": _DESCRIPTION, "version": __version__},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": {f"{_PROBLEM}{status}": _problem(status) for status in _SENTENCES},
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "cookie": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": "homing_4664",
                    "description": "The page's; by port.",
                },
                "key": {"type": "apiKey", "in": "header", "name": KEY, "description": "The page's, from sign_in."},
            },
        },
        "security": [{"token": []}, {"cookie": [], "key": []}],
    }


def _operation(operation: BoundOperation, schemas: Json) -> Json:
    """Describe an operation at its address: all but its good answers."""
    row = operation.row
    described: Json = {
        "tags": [row.tag],
        "summary": operation.summary,
        "operationId": row.address or row.name,
        "responses": _refusals(row.method, body=row.has_body, outside=row.kind == "bytes"),
    }
    if row.who == "anyone":
        described["security"] = []
    if row.name in _OTHER_BODIES and _OTHER_BODIES[row.name] is None:
        return described
    schema, inner = _schema_of(operation.request)
    fields: Mapping[str, Json] = schema.get("properties", {})
    required = set(schema.get("required", ()))
    in_path = set(row.in_path.values())
    queried = [name for name in fields if name not in in_path and (name in row.query or not row.has_body)]
    parameters = [_parameter(name, "path", fields[one], required=True) for name, one in row.in_path.items()]
    for name in queried:
        default = {"default": row.defaults[name]} if name in row.defaults else {}
        parameters.append(_parameter(name, "query", fields[name] | default, required=name in required))
    if issubclass(operation.answer, Listing) and not row.has_body:
        page = _schema_of(PageAsk)[0]["properties"]
        parameters += [_parameter(name, "query", one, required=False) for name, one in page.items()]
    if row.method == "POST":
        parameters.append(_KEY_HEADER)
    described["parameters"] = parameters
    body = {name: one for name, one in fields.items() if name not in in_path and name not in queried}
    if row.name in _OTHER_BODIES:
        described["requestBody"] = _OTHER_BODIES[row.name]
    elif body:
        needed = sorted(required & body.keys(), key=list(body).index)
        whole = schema | {"properties": body, "required": needed}
        schemas |= inner | {schema["title"]: whole if needed else {k: v for k, v in whole.items() if k != "required"}}
        content = {"application/json": {"schema": {"$ref": _REF.format(model=schema["title"])}}}
        described["requestBody"] = {"required": bool(needed), "content": content}
    return described


def _stream(name: str) -> Json:
    good = {"description": "Successful Response", "content": {custom_endpoints.EVENTS: {"schema": {"type": "string"}}}}
    return {
        "tags": ["streams"],
        "summary": getattr(custom_endpoints, name).__doc__,
        "operationId": name,
        "parameters": _STREAM_PARAMETERS[name],
        "responses": _refusals("GET", body=False) | {"200": good},
    }


def _refusals(method: str, *, body: bool, outside: bool = False) -> Json:
    """Name every problem that an address can answer with."""
    absent = {409} if method == "GET" and not outside else set[int]()
    absent |= set() if body else {413}
    return {
        str(status): {"$ref": f"#/components/responses/{_PROBLEM}{status}", "description": HTTPStatus(status).phrase}
        for status in _SENTENCES
        if status not in absent
    }


def _problem(status: int) -> Json:
    ref = {"$ref": _REF.format(model=_PROBLEM)}
    codes = {"properties": {"code": {"enum": list(CODES[status])}}}
    return {"description": _SENTENCES[status], "content": {MEDIA: {"schema": {"allOf": [ref, codes]}}}}


def _parameter(name: str, where: str, schema: Json, *, required: bool) -> Json:
    return {"name": name, "in": where, "required": required, "schema": _plain(schema)}


def _plain(schema: Json) -> Json:
    """A query has no null: to mean nothing, leave the word out."""
    kinds = [kind for kind in schema.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) != 1:
        return schema
    return kinds[0] | {name: value for name, value in schema.items() if name not in ("anyOf", "default")}


def _schema_of(request: type[BaseModel]) -> tuple[Json, Json]:
    schema: dict[str, Any] = request.model_json_schema(ref_template=_REF)
    return schema, schema.pop("$defs", {})


if __name__ == "__main__":
    json.dump(document(), sys.stdout, indent=2, sort_keys=True)
    sys.stdout.write("\n")
