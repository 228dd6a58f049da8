"""An MCP server over streamable HTTP on loopback that answers as each test wants it to."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}


class HttpMcpServer:
    """`mode`: fine, sse, 401, redirect, packed, big, stays (does not answer at the end of a session)."""

    def __init__(self) -> None:
        self.mode = "fine"
        self.description = "Echo."
        self.ended = Event()
        self.seen: list[dict[str, str]] = []
        self.paths: list[str] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                server.seen.append({name.lower(): value for name, value in self.headers.items()})
                server.paths.append(self.path)
                server.answer(self, asked)

            def do_GET(self) -> None:
                self.send_error(405)

            def do_DELETE(self) -> None:
                if server.mode == "stays":
                    server.ended.wait(60)
                self.send_error(405)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port: int = self.http.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/mcp"

    def answer(self, request: BaseHTTPRequestHandler, asked: dict[str, Any]) -> None:
        if self.mode == "401":
            return _send(request, 401, b"", "text/plain")
        if self.mode == "redirect" and request.path == "/mcp":
            return _send(request, 307, b"", "text/plain", location="/elsewhere")
        if "id" not in asked:
            return _send(request, 202, b"", "text/plain")
        body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], **self._reply(asked)}).encode()
        if self.mode == "packed":
            return _send(request, 200, body, "application/json", content_encoding="gzip")
        if self.mode == "sse":
            return _send(request, 200, b"event: message\ndata: " + body + b"\n\n", "text/event-stream")
        headers = {"mcp-session-id": "one"} if self.mode == "stays" else {}
        return _send(request, 200, body, "application/json", **headers)

    def _reply(self, asked: dict[str, Any]) -> dict[str, Any]:
        if asked["method"] == "initialize":
            info = {"name": "http", "version": "1"}
            return {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}}
        if asked["method"] == "tools/list":
            return {"result": {"tools": [{"name": "echo", "description": self.description, "inputSchema": SCHEMA}]}}
        if asked["method"] == "tools/call":
            text = "x" * 20_000_000 if self.mode == "big" else f"echo: {asked['params']['arguments'].get('text')}"
            return {"result": {"content": [{"type": "text", "text": text}]}}
        return {"error": {"code": -32601, "message": "Method not found"}}


def _send(request: BaseHTTPRequestHandler, status: int, body: bytes, kind: str, **headers: str) -> None:
    request.send_response(status)
    for name, value in {"content-type": kind, "content-length": str(len(body)), **headers}.items():
        request.send_header(name.replace("_", "-"), value)
    request.end_headers()
    with suppress(ConnectionError):
        request.wfile.write(body)


@contextmanager
def http_mcp_server() -> Iterator[HttpMcpServer]:
    server = HttpMcpServer()
    thread = Thread(target=server.http.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.ended.set()
        server.http.shutdown()
        server.http.server_close()
        thread.join()
