"""Which package names reach a resolver, and what a lock is."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from homing.model.errors import BadPackage
from homing.model.packages import LockedPackage, PackageLock, PackageRequest, Resolved

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)
LOCK = PackageLock(
    pip=("requests>=2", "rich"),
    npm=("left-pad",),
    apt=("jq",),
    pip_lock="rich==1.0 \\\n    --hash=sha256:00\n",
    npm_lock="{}",
    python="cpython-3.11",
    platform="linux-x86_64-gnu",
    base=None,
)


def package(**given: object) -> LockedPackage:
    plain = {"manager": "pip", "name": "rich", "version": "1.0", "bytes": 10, "new": True, "asked": True}
    return LockedPackage.read({**plain, "published_at": "2026-11-16T12:00:00Z", **given})


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ("pip", "requests"),
        ("pip", "zope.interface"),
        ("pip", "pandas[excel,html]>=2,<3"),
        ("pip", "torch==2.13.0+cpu"),
        ("pip", "numpy==2.*"),
        ("pip", "a~=1.4.2,!=1.4.5"),
        ("pip", "b==1.0rc1"),
        ("npm", "left-pad"),
        ("npm", "@types/node"),
        ("npm", "@types/node@^22"),
        ("npm", "left-pad@1.3.0"),
        ("npm", "left-pad@1.x"),
        ("npm", "left-pad@>=1.2"),
        ("npm", "left-pad@=1.3.0-beta.1"),
        ("apt", "jq"),
        ("apt", "g++"),
        ("apt", "python3.11-venv"),
    ],
)
def test_a_plain_name_can_be_asked_for(field: str, name: str) -> None:
    given: dict[str, Any] = {field: (name,)}
    assert getattr(PackageRequest(**given), field) == (name,)


@pytest.mark.parametrize(
    ("field", "name"),
    [
        *(
            ("pip", name)
            for name in (
                "",
                " ",
                "-r",
                "--index-url=x",
                "-e.",
                ".",
                "..",
                "./a",
                "/etc/passwd",
                "a/b",
                "a\\b",
                "C:\\a",
                "requests @ https://example.org/a.whl",
                "requests@https://example.org/a.whl",
                "https://example.org/a.whl",
                "git+https://example.org/a",
                "file:a",
                "foo.whl",
                "FOO.WHL",
                "foo.zip",
                "foo.tar.gz",
                "foo.tar.gz[x]",
                "foo.whl==1.0",
                "foo.tgz>=1",
                "foo-1.0.egg",
                "requests;python_version>'3'",
                "requests >=2",
                "requests\n",
                "a b",
                "requests\n--index-url x",
                "requests\0",
                "r\u0435quests",
                "requests\u202e",
                "requests===1",
                "requests>1",
                "requests==",
                "requests==1.whl",
                "requests>=2.*",
                "requests==latest",
                "requests,rich",
                "a" * 121,
                "#a",
                "${HOME}",
                "a[",
                "a[]",
                "a[x",
                "_a",
                "a_",
            )
        ),
        *(
            ("npm", name)
            for name in (
                "",
                "-g",
                "--registry=x",
                ".",
                "..",
                "./a",
                "../a",
                "/a",
                "~/a",
                "a/b",
                "user/repo",
                "github:user/repo",
                "git://example.org/a",
                "git+ssh://git@example.org/a.git",
                "https://example.org/a.tgz",
                "file:a",
                "link:a",
                "a@npm:b@1",
                "npm:b",
                "a@latest",
                "a@https://example.org/a.tgz",
                "a@file:b",
                "a@workspace:*",
                "a@1 || 2",
                "a@>=1 <2",
                "a@*",
                "a@",
                "@a",
                "@a/",
                "@/a",
                "@a/b/c",
                "A",
                "a.tgz",
                "a.tar.gz",
                "@a/b.tgz",
                "a\n",
                "a b",
                "\u0430",
                "_a",
                ".a",
                "node_modules",
                "a" * 121,
                "a@1.2.3.4",
            )
        ),
        *(
            ("apt", name)
            for name in (
                "",
                "-y",
                "jq=1.6",
                "jq/stable",
                "./a.deb",
                "a.deb",
                "jq-",
                "JQ",
                "jq;reboot",
                "$(x)",
                "j q",
                "jq\n",
            )
        ),
    ],
)
def test_an_address_path_option_or_file_is_refused(field: str, name: str) -> None:
    given: dict[str, Any] = {field: (name,)}
    with pytest.raises(BadPackage) as refused:
        PackageRequest(**given)

    assert (refused.value.status, refused.value.code) == (422, "bad_package")
    assert refused.value.errors[0].field == field
    # What is shown of it cannot hide anything.
    assert refused.value.detail.isascii()
    assert refused.value.detail.isprintable()


def test_every_bad_name_is_reported() -> None:
    with pytest.raises(BadPackage) as refused:
        PackageRequest(pip=("good", "-r"), npm=("a@latest",), apt=("jq-",))

    assert [error.field for error in refused.value.errors] == ["pip", "npm", "apt"]


@pytest.mark.parametrize("number", [0, 21])
def test_one_to_twenty_packages_are_asked_for_at_once(number: int) -> None:
    names = tuple(f"a{i}" for i in range(number))

    with pytest.raises(BadPackage, match=f"1 to 20 packages at once; these are {number}"):
        PackageRequest(pip=names[:10], npm=names[10:])
    assert PackageRequest(pip=("a",) * 10, npm=("a",) * 10)


def test_what_is_wanted_is_the_old_list_with_the_new_names_as_asked_last() -> None:
    request = PackageRequest(pip=("Requests==2.1", "numpy"), npm=("left-pad@^1", "@a/b"))

    assert request.wanted_pip(LOCK) == ("Requests==2.1", "rich", "numpy")
    assert request.wanted_npm(LOCK) == ("left-pad@^1", "@a/b")
    assert request.wanted_pip(None) == request.pip


def test_two_requests_are_joined() -> None:
    joined = PackageRequest(pip=("a_b", "c"), apt=("jq",)).joined(
        PackageRequest(pip=("A-B>=2",), npm=("x",), apt=("jq",))
    )

    assert joined == PackageRequest(pip=("A-B>=2", "c"), npm=("x",), apt=("jq",))


def test_a_digest_names_what_is_built_and_for_which_machine() -> None:
    def digest(**changed: object) -> str:
        return PackageLock.read({**LOCK.plain(), **changed}).digest

    assert digest() == LOCK.digest
    assert LOCK.digest.startswith("sha256:")
    assert digest(pip=["rich"], apt=[], base="sha256:11") == LOCK.digest
    changes = [{"pip_lock": "x"}, {"npm_lock": "x"}, {"python": "cpython-3.12"}, {"platform": "linux-aarch64-gnu"}]
    assert len({LOCK.digest, *(digest(**change) for change in changes)}) == 5


def test_a_lock_and_what_is_shown_of_it_survive_json() -> None:
    unknown = package(manager="npm", name="left-pad", bytes=None, published_at=None, new=False, asked=False)
    resolved = Resolved(lock=LOCK, packages=(package(), unknown))

    assert Resolved.read(json.loads(json.dumps(resolved.plain()))) == resolved


def test_young_packages_and_those_of_unknown_age_are_told_apart() -> None:
    young, old, unknown = (
        package(),
        package(name="old", published_at="2020-01-01T00:00:00Z"),
        package(published_at=None),
    )
    known = package(name="known", new=False)
    resolved = Resolved(lock=LOCK, packages=(young, old, unknown, known))

    assert resolved.young(NOW) == (young,)
    assert resolved.of_unknown_age() == (unknown,)
    assert [p.is_young(NOW) for p in resolved.packages] == [True, False, None, True]
    assert not young.is_young(NOW + timedelta(days=6))


def test_a_total_size_is_given_only_if_every_size_is_known() -> None:
    assert Resolved(lock=LOCK, packages=(package(), package(bytes=5))).total_bytes == 15
    assert Resolved(lock=LOCK, packages=(package(), package(bytes=None))).total_bytes is None
