"""What is looked up before anybody is asked: the exact lock, sizes and ages, or the sentence that says why not."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from homing.model.errors import BadPackage
from homing.model.packages import PackageRequest
from homing.sandbox import npm_packages, pip_packages
from homing.sandbox.errors import NoSandbox
from homing.sandbox.package_errors import IndexAway
from homing.sandbox.packages import Packages
from homing.sandbox.share import Share
from support.package_index import PackageIndex

NOW = datetime.now(UTC)


def share_files(packages: Packages) -> list[str]:
    return [path.name for path in (packages.share.folder / "environments").iterdir()]


async def test_a_lock_has_every_package_with_its_hash_and_no_address(packages: Packages, index: PackageIndex) -> None:
    index.add_wheel("alpha", requires=("beta>=1",))
    index.add_wheel("beta", "1.0")
    index.add_wheel("beta", "1.5", at=NOW.isoformat())
    index.add_npm("left", dependencies={"@s/right": "^1.0.0"})
    index.add_npm("@s/right", at=NOW.isoformat())

    resolved = await packages.resolve(PackageRequest(pip=("Alpha",), npm=("left@^1",), apt=("jq",)), None, NOW)

    shown = [(p.manager, p.name, p.version, p.asked, p.new, p.is_young(NOW)) for p in resolved.packages]
    assert shown == [
        ("pip", "alpha", "1.0", True, True, False),
        ("pip", "beta", "1.5", False, True, True),
        ("npm", "@s/right", "1.0.0", False, True, True),
        ("npm", "left", "1.0.0", True, True, False),
    ]
    lock = resolved.lock
    assert (lock.pip, lock.npm, lock.apt, lock.base) == (("Alpha",), ("left@^1",), ("jq",), None)
    assert lock.pip_lock.count("--hash=sha256:") == 2
    entries = json.loads(lock.npm_lock)["packages"]
    assert all(entry["integrity"].startswith("sha512-") for place, entry in entries.items() if place)
    assert "127.0.0.1" not in json.dumps(resolved.plain())
    sizes = [package.bytes for package in resolved.packages]
    assert sizes[2:] == [1234, 1234]
    assert sizes[0] == len(index.files["/files/alpha-1.0-py3-none-any.whl"])
    assert share_files(packages) == [".lock"]


async def test_a_lock_on_top_of_another_keeps_its_versions_and_shows_what_is_new(
    packages: Packages, index: PackageIndex
) -> None:
    index.add_wheel("alpha", "1.0")
    index.add_npm("left", "1.0.0")
    first = await packages.resolve(PackageRequest(pip=("alpha",), npm=("left",)), None, NOW)
    index.add_wheel("alpha", "2.0")
    index.add_wheel("gamma")
    index.add_npm("left", "1.1.0")
    index.add_npm("more")

    second = await packages.resolve(PackageRequest(pip=("gamma",), npm=("more",)), first.lock, NOW)

    assert [(p.name, p.version, p.new, p.asked) for p in second.packages] == [
        ("alpha", "1.0", False, False),
        ("gamma", "1.0", True, True),
        ("left", "1.0.0", False, False),
        ("more", "1.0.0", True, True),
    ]
    assert (second.lock.pip, second.lock.npm, second.lock.base) == (
        ("alpha", "gamma"),
        ("left", "more"),
        first.lock.digest,
    )


async def test_what_the_index_does_not_tell_is_unknown(packages: Packages, index: PackageIndex) -> None:
    index.add_wheel("alpha", at=None, size=False)
    index.add_npm("left", at=None)
    del index.npm["left"]["versions"]["1.0.0"]["dist"]["unpackedSize"]

    resolved = await packages.resolve(PackageRequest(pip=("alpha",), npm=("left",)), None, NOW)

    assert [(p.bytes, p.published_at) for p in resolved.packages] == [(None, None), (None, None)]
    assert resolved.total_bytes is None
    assert len(resolved.of_unknown_age()) == 2


async def test_a_package_for_another_machine_is_locked_and_not_shown(packages: Packages, index: PackageIndex) -> None:
    index.add_npm("left", optionalDependencies={"for-mac": "1.0.0", "for-all": "1.0.0"})
    index.add_npm("for-mac", os=["darwin"])
    index.add_npm("for-all", os=["!win32"])

    resolved = await packages.resolve(PackageRequest(npm=("left",)), None, NOW)

    assert [package.name for package in resolved.packages] == ["for-all", "left"]
    assert "node_modules/for-mac" in resolved.lock.npm_lock


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (PackageRequest(pip=("nothing",)), "nothing was not found in the package registry"),
        (PackageRequest(pip=("alpha>=5",)), "only alpha==1.0 is available"),
        (PackageRequest(pip=("source",)), "source==1.0 has no usable wheels"),
        (PackageRequest(pip=("needs-source",)), "source"),
        (PackageRequest(pip=("old",)), "yanked"),
        (PackageRequest(pip=("old==1.0",)), 'is yanked (reason: "it is bad"). Ask for another version'),
        (PackageRequest(npm=("nothing",)), "'nothing@*' could not be found"),
        (PackageRequest(npm=("left@^5",)), "No matching version found for left@^5"),
        (PackageRequest(npm=("by-git",)), "comes from an address"),
        (PackageRequest(npm=("by-address",)), "comes from an address"),
        (PackageRequest(npm=("no-hash",)), "The registry gives no hash of no-hash"),
        (PackageRequest(npm=("weak-hash",)), "only a hash that proves nothing (SHA-1) of weak-hash"),
    ],
)
async def test_what_cannot_be_had_is_refused_with_the_resolvers_words(
    packages: Packages, index: PackageIndex, request_: PackageRequest, said: str
) -> None:
    index.add_wheel("alpha")
    index.add_sdist("source")
    index.add_wheel("needs_source", requires=("source",))
    index.wheels["needs-source"] = index.wheels.pop("needs_source")
    index.add_wheel("old")
    index.yank("old", "it is bad")
    index.add_npm("left")
    index.add_npm("by-git", dependencies={"a": "git+https://127.0.0.1:1/a.git"})
    index.add_npm("by-address", dependencies={"left": f"{index.url}/npm/left/-/left-1.0.0.tgz"})
    index.add_npm("no-hash")
    del index.npm["no-hash"]["versions"]["1.0.0"]["dist"]["integrity"]
    index.add_npm("weak-hash")
    index.npm["weak-hash"]["versions"]["1.0.0"]["dist"]["integrity"] = "sha1-L7y7mDk4qnpjZ3VvnqYAhmVJJUc="

    with pytest.raises(BadPackage) as refused:
        await packages.resolve(request_, None, NOW)

    assert said in refused.value.detail
    assert "127.0.0.1" not in refused.value.detail
    assert "/" not in refused.value.detail
    assert refused.value.code == "bad_package"


@pytest.mark.parametrize("status", [500, 503, 0])
@pytest.mark.parametrize("request_", [PackageRequest(pip=("alpha",)), PackageRequest(npm=("left",))])
async def test_an_index_that_is_away_says_nothing_about_a_package(
    packages: Packages, index: PackageIndex, request_: PackageRequest, status: int
) -> None:
    index.status = status
    closed = {"UV_DEFAULT_INDEX": "http://user:pw@127.0.0.1:1/simple", "npm_config_registry": "http://127.0.0.1:1/"}
    host = packages.host if status else {**packages.host, **closed}

    with pytest.raises(IndexAway, match="could not be looked up now") as failed:
        await replace(packages, host=host).resolve(request_, None, NOW)

    assert "pw" not in failed.value.error + failed.value.detail
    assert not failed.value.permanent


async def test_no_script_of_a_package_runs_while_it_is_looked_up(
    packages: Packages, index: PackageIndex, tmp_path: Path
) -> None:
    index.add_npm("left", scripts={"preinstall": f"touch {tmp_path}/ran", "prepare": f"touch {tmp_path}/ran"})

    await packages.resolve(PackageRequest(npm=("left",)), None, NOW)

    assert not (tmp_path / "ran").exists()


async def test_where_uv_or_npm_is_missing_the_refusal_says_how_to_get_it(
    packages: Packages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("uv.find_uv_bin", lambda: (_ for _ in ()).throw(FileNotFoundError))
    monkeypatch.setattr(pip_packages.sys, "executable", "/nonexistent/python")
    monkeypatch.setattr(npm_packages, "SEARCHED", "/nonexistent")

    with pytest.raises(NoSandbox, match=r"pip install 'homing\[packages\]'"):
        await packages.resolve(PackageRequest(pip=("alpha",)), None, NOW)
    with pytest.raises(NoSandbox, match="needs node and npm"):
        await packages.resolve(PackageRequest(npm=("left",)), None, NOW)


async def test_the_index_that_pip_is_set_up_with_is_asked_where_uv_has_none(
    index: PackageIndex, tmp_path: Path
) -> None:
    index.add_wheel("alpha")
    (tmp_path / ".config/pip").mkdir(parents=True)
    (tmp_path / ".config/pip/pip.conf").write_text(f"[global]\nindex-url = {index.url}/simple\n")
    host = {"HOME": str(tmp_path), "UV_HTTP_RETRIES": "0"}

    resolved = await Packages(share=Share(folder=tmp_path / "share"), host=host).resolve(
        PackageRequest(pip=("alpha",)), None, NOW
    )

    assert [package.name for package in resolved.packages] == ["alpha"]
