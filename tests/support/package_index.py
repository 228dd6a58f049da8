"""A Python index and an npm registry on loopback, with tiny packages that a test makes."""

import base64
import hashlib
import io
import json
import tarfile
import threading
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

OLD = "2020-01-02T03:04:05Z"


class PackageIndex:
    """What the index has, and how it behaves."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.files: dict[str, bytes] = {}
        self.wheels: dict[str, list[dict[str, Any]]] = {}
        self.npm: dict[str, dict[str, Any]] = {}
        self.asked: list[str] = []
        # Answers to files wait for this.
        self.open = threading.Event()
        self.open.set()
        self.waiting = threading.Event()
        self.status = 200

    @property
    def host(self) -> dict[str, str]:
        """The environment of a host that is set up with this index."""
        return {
            "UV_DEFAULT_INDEX": f"{self.url}/simple",
            "UV_HTTP_RETRIES": "0",
            "npm_config_registry": f"{self.url}/npm/",
            "npm_config_fetch_retries": "0",
            "npm_config_userconfig": "/dev/null",
            "HOME": "/nonexistent",
        }

    def add_wheel(
        self,
        name: str,
        version: str = "1.0",
        *,
        files: Mapping[str, str | bytes] | None = None,
        requires: tuple[str, ...] = (),
        scripts: tuple[str, ...] = (),
        at: str | None = OLD,
        size: bool = True,
    ) -> None:
        """Put a wheel into the index; each of `scripts` is `name = module:function`."""
        info = f"{name}-{version}.dist-info"
        metadata = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}"]
        metadata += [f"Requires-Dist: {wanted}" for wanted in requires]
        inside: dict[str, str | bytes] = {
            f"{name}.py": f"version = {version!r}\ndef main():\n    print('{name} {version} runs')\n",
            **(files or {}),
            f"{info}/METADATA": "\n".join(metadata) + "\n",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        if scripts:
            inside[f"{info}/entry_points.txt"] = "[console_scripts]\n" + "\n".join(scripts) + "\n"
        inside[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in (*inside, f"{info}/RECORD"))
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as wheel:
            for path, content in inside.items():
                wheel.writestr(zipfile.ZipInfo(path), content, zipfile.ZIP_DEFLATED)
        self._add_file(name, f"{name}-{version}-py3-none-any.whl", packed.getvalue(), at=at, size=size)

    def add_sdist(self, name: str, version: str = "1.0") -> None:
        """Put a source distribution into the index, which would have to be built."""
        self._add_file(name, f"{name}-{version}.tar.gz", _tar({f"{name}-{version}/setup.py": "raise SystemExit(1)"}))

    def add_npm(
        self,
        name: str,
        version: str = "1.0.0",
        *,
        files: Mapping[str, str] | None = None,
        at: str | None = OLD,
        **more: Any,
    ) -> None:
        """Put a package into the registry; `more` stands in its package.json."""
        package = {"name": name, "version": version, "main": "index.js", **more}
        script = f"module.exports = '{name} {version}'\n"
        packed = _tar(
            {f"package/{path}": text for path, text in {"index.js": script, **(files or {})}.items()}
            | {"package/package.json": json.dumps(package)}
        )
        path = f"/npm/{name}/-/{name.rpartition('/')[2]}-{version}.tgz"
        self.files[path] = packed
        digest = base64.b64encode(hashlib.sha512(packed).digest()).decode()
        dist = {"tarball": f"{self.url}{path}", "integrity": f"sha512-{digest}", "unpackedSize": 1234}
        has_script = {"hasInstallScript": True} if "install" in more.get("scripts", {}) else {}
        story = self.npm.setdefault(name, {"name": name, "dist-tags": {}, "versions": {}, "time": {}})
        story["versions"][version] = {**package, **has_script, "dist": dist}
        story["dist-tags"]["latest"] = version
        if at is not None:
            story["time"][version] = at

    def yank(self, name: str, reason: str) -> None:
        for file in self.wheels[name]:
            file["yanked"] = reason

    def remove(self, name: str) -> None:
        self.wheels.pop(name, None)
        self.npm.pop(name, None)
        for path in [path for path in self.files if f"/{name}" in path]:
            del self.files[path]

    def _add_file(self, name: str, filename: str, data: bytes, *, at: str | None = OLD, size: bool = True) -> None:
        self.files[f"/files/{filename}"] = data
        entry: dict[str, Any] = {
            "filename": filename,
            "url": f"{self.url}/files/{filename}",
            "hashes": {"sha256": hashlib.sha256(data).hexdigest()},
            "yanked": False,
        }
        entry |= {"upload-time": at} if at else {}
        entry |= {"size": len(data)} if size else {}
        self.wheels.setdefault(name, []).append(entry)


@contextmanager
def serve_packages() -> Iterator[PackageIndex]:
    """Serve an empty index for as long as the block lasts."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    index = PackageIndex(f"http://127.0.0.1:{server.server_port}")
    server.index = index  # pyright: ignore[reportAttributeAccessIssue]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield index
    finally:
        index.open.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        index: PackageIndex = self.server.index  # pyright: ignore[reportAttributeAccessIssue]
        path = self.path.replace("%2f", "/").replace("%40", "@")
        index.asked.append(path)
        if index.status != 200:
            return self._answer(index.status, b"{}", "application/json")
        if path in index.files:
            if not index.open.is_set():
                index.waiting.set()
                index.open.wait(30)
            return self._answer(200, index.files[path], "application/octet-stream")
        name = path.strip("/").partition("/")[2]
        if path.startswith("/simple/") and name in index.wheels:
            story = {"meta": {"api-version": "1.1"}, "name": name, "files": index.wheels[name]}
            return self._answer(200, json.dumps(story).encode(), "application/vnd.pypi.simple.v1+json")
        if path.startswith("/npm/") and name in index.npm:
            return self._answer(200, json.dumps(index.npm[name]).encode(), "application/json")
        return self._answer(404, b"{}", "application/json")

    def do_HEAD(self) -> None:
        self._answer(405, b"", "text/plain")

    def _answer(self, status: int, body: bytes, kind: str) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except ConnectionError:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
        pass


def _tar(files: Mapping[str, str]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for path, text in files.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode, entry.mtime = len(text.encode()), 0o644, int(time.time())
            tar.addfile(entry, io.BytesIO(text.encode()))
    return packed.getvalue()
