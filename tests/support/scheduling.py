"""Keeps the tests of one file on one worker, in their order, where they share a server or a browser.

pytest-xdist's own `--dist loadgroup` does nothing with pytest 9.2: it marks a group by writing to `item._nodeid`, which
pytest no longer reads. The tests of a file were then spread over both workers, and what they found in the server that
they share depended on the spread.
"""

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

TOGETHER = (
    "tests/e2e/page/",
    "tests/faults/test_soak.py",
    "tests/faults/test_torture.py",
    "tests/servers/test_api_schema.py",
    "tests/servers/test_push.py",
)


def unit_of(nodeid: str) -> str:
    """Name what is handed to a worker as a whole: a file, or one test."""
    return nodeid.split("::", maxsplit=1)[0] if nodeid.startswith(TOGETHER) else nodeid


class _Together(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        """Forget what is done: xdist would count it again after each of thousands of tests."""
        super().mark_test_complete(node, item_index, duration)
        work = self.assigned_work[node]
        unit = unit_of(self.registered_collections[node][item_index])
        if all(work[unit].values()):
            del work[unit]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    return _Together(config, log)
