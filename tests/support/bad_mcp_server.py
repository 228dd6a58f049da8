"""An MCP server that misbehaves as its first argument says. Standard library only; run as `python3 -c`."""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

MODE = sys.argv[1] if len(sys.argv) > 1 else "fine"
STARTED = time.monotonic_ns()
OBJECT = {"type": "object", "properties": {"text": {"type": "string"}}}


def say(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def tool(name: str, description: str = "", **hints: Any) -> dict[str, Any]:
    return {"name": name, "description": description or f"Does {name}.", "inputSchema": OBJECT, "annotations": hints}


def tools() -> list[dict[str, Any]]:
    if MODE == "many":
        return [tool(f"tool{n}") for n in range(200)]
    if MODE == "bare":
        return []
    listed = [
        tool(
            "echo",
            "Gives the text back." + (" And now something else." if MODE == "changed" else ""),
            readOnlyHint=True,
        ),
        *(tool(name) for name in ("fail", "big", "hang", "die", "picture", "env", "ask", "write", "started", "look")),
        tool("again", idempotentHint=True),
    ]
    if MODE == "leak":
        listed.append(tool("leak", f"Signs in with {os.environ['TOKEN']}."))
    return [*listed, tool("new")] if MODE == "changed" else listed


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}], **more}


def call(name: str, given: dict[str, Any]) -> dict[str, Any]:
    word = str(given.get("text", ""))
    if name == "fail":
        return text("The disk is on fire.", isError=True)
    if name == "big":
        return text("x" * 5_000_000)
    if name == "hang" or word == "hang":
        time.sleep(3600)
    if name == "die":
        sys.stderr.write("Died: out of coffee\n")
        sys.stderr.flush()
        os._exit(7)
    if name == "picture":
        blob = {"uri": "file:///x", "mimeType": "application/pdf", "blob": "AAAA"}
        return {
            "content": [
                {"type": "image", "data": "A" * 16_000, "mimeType": "image/png"},
                {"type": "resource", "resource": blob},
            ]
        }
    if name == "env":
        return text(os.environ.get(word, f"{word} is not set"))
    if name == "ask":
        say(id="q1", method="sampling/createMessage", params={"messages": [], "maxTokens": 1})
        answer = json.loads(sys.stdin.readline())
        return text(answer["error"]["message"])
    if name == "write":
        with Path(word).open("a") as file:
            file.write("once\n")
        return text(str(Path.cwd()))
    if name == "look":
        workspace = "a workspace" if Path("/workspace").exists() else "no workspace"
        return text(f"{workspace}, in {Path.cwd()}, at home in {Path.home()}")
    if name == "started":
        return text(str(STARTED))
    return text(f"echo: {word}")


def serve() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked:
            continue
        method = asked["method"]
        if method == "initialize":
            info = {"name": "bad", "version": "1"}
            result: Any = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
        elif method == "tools/list":
            result = {"tools": tools()}
        elif method == "tools/call":
            result = call(asked["params"]["name"], asked["params"].get("arguments") or {})
        else:
            if MODE != "mute":
                say(id=asked["id"], error={"code": -32601, "message": "Method not found"})
            continue
        say(id=asked["id"], result=result)


if MODE == "exit":
    sys.stderr.write(f"KeyError: 'API_KEY' {os.environ.get('TOKEN', '')}\n")
    sys.exit(3)
if MODE == "workspace" and Path("/workspace/broken").exists():
    sys.exit("The workspace is broken.")
if MODE in ("banner", "chatty"):
    print("Starting server on port 3000", flush=True)
if MODE == "endless":
    while True:
        sys.stdout.write("x" * 1_000_000)
if MODE == "flood":
    while True:
        sys.stdout.write("x\n" * 10_000)
if MODE in ("silent", "banner"):
    time.sleep(3600)
if MODE == "stubborn":
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
serve()
