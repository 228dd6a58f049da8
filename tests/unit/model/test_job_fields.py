"""The table of a job's fields and the columns that hold them say the same."""

from datetime import datetime

import pytest
import sqlalchemy as sa

from homing.model.job_fields import FIELDS, JobField
from homing.store import tables

KINDS = {bool: sa.Boolean, int: sa.BigInteger, float: sa.Float, str: sa.Text, list: sa.JSON}


@pytest.mark.parametrize("row", FIELDS, ids=lambda row: row.name)
def test_every_field_has_its_column(row: JobField) -> None:
    column = tables.job.c[row.column]
    if row.kind is not datetime:
        assert isinstance(column.type, KINDS[row.kind])
    assert column.nullable or row.default is not None
    checks = [str(one.sqltext) for one in tables.job.constraints if isinstance(one, sa.CheckConstraint)]
    values = f"{row.column} in ({', '.join(map(repr, row.choices))})"
    assert (values in checks) == bool(row.choices and row.kind is str)


def test_a_name_means_one_field() -> None:
    names = [name for row in FIELDS for name in set(row.spellings)]
    assert len(names) == len(set(names))
