"""Lets all engines of a test process share what SQLAlchemy compiled.

Each test has a store of its own, so an engine of its own, whose cache of compiled statements is empty: tests spent much
of their time on writing the same SQL again. The key of such a cache holds the dialect, which each engine also has of
its own; here those of one class count as one, since all of them talk to the same kind and version of database.
"""

from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.util import LRUCache

_KEPT = 5000
_COMPILED: LRUCache[Any, Any] = LRUCache(_KEPT)


def pytest_configure() -> None:
    create = sa.create_engine

    def create_sharing(*given: Any, **options: Any) -> sa.Engine:
        engine = create(*given, **options)
        engine.update_execution_options(compiled_cache=_COMPILED)
        return engine

    patch = pytest.MonkeyPatch()
    patch.setattr(sa, "create_engine", create_sharing)
    patch.setattr(DefaultDialect, "__eq__", _is_alike)
    patch.setattr(DefaultDialect, "__hash__", _hash_of_class)


def _is_alike(one: DefaultDialect, other: object) -> bool:
    return type(one) is type(other)


def _hash_of_class(one: DefaultDialect) -> int:
    return hash(type(one))
