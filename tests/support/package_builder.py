"""A process that builds an environment and kills itself at one of its steps: `python -m support.package_builder …`.

Arguments: the share, the lock as JSON, the step by its number or kind (`os.rename:2`).
The last line of its output is the number of steps that it has made.
"""

import asyncio
import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path

from homing.model.packages import PackageLock
from homing.sandbox.packages import Packages
from homing.sandbox.share import Share

# What changes something on the disk, or starts a program that does.
STEPS = {"subprocess.Popen", "os.mkdir", "os.rename", "os.chmod", "os.utime", "os.remove", "os.rmdir", "shutil.rmtree"}


def main() -> None:
    share, lock, last = sys.argv[1:]
    made = 0
    of_kind = Counter[str]()

    def count(event: str, _: object) -> None:
        nonlocal made
        if event in STEPS:
            made += 1
            of_kind[event] += 1
            if last in (str(made), f"{event}:{of_kind[event]}"):
                os.kill(os.getpid(), signal.SIGKILL)

    packages = Packages(share=Share(folder=Path(share)))
    sys.addaudithook(count)
    asyncio.run(packages.build(PackageLock.read(json.loads(lock))))
    print(made)


if __name__ == "__main__":
    main()
