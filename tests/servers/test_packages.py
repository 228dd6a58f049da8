"""Packages from the indexes that this host is set up with: looked up, built, and run in the sandbox."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from homing.model.errors import BadPackage
from homing.model.packages import PackageRequest
from homing.sandbox.bubblewrap import find_bubblewrap
from homing.sandbox.packages import Packages
from homing.sandbox.running import run
from homing.sandbox.share import Share
from support.sandboxes import need_bubblewrap


async def test_published_packages_are_looked_up_built_and_run(tmp_path: Path) -> None:
    need_bubblewrap()
    now = datetime.now(UTC)
    packages = Packages(share=Share(folder=tmp_path / "share"))

    resolved = await packages.resolve(PackageRequest(pip=("humanize", "markupsafe"), npm=("is-odd@^3",)), None, now)
    environment = packages.environment(await packages.build(resolved.lock))
    script = "python3 -c 'import humanize, markupsafe; print(humanize.intcomma(1234), markupsafe.escape(1))'"
    ran = await run(
        find_bubblewrap(),
        ["/bin/sh", "-c", f"{script} && node -p 'require(\"is-odd\")(3)'"],
        workspace=packages.share.workspace("main", "ana").folder,
        environment=environment,
    )

    assert (ran.code, ran.out, ran.err) == (0, b"1,234 1\ntrue\n", b"")
    assert {package.name for package in resolved.packages} == {"humanize", "markupsafe", "is-odd", "is-number"}
    assert all(p.published_at is not None for p in resolved.packages if p.manager == "npm")
    assert "://" not in str(resolved.plain())
    with pytest.raises(BadPackage, match="not found"):
        await packages.resolve(PackageRequest(pip=("homing-has-no-such-package",)), resolved.lock, now)
