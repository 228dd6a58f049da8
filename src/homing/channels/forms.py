"""A file on its way to a platform that takes forms."""

import json
import secrets
from collections.abc import AsyncIterator, Mapping
from typing import Any

from homing.channels import File


class Form:
    """A file with its fields as a form, read while it is sent. Its length is known before."""

    def __init__(self, fields: Mapping[str, Any], field: str, file: File) -> None:
        boundary = secrets.token_hex(16)
        name = file.name.replace("\\", "_").replace('"', "%22")
        head = [
            f'--{boundary}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n'
            f"{value if isinstance(value, str) else json.dumps(value)}\r\n"
            for key, value in fields.items()
        ]
        head.append(
            f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"; filename="{name}"\r\n'
            f"Content-Type: {file.media_type}\r\n\r\n"
        )
        self._head, self._tail = "".join(head).encode(), f"\r\n--{boundary}--\r\n".encode()
        self._file = file
        self.headers = {
            "content-type": f"multipart/form-data; boundary={boundary}",
            "content-length": str(len(self._head) + file.size + len(self._tail)),
        }

    async def content(self) -> AsyncIterator[bytes]:
        """Give the form piece by piece."""
        yield self._head
        async for piece in self._file.read():
            yield piece
        yield self._tail
