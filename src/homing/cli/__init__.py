"""The back door: the operations as verbs, and `up`, `serve`, `work`.

Comes in: words of a person or a script. Goes out: tables for people, the API's JSON for programs, and an exit code:
0 done, 1 failed, 2 refused. Promises: commands that only ask import no agent, web or database library, start no second
scheduler, and never show a trace.
"""


def main() -> None:
    """Run the command line of this process."""
    import os
    import sys

    # Whatever we write is for this user only: conversations and secrets.
    os.umask(0o077)

    from homing.cli.main import run
    from homing.cli.shutdown import leave

    leave(run(sys.argv[1:]))
