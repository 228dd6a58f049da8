"""Runs inside the sandbox: a port on loopback whose connections go to the proxy's socket. Then runs the program.

Given to a python3 as text, with the socket's path and the program's command; imports nothing that is slow.
"""

import os
import select
import socket
import sys

CHUNK = 65536
# More than the proxy serves: it refuses with a sentence, and this with nothing.
MOST = 64


def main() -> None:
    path, *argv = sys.argv[1:]
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    # Two forks: the forwarder is nobody's child but pid 1's, so that the program meets no child that it did not start.
    middle = os.fork()
    if middle == 0:
        if os.fork() == 0:
            for stream in (0, 1, 2):
                os.close(stream)
            forward(listener, path)
        os._exit(0)
    os.waitpid(middle, 0)
    listener.close()
    proxies = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), url)
    try:
        os.execvpe(argv[0], argv, {**os.environ, **proxies})  # noqa: S606 - what this script is for
    except OSError as error:
        sys.stderr.write(f"{argv[0]}: {error.strerror}\n")
        os._exit(127)


Way = tuple[socket.socket, socket.socket]


def forward(listener: socket.socket, path: str) -> None:
    """Carry bytes both ways between each connection and the proxy, until killed."""
    listener.setblocking(False)
    # What was read from the first socket of a way and is still to be written to the second.
    held: dict[Way, bytes] = {}
    while True:
        sources = {source: (source, sink) for (source, sink), data in held.items() if not data}
        sinks = {sink: (source, sink) for (source, sink), data in held.items() if data}
        readable, writable, _ = select.select([listener, *sources], [*sinks], [])
        if listener in readable:
            readable.remove(listener)
            inside = listener.accept()[0]
            if len(held) < 2 * MOST:
                held |= connect(inside, path)
            else:
                inside.close()
        for way in [*map(sources.__getitem__, readable), *map(sinks.__getitem__, writable)]:
            if way in held:
                carry(way, held)


def connect(inside: socket.socket, path: str) -> dict[Way, bytes]:
    outside = socket.socket(socket.AF_UNIX)
    outside.connect(path)
    for end in (inside, outside):
        end.setblocking(False)
    return {(inside, outside): b"", (outside, inside): b""}


def carry(way: Way, held: dict[Way, bytes]) -> None:
    """Read if nothing is held, write what can be written; a way that has ended is forgotten."""
    source, sink = way
    back = (sink, source)
    try:
        held[way] = held[way] or source.recv(CHUNK)
        if held[way]:
            held[way] = held[way][sink.send(held[way]) :]
            return
        sink.shutdown(socket.SHUT_WR)
    except BlockingIOError:
        return
    except OSError:
        held.pop(back, None)
    del held[way]
    if back not in held:
        source.close()
        sink.close()


if __name__ == "__main__":
    main()
