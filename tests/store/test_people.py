"""Users, tokens, hooks, webhooks, memories, kept answers: small things that must be right on both databases."""

from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from homing.engine.scheduler import tick
from homing.model.agents import Agent
from homing.operations.context import Instance
from homing.store import Store, Tx, agents, maintenance, memories, people, sessions, steps
from homing.store import tables as t
from homing.store.maintenance import KeptAnswer
from homing.store.sessions import NewSession
from store.scenes import OWNER, add_job, add_session, close_turn, count, do, open_lane, rows


def remember(tx: Tx, text: str, user_id: str = OWNER) -> str:
    return memories.add(tx, user_id=user_id, session_id=None, sender_id=None, text=text).id


def recall(store: Store, query: str, user_id: str = OWNER) -> list[str]:
    return [memory.text for memory in do(store, memories.search, user_id=user_id, query=query, limit=5)]


def test_a_word_of_one_character_is_found_inside_a_sentence(store: Store) -> None:
    store.write_now(lambda tx: [remember(tx, text) for text in ("我养了一只猫", "我喜欢喝茶和水")])
    asked = {"猫": ["我养了一只猫"], "茶": ["我喜欢喝茶和水"], "狗": []}
    assert {query: recall(store, query) for query in asked} == asked


def test_a_memory_is_found_again_in_any_script_and_by_its_user_alone(store: Store) -> None:
    def furnish(tx: Tx) -> None:
        for text in ("我喜欢苹果", "りんごが好きです", "저는 사과를 좋아해요", "I like apples", "The café opens at 8",
                     "жена любит груши"):  # fmt: skip
            remember(tx, text)
        remember(tx, "我喜欢苹果, apples, café, 8", user_id="stranger")

    store.write_now(furnish)
    asked = {
        "苹果": ["我喜欢苹果"],
        "你喜欢什么": ["我喜欢苹果"],
        "りんご": ["りんごが好きです"],
        "사과": ["저는 사과를 좋아해요"],
        "apple": ["I like apples"],
        "What did I say about APPLES?": ["I like apples"],
        "café": ["The café opens at 8"],
        "8": ["The café opens at 8"],
        "жена": ["жена любит груши"],
        "nothing of the sort": [],
        "'; drop table memory; --": [],
        '" OR * NEAR(': [],
        "!&|<->:*": [],
        "": [],
    }
    assert {query: recall(store, query) for query in asked} == asked


def test_the_best_fit_comes_first_and_what_is_forgotten_is_not_found(store: Store) -> None:
    def furnish(tx: Tx) -> str:
        remember(tx, "the garden has one apple tree")
        return remember(tx, "apple pie recipe with apple and cinnamon pie crust")

    best = store.write_now(furnish)
    assert recall(store, "apple pie")[0].startswith("apple pie")
    assert not do(store, memories.remove, user_id="stranger", memory_id=best)
    assert do(store, memories.get, user_id="stranger", memory_id=best) is None
    assert do(store, memories.remove, user_id=OWNER, memory_id=best)
    assert recall(store, "apple pie") == ["the garden has one apple tree"]
    assert [memory.text for _, memory in do(store, memories.listed, user_id=OWNER, before_n=None, limit=5)] == [
        "the garden has one apple tree"
    ]


def test_tokens_open_for_their_user_until_they_expire_or_are_revoked(store: Store) -> None:
    def work(tx: Tx) -> None:
        now = tx.now()
        give: dict[str, Any] = {"user_id": OWNER, "role": "user"}
        lasting = people.add_token(tx, **give, kind="token", secret="one", expires_at=None)
        assert people.add_token(tx, **give, kind="token", secret="one", expires_at=None) == lasting
        people.add_token(tx, **give, kind="cookie", secret="two", expires_at=now + timedelta(days=30))
        people.add_token(tx, **give, kind="token", secret="old", expires_at=now - timedelta(seconds=1))
        assert people.find_token(tx, "one") == lasting
        assert people.find_token(tx, "two") is not None
        assert people.find_token(tx, "old") is people.find_token(tx, "none") is None
        assert {token.id for token in people.list_tokens(tx, OWNER)} >= {lasting.id}
        assert people.revoke_token(tx, lasting.id) == 1
        assert people.revoke_token(tx, lasting.id) == 0
        assert people.find_token(tx, "one") is None
        people.revoke_secret(tx, "two")
        assert people.find_token(tx, "two") is None
        hashes = [row.hash for row in tx.rows(sa.select(t.token.c.hash))]
        assert not {"one", "two", "old"} & set(hashes)

    store.write_now(work)


def test_a_code_opens_once_not_late_and_a_token_is_no_code(store: Store) -> None:
    def work(tx: Tx) -> None:
        now = tx.now()
        give: dict[str, Any] = {"user_id": OWNER, "role": "user"}
        people.add_token(tx, **give, kind="code", secret="good", expires_at=now + timedelta(minutes=10))
        people.add_token(tx, **give, kind="code", secret="late", expires_at=now - timedelta(seconds=1))
        people.add_token(tx, **give, kind="token", secret="token", expires_at=None)
        assert people.spend_code(tx, "good") is not None
        assert people.spend_code(tx, "good") is people.spend_code(tx, "late") is people.spend_code(tx, "token") is None
        assert people.find_token(tx, "token") is not None

    store.write_now(work)


def test_hooks_and_webhooks_belong_to_a_session_and_a_user(store: Store) -> None:
    def work(tx: Tx) -> None:
        session, other = add_session(tx), add_session(tx, "web:b")
        hook = people.add_hook(tx, session_id=session.id, name="ci", secret="s")
        assert people.find_hook(tx, "s") == hook
        assert people.list_hooks(tx, session.id) == [hook]
        assert not people.remove_hook(tx, other.id, hook.id)
        assert people.remove_hook(tx, session.id, hook.id)
        assert people.find_hook(tx, "s") is None
        webhook = people.add_webhook(tx, user_id=OWNER, url="https://example.org", secret="whsec_x")
        assert people.get_webhook(tx, webhook.id) == webhook
        assert people.list_webhooks(tx, OWNER) == [webhook]
        assert not people.remove_webhook(tx, user_id="stranger", webhook_id=webhook.id)
        assert people.remove_webhook(tx, user_id=OWNER, webhook_id=webhook.id)
        assert people.get_webhook(tx, webhook.id) is None
        assert [row.secret for row in tx.rows(sa.select(t.webhook.c.secret))] == [""]

    store.write_now(work)


def test_users_and_agents_are_made_once(store: Store) -> None:
    def work(tx: Tx) -> None:
        assert people.add_user(tx, OWNER, role="user", name="another").name == "Owner"
        agents.add(tx, Agent(id="main", name="Another", model=None, instructions="", tools={}))
        main = agents.get(tx, "main")
        assert main is not None
        assert main.name == "Main"
        assert [agent.id for agent in agents.listed(tx)] == ["main", "other"]
        people.change_user(tx, OWNER, {"timezone": "Asia/Shanghai"})
        owner = people.get_user(tx, OWNER)
        assert owner is not None
        assert owner.timezone == "Asia/Shanghai"
        assert not people.granted(tx, user_id=OWNER, agent_id="main", address="slack:C1")
        people.add_grant(tx, user_id=OWNER, agent_id="main", address="slack:C1")
        assert people.granted(tx, user_id=OWNER, agent_id="main", address="slack:C1")
        assert not people.granted(tx, user_id=OWNER, agent_id="other", address="slack:C1")
        people.audit(tx, user_id=OWNER, action="disable", object_id="job_1", detail={"a": 1})

    store.write_now(work)
    [entry] = rows(store, t.audit)
    assert (entry.action, entry.detail) == ("disable", {"a": 1})


def test_a_key_begins_anew_after_its_session_was_deleted(store: Store) -> None:
    def work(tx: Tx) -> None:
        first = add_session(tx)
        assert sessions.add(tx, key="web:a", user_id=OWNER, agent_id="main") is None
        assert sessions.find(tx, "web:a", user_id=OWNER) == first
        assert sessions.addresses(tx, [first.id]) == {first.id: ["web:a"]}
        sessions.set_addresses(tx, first.id, ["web:a", "webhook:wh_1"])
        assert sessions.delete(tx, first.id)
        assert not sessions.delete(tx, first.id)
        assert sessions.find(tx, "web:a", user_id=OWNER) is None
        second = add_session(tx)
        assert second.id != first.id
        assert sessions.addresses(tx, [first.id, second.id]) == {
            first.id: ["web:a", "webhook:wh_1"], second.id: ["web:a"]
        }  # fmt: skip
        made = sessions.make_missing(
            tx, [NewSession(key=key, user_id=OWNER, agent_id="main") for key in ("web:a", "web:new")]
        )
        assert made[OWNER, "web:a"] == second.id
        assert sessions.get(tx, made[OWNER, "web:new"]).key == "web:new"

    store.write_now(work)


def test_a_key_is_unique_for_each_user(store: Store) -> None:
    def work(tx: Tx) -> None:
        people.add_user(tx, "ann", role="user")
        mine, theirs = add_session(tx), add_session(tx, user_id="ann")
        assert sessions.add(tx, key="web:a", user_id="ann", agent_id="main") is None
        assert sessions.find(tx, "web:a", user_id=OWNER) == mine
        assert sessions.find(tx, "web:a", user_id="ann") == theirs
        wanted = [NewSession(key="web:a", user_id=user_id, agent_id="main") for user_id in ("ann", OWNER)]
        assert sessions.make_missing(tx, wanted) == {("ann", "web:a"): theirs.id, (OWNER, "web:a"): mine.id}
        # A conversation that is only named like another user's shared lane is not that lane.
        named = add_session(tx, f"unified:{OWNER}", user_id="ann")
        assert sessions.unified_of(tx, [(OWNER, "main"), ("ann", "main")]) == set()
        lanes = sessions.make_missing(tx, [NewSession(key=f"unified:{OWNER}", user_id=OWNER, agent_id="main")])
        assert named.id != lanes[OWNER, f"unified:{OWNER}"]

    store.write_now(work)


def test_a_session_is_changed_for_one_revision_and_keeps_the_newest_summary(store: Store) -> None:
    def work(tx: Tx) -> None:
        session = add_session(tx)
        assert sessions.change(tx, session, {"title": "Fruit"}, revision=1)
        assert not sessions.change(tx, session, {"title": "Pears"}, revision=1)
        assert sessions.change(tx, session, {"timezone": "UTC"}, revision=None)
        after = sessions.get(tx, session.id)
        assert (after.title, after.timezone, after.revision) == ("Fruit", "UTC", 3)
        assert sessions.keep_summary(tx, session.id, "so far", 10, before=0, of=[session.id])
        assert not sessions.keep_summary(tx, session.id, "older", 5, before=0, of=[session.id])
        assert sessions.get(tx, session.id).summary == "so far"

    store.write_now(work)


def test_an_answer_is_kept_for_a_day_by_user_path_and_key(store: Store) -> None:
    kept = KeptAnswer(body_sha256="b", status=201, answer="{}")
    where = {"user_id": OWNER, "path": "/api/jobs", "key": "k"}
    assert do(store, maintenance.kept_answer, **where) is None
    do(store, maintenance.keep_answer, **where, kept=kept)
    assert do(store, maintenance.kept_answer, **where) == kept
    for other in ({"user_id": "stranger"}, {"path": "/api/sessions"}, {"key": "l"}):
        assert do(store, maintenance.kept_answer, **where | other) is None
    yesterday = timedelta(hours=25)
    do(store, lambda tx: tx.run(sa.update(t.idempotency).values(created_at=tx.now() - yesterday)))
    assert do(store, maintenance.kept_answer, **where) is None
    newer = KeptAnswer(body_sha256="c", status=200, answer="[]")
    do(store, maintenance.keep_answer, **where, kept=newer)
    assert do(store, maintenance.kept_answer, **where) == newer


def test_workers_that_are_not_heard_of_are_not_listed(store: Store) -> None:
    wake = do(store, lambda tx: tx.now() + timedelta(minutes=5))
    do(store, maintenance.beat, "w1", name="one", schedules=True, next_wake_at=None)
    do(store, maintenance.beat, "w1", name="one", schedules=True, next_wake_at=wake)
    do(store, maintenance.beat, "w2", name="two", schedules=False, next_wake_at=None)
    [first, second] = sorted(do(store, maintenance.workers, timedelta(minutes=1)), key=lambda worker: worker.id)
    assert (first.id, first.schedules, first.next_wake_at) == ("w1", True, wake)
    assert not second.schedules
    do(store, maintenance.leave, "w1")
    do(store, lambda tx: tx.run(sa.update(t.worker).values(beat_at=tx.now() - timedelta(minutes=2))))
    assert do(store, maintenance.workers, timedelta(minutes=1)) == []


def test_retention_drops_old_runs_with_their_steps_and_keeps_how_each_job_was_last(
    store: Store, instance: Instance
) -> None:
    def furnish(tx: Tx) -> None:
        session = add_session(tx)
        for name in ("kept", "gone", "fresh"):
            add_job(tx, session, name)
        tick(tx, instance)
        for n in range(3):
            opened = open_lane(tx, session.id, instance)
            steps.add_step(tx, opened.turn.id, 1, kind="model", name="m", key=str(n), result="{}")
            close_turn(tx, opened, instance)
        tx.run(sa.update(t.job).where(t.job.c.name == "gone").values(last_run_id=None))
        old = tx.now() - timedelta(days=91)
        tx.run(sa.update(t.run).where(t.run.c.job_id != "job_fresh").values(finished_at=old))
        people.add_token(tx, user_id=OWNER, role="user", kind="code", secret="old", expires_at=old)
        maintenance.beat(tx, "dead", name="dead", schedules=False, next_wake_at=None)
        tx.run(sa.update(t.worker).values(beat_at=old))

    store.write_now(furnish)
    assert do(store, maintenance.prune, keep_runs=timedelta(days=90)) == 1
    assert do(store, maintenance.prune, keep_runs=timedelta(days=90)) == 0
    assert {run.job_id for run in rows(store, t.run)} == {"job_kept", "job_fresh"}
    assert count(store, "step") == 2
    assert count(store, "message") == 6
    assert count(store, "worker") == count(store, "token") == 0
