"""Which environments of packages agents use: two with the same packages share one, and nothing else."""

from dataclasses import replace

from homing.model.agents import Agent
from homing.model.packages import PackageLock
from homing.store import Store, Tx, agents, environments
from store.scenes import do


def lock(*names: str, base: PackageLock | None = None) -> PackageLock:
    return PackageLock(
        pip=names,
        npm=(),
        apt=(),
        pip_lock="\n".join(f"{name}==1.0" for name in sorted(names)),
        npm_lock="",
        python="3.11",
        platform="linux",
        base=base.digest if base else None,
    )


def made(tx: Tx, agent_id: str) -> Agent:
    found = agents.lock(tx, agent_id)
    assert found is not None
    return found


def test_agents_that_share_an_environment_keep_their_own_names_and_the_one_before(store: Store) -> None:
    assert store.write_now(lambda tx: agents.add(tx, replace(made(tx, "main"), id="second")))
    owl, wren = lock("owl"), lock("wren")
    mine, theirs = lock("owl", "wren", base=owl), lock("wren", "owl", base=wren)
    assert mine.digest == theirs.digest
    for agent_id, used in {"main": (owl, mine), "second": (wren, theirs)}.items():
        for one in used:
            store.write_now(lambda tx, agent_id=agent_id, one=one: environments.use(tx, made(tx, agent_id), one))
    assert do(store, environments.of_agent, "main") == mine
    assert do(store, environments.of_agent, "second") == theirs
    assert do(store, environments.in_use) == {owl.digest, wren.digest, mine.digest}
    assert do(store, environments.get, mine.digest) == mine
