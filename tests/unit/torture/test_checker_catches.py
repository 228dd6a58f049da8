"""Every guard broken once on purpose: the checker names each break. A checker that cannot fail proves nothing."""

import re
from pathlib import Path

import pytest

import torture.checks
from support.mutations import MUTATIONS, Mutation, spoil
from support.sandboxes import need_bubblewrap
from torture.checks import check
from torture.evidence import gather


@pytest.mark.parametrize("mutation", [pytest.param(m, id=m.name) for m in MUTATIONS])
def test_the_checker_names(house: Path, mutation: Mutation) -> None:
    if mutation.needs_commands:
        need_bubblewrap()
    spoil(house, mutation)
    found = check(gather(f"sqlite:///{house / 'homing.db'}", house))
    assert mutation.rule in {violation.rule for violation in found}, [str(violation) for violation in found]


def test_every_rule_of_the_checker_has_been_broken_once() -> None:
    folder = Path(torture.checks.__file__).parent
    text = "".join(path.read_text() for path in folder.glob("*.py"))
    rules = set(re.findall(r'broken\(\s*"(\w+)"', text)) | set(re.findall(r'rule = "(\w+)" if', text))
    assert rules == {mutation.rule for mutation in MUTATIONS}
