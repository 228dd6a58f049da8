"""What may go wrong, done to a finished house by hand: in its rows by SQL, in the logs by lines.

Each is what a broken guard would leave behind: the lane's index gone, the fence ignored, a closing without its
outbound, and so on. The constraints that would refuse it are switched off first.
"""

import json
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Lines = list[dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """One break, and the rule under which it must be found."""

    name: str
    rule: str
    sql: tuple[str, ...] = ()
    log: str | None = None
    change: Callable[[Lines], Lines] | None = None
    needs_commands: bool = False
    """It changes what commands wrote, and they run only where there is a sandbox."""


def spoil(instance: Path, mutation: Mutation) -> None:
    """Break a house."""
    if mutation.sql:
        _spoil_rows(instance / "homing.db", mutation.sql)
    if mutation.log and mutation.change:
        [path, *_] = [*sorted(instance.glob(f"{mutation.log}.jsonl")), instance / f"{mutation.log}.jsonl"]
        before: Lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        after = mutation.change(json.loads(json.dumps(before)))
        assert after != before, "this mutation changed nothing"
        path.write_text("".join(json.dumps(line) + "\n" for line in after))


def _spoil_rows(database: Path, statements: tuple[str, ...]) -> None:
    connection = sqlite3.connect(database)
    try:
        connection.execute("pragma foreign_keys = off")
        connection.execute("pragma ignore_check_constraints = on")
        for index in ("ux_turn_open", "ux_run_active", "ux_outbound_closing"):
            connection.execute(f"drop index {index}")
        for statement in statements:
            assert connection.execute(statement).rowcount > 0, f"this changed nothing: {statement}"
        connection.commit()
    finally:
        connection.close()


def _again(table: str, where: str, **new: str) -> str:
    """Write a row a second time, with some columns changed; `n` is given anew unless it is one of them."""
    columns = _COLUMNS[table]
    given = {"n": "null"} | new if "n" in columns else new
    values = ", ".join(given.get(column, f'"{column}"') for column in columns)
    names = ", ".join(f'"{column}"' for column in columns)
    return f"insert into {table} ({names}) select {values} from {table} where {where} limit 1"


_COLUMNS = {
    "message": "n session_id lane_id seq rev role kind text turn_id inbound_id job_id run_id folded created_at".split(),
    "inbound": (
        "n id session_id lane_id user_id source text line mode state run_id job_id address turn_id injected queued_at"
        " meta depth"
    ).split(),
    "run": (
        "n id job_id session_id lane_id user_id trigger scheduled_for state reason revision rev queued_at finished_at"
        " missed_count missed_until turn_id"
    ).split(),
    "outbound": "n session_id seq cause turn_id run_id created_at".split(),
    "memory": "n id user_id session_id text grams created_at".split(),
    "job": (
        "n id session_id user_id agent_id kind name schedule_kind at tz payload_kind message context write_back wake"
        " catch_up catch_up_window_seconds origin_door origin_turn_id enabled disabled_by created_at updated_at"
    ).split(),
}

# One thing of each kind.
_ANA, _BEN = (f"(select id from session where key = 'web:{name}-1')" for name in ("ana", "ben"))
_SECOND = f"(select id from turn where session_id = {_ANA} order by n limit 1 offset 1)"
_EVERY = "(select id from job where schedule_kind = 'every' and payload_kind = 'agent_turn' and not isolated)"
_RAN = f"(select id from run where job_id = {_EVERY} and state = 'ok' order by n limit 1)"
_REMINDED = "(select run_id from message where kind = 'reminder' order by n limit 1)"
_LETTER = "(select id from delivery where address like 'webhook:%' and state = 'sent' order by n limit 1)"

_ALLOWED = "(select json_extract(args, '$.text') from approval where state = 'done')"
_DENIED = "(select json_extract(args, '$.text') from approval where state = 'denied')"
_TOLD = "json_extract(meta, '$.approval_id')"

_ASKED, _ANSWERED = (f"json_extract(meta, '$.{name}_turn_id')" for name in ("asking", "answers"))

_CAUSED = (
    "lane_id, session_id, user_id, agent_id, source, job_id, state, outcome, prompt, model, depth, opened_at,"
    " closed_at, opening_seq, closing_seq"
)
_MANY_CAUSED = (
    f"insert into turn (id, {_CAUSED})"
    " with recursive k(i) as (select 1 union all select i + 1 from k where i < 31)"
    f" select 'turn_again_' || i, {_CAUSED} from turn, k"
    " where turn.n = (select min(n) from turn where source = 'report')"
)


def _arrivals(lines: Lines) -> Lines:
    return [line for line in lines if line["event"] == "arrived"]


def _copy(lines: Lines, line: dict[str, Any], **new: Any) -> Lines:
    number = max(line["number"] for line in lines) + 1
    at = new.pop("at", line["at"])
    return [*lines, {**line, **new, "number": number, "at": at},
            {"event": "finished", "number": number, "at": at, "outcome": "answered"}]  # fmt: skip


def _ask_again(lines: Lines) -> Lines:
    """Make the first call of ana's first turn once more, at the end of the day."""
    first = next(line for line in _arrivals(lines) if line["body"]["messages"][-1]["content"] == "#ana.1")
    return _copy(lines, first, at=lines[-1]["at"])


def _ask_early(lines: Lines) -> Lines:
    return _copy(lines, _arrivals(lines)[-1], at=lines[0]["at"])


def _mix(lines: Lines) -> Lines:
    first = _arrivals(lines)[0]
    first["body"]["messages"].append({"role": "user", "content": "#ana.1 and #ben.1"})
    return lines


def _line_again(tool: str, *, later: bool = True) -> Callable[[Lines], Lines]:
    def change(lines: Lines) -> Lines:
        line = next(line for line in lines if line["tool"] == tool)
        return [*lines, {**line, "at": lines[-1]["at"] if later else line["at"]}]

    return change


def _other_id(lines: Lines) -> Lines:
    """Send the second letter's id with the first one's message."""
    first, second = _two_letters(lines)
    return _copy(lines, {**first, "headers": second["headers"]})


def _two_letters(lines: Lines) -> Lines:
    found: dict[str, dict[str, Any]] = {}
    for line in _arrivals(lines):
        if line["path"].endswith("/ana"):
            found.setdefault(line["headers"]["webhook-id"], line)
    return list(found.values())[:2]


def _from_nowhere(lines: Lines) -> Lines:
    first, _ = _two_letters(lines)
    return _copy(lines, {**first, "headers": {"webhook-id": "dlv_nobodysown"}})


def _to_another(lines: Lines) -> Lines:
    first, _ = _two_letters(lines)
    first["path"] = "/hook/ben"
    return lines


def _late_letter(lines: Lines) -> Lines:
    return _copy(lines, _two_letters(lines)[0])


def _without_letters(lines: Lines) -> Lines:
    return lines[:0]


def _append(**line: Any) -> Callable[[Lines], Lines]:
    return lambda lines: [*lines, line]


def _of_rows(rule: str, name: str, *sql: str) -> Mutation:
    return Mutation(name=name, rule=rule, sql=sql)


def _of_log(rule: str, name: str, log: str, change: Callable[[Lines], Lines]) -> Mutation:
    return Mutation(name=name, rule=rule, log=log, change=change, needs_commands=log.endswith("/commands"))


MUTATIONS: tuple[Mutation, ...] = (
    # lanes
    _of_rows("two_turns_at_once", "a turn that opened before the one before it had closed",
             f"update turn set opened_at = opened_at - 60000000 where id = {_SECOND}"),
    _of_rows("two_turns_at_once", "two turns whose messages are interleaved",
             f"update turn set opening_seq = 1 where id = {_SECOND}"),
    _of_log("two_turns_at_once", "a lane seen with two open turns", "seen", _append(rule="two_turns_at_once", id="7")),
    _of_log("two_turns_at_once", "a turn that thinks on after the next one has begun", "model", _ask_again),
    _of_rows("out_of_order", "a message that overtook an earlier one",
             "update inbound set turn_id = (select max(id) from turn t where t.lane_id = inbound.lane_id and t.n = "
             "(select max(n) from turn u where u.lane_id = inbound.lane_id))"
             " where n = (select min(n) from inbound where source = 'person')"),
    # people's words
    _of_rows("message_lost", "an accepted message that is nowhere",
             "delete from inbound where n = (select min(n) from inbound where source = 'person')"),
    _of_rows("message_lost", "an accepted message withdrawn from a living session",
             "update inbound set state = 'withdrawn', turn_id = null"
             " where n = (select min(n) from inbound where source = 'person')"),
    _of_rows("message_lost", "a message that was taken and is not in history",
             "delete from message where inbound_id = (select id from inbound where source = 'person' limit 1)"),
    _of_rows("message_in_two_turns", "a message that two turns show",
             _again("message", "inbound_id is not null and kind = 'chat'", seq="999", turn_id=_SECOND)),
    _of_rows("message_doubled", "a repeated request that became a second message",
             _again("inbound", "source = 'person'", id="'in_second'")),
    _of_log("message_doubled", "a repeated request that got another answer", "accepted",
            _append(what="again", user="ana", inbound_id="in_x", same=False)),
    # due instants
    _of_rows("instant_without_run", "a due instant without a row",
             f"delete from run where job_id = {_EVERY} and n = (select min(n) from run where job_id = {_EVERY})"),
    _of_rows("instant_twice", "a due instant with two rows",
             _again("run", f"id = {_RAN}", id="'job_x:1'", state="'skipped'", reason="'missed'")),
    _of_rows("instant_miscounted", "a count of more instants than there were",
             f"update run set state = 'skipped', missed_until = scheduled_for, missed_count = 3 where id = {_RAN}"),
    _of_rows("instant_invented", "a run for an instant that was never due",
             _again("run", f"id = {_RAN}", id="'job_x:2'", scheduled_for="scheduled_for + 1234")),
    # runs
    _of_rows("two_active_runs", "a run queued while another was active",
             f"update run set finished_at = finished_at + 90000000 where id = {_RAN}"),
    _of_log("two_active_runs", "a job seen with two active runs", "seen", _append(rule="two_active_runs", id="job_x")),
    _of_rows("run_without_outcome", "a run that never ended",
             f"update run set state = 'running', finished_at = null where id = {_RAN}"),
    _of_rows("run_without_outcome", "a failed turn whose run is called ok",
             f"update turn set outcome = 'failed' where run_id = {_RAN}"),
    _of_rows("run_without_turn", "a run that is ok without a turn",
             f"update run set turn_id = null where id = {_RAN}"),
    _of_rows("report_lost", "an isolated answer that never came home",
             "delete from inbound where n = (select max(n) from inbound where source = 'report' and state = 'taken')"),
    _of_rows("reminder_not_once", "a reminder that was shown twice",
             _again("message", f"run_id = {_REMINDED}", seq="999")),
    # closings
    _of_rows("turn_without_closing", "a turn that is still open",
             f"update turn set state = 'running', outcome = null, closed_at = null where id = {_SECOND}"),
    _of_rows("turn_without_closing", "a turn that closed without a word",
             f"update turn set closing_seq = null where id = {_SECOND}"),
    _of_rows("turn_without_closing", "a turn that closed twice",
             _again("message", f"turn_id = {_SECOND} and role = 'assistant'", seq="999")),
    _of_rows("turn_without_opening", "a turn that nothing opened",
             f"update message set turn_id = null where turn_id = {_SECOND} and role = 'user'"),
    _of_rows("closing_without_outbound", "a closing that nobody is owed",
             f"delete from outbound where turn_id = {_SECOND}"),
    _of_rows("outbound_without_cause", "a closing that is owed twice",
             _again("outbound", f"turn_id = {_SECOND}")),
    _of_rows("outbound_without_cause", "something owed that was never said",
             _again("outbound", "cause = 'note'", seq="999")),
    _of_rows("outbound_without_delivery", "something owed to nobody",
             f"delete from delivery where outbound_n = (select n from outbound where turn_id = {_SECOND})"),
    # steps
    _of_log("deed_begun_twice", "an unrepeatable tool that was begun twice", "deeds", _line_again("deed")),
    _of_rows("deed_off_the_record", "an unrepeatable tool that was begun before its step was kept",
             "delete from step where name = 'deed'"),
    _of_log("step_repeated", "a repeatable tool that was called again after it was done", "deeds", _line_again("look")),
    _of_log("step_repeated", "a model asked again for what it had answered", "model", _ask_again),
    _of_log("step_repeated", "a model asked before the turn was opened", "model", _ask_early),
    _of_log("command_begun_twice", "a command that was run again after a kill", "share/workspaces/*/commands",
            lambda lines: [*lines, lines[0]]),
    _of_log("command_survived", "a process of a command that lived on after a kill", "survivors", _append(pid=7)),
    _of_rows("step_unfinished", "an answer over a step that never ended",
             "update step set state = 'begun', done_at = null where name = 'look'"
             " and turn_id in (select id from turn where outcome = 'answered')"),
    _of_rows("own_deed_not_once", "a planned job that was added twice",
             _again("job", "origin_turn_id is not null", id="'job_second'")),
    _of_rows("own_deed_not_once", "a fact that was remembered twice", _again("memory", "true", id="'mem_second'")),
    # approvals
    _of_rows("action_begun_twice", "an approved memory that was kept twice",
             _again("memory", f"text = {_ALLOWED}", id="'mem_second'")),
    _of_rows("action_begun_twice", "an approved command that a second worker took up and called done",
             "update approval set tool = 'run_command', attempts = 2, args = json_object('command', 'x')"
             " where state = 'done'"),
    _of_rows("action_without_yes", "a denied request that was done all the same",
             _again("memory", "true", id="'mem_denied'", text=_DENIED)),
    _of_rows("action_without_yes", "something done that nobody has answered",
             "update approval set state = 'pending', answered_by = null where state = 'done'"),
    _of_rows("answer_not_told_once", "an answer of which the agent never heard",
             f"delete from inbound where {_TOLD} = (select id from approval where state = 'done')"),
    _of_rows("answer_not_told_once", "an answer of which the agent was told twice",
             _again("inbound", f"{_TOLD} = (select id from approval where state = 'denied')", id="'in_again'")),
    _of_rows("answer_lost", "a denial that became a yes",
             "update approval set state = 'done' where state = 'denied'"),
    _of_log("answer_lost", "an answer that was heard, of which nothing is written", "accepted",
            _append(what="answered", user="ana", approval_id="appr_nowhere", decision="approve")),
    _of_rows("answer_lost", "a request that is called done, of which nothing was done",
             f"delete from memory where text = {_ALLOWED}"),
    # deliveries
    _of_rows("delivery_open", "a delivery that is still on its way",
             f"update delivery set state = 'pending', sent_at = null, next_attempt_at = 1 where id = {_LETTER}"),
    _of_log("delivery_invented", "a delivery called sent that never arrived", "letters", _without_letters),
    _of_log("delivery_invented", "a letter that nobody sent", "letters", _from_nowhere),
    _of_log("delivery_doubled", "a message that came twice under two ids", "letters", _other_id),
    _of_rows("delivery_doubled", "a letter that came oftener than it was tried",
             f"update delivery set attempts = 0 where id = {_LETTER}"),
    _of_log("delivery_out_of_order", "a letter that came after a later one", "letters", _late_letter),
    # agents that write to each other
    _of_rows("agent_message_not_once", "a message to another agent that never came in",
             f"delete from inbound where {_ASKED} is not null"),
    _of_rows("agent_message_not_once", "a message to another agent that came in twice",
             _again("inbound", f"{_ASKED} is not null", id="'in_again'")),
    _of_rows("agent_message_not_once", "a message to another agent that no turn took",
             f"update inbound set state = 'withdrawn', turn_id = null where {_ASKED} is not null"),
    _of_rows("agent_answer_not_once", "an answer that never came back to the agent that asked",
             f"delete from inbound where {_ANSWERED} is not null"),
    _of_rows("agent_answer_not_once", "an answer that came back twice",
             _again("inbound", f"{_ANSWERED} is not null", id="'in_again'")),
    _of_rows("agent_answer_not_once", "an answer that was withdrawn",
             f"update inbound set state = 'withdrawn', turn_id = null where {_ANSWERED} is not null"),
    _of_rows("wrong_depth", "a message to another agent that is no deeper than its cause",
             f"update inbound set depth = 0 where {_ASKED} is not null"),
    # gates
    _of_rows("gate_without_end", "a script that never ended",
             "update gate set ended = null, code = null, said = null where n = (select min(n) from gate)"),
    _of_rows("gate_without_end", "a script that failed, and its run went on",
             "update gate set code = 1, said = null where said like '%true%'"),
    _of_rows("gate_ignored", "a run that went on although its script said no",
             """update gate set said = '{"wakeAgent": false}' where said like '%true%'"""),
    _of_rows("gate_ignored", "a run that was left out, and woke the agent",
             "update inbound set run_id = (select run_id from gate where said like '%false%' limit 1)"
             " where n = (select max(n) from inbound where run_id is not null)"),
    # brakes
    _of_rows("too_deep", "a loop that went on beyond the deepest",
             "update inbound set depth = 9 where n = (select max(n) from inbound where source = 'report')"),
    _of_rows("wrong_depth", "a report that is no deeper than its cause",
             "update inbound set depth = 0 where source = 'report'"),
    _of_rows("wrong_depth", "a turn that forgot how deep it is", "update turn set depth = 0 where source = 'report'"),
    _of_rows("loop_not_braked", "a job that kept a conversation going by itself", _MANY_CAUSED),
    # walls
    _of_rows("foreign_row", "a run of one user's job that belongs to another",
             f"update run set user_id = 'ben' where id = {_RAN}"),
    _of_rows("foreign_row", "a delivery to another user's webhook",
             f"update delivery set address = (select 'webhook:' || id from webhook where user_id <> delivery.user_id)"
             f" where id = {_LETTER}"),
    _of_rows("foreign_words", "one user's words in another's history",
             f"update message set text = text || ' #ana.1' where session_id = {_BEN}"),
    _of_log("foreign_words", "a model that is shown two users' words", "model", _mix),
    _of_log("foreign_words", "a letter to another user's receiver", "letters", _to_another),
    _of_log("foreign_door", "another user's things handed out at the door", "accepted",
            _append(what="peek", user="ben", path="/api/jobs/job_x", status=200)),
    # rest
    _of_rows("stuck", "a report that waits forever",
             "update inbound set state = 'waiting', turn_id = null"
             " where n = (select max(n) from inbound where line = 'machines')"),
    _of_rows("stuck", "a job that is due and does not fire",
             f"update job set enabled = 1, disabled_by = null, next_run_at = 1 where id = {_EVERY}"),
    _of_rows("broke_inside", "a turn that failed by a bug of ours",
             f"update turn set outcome = 'failed', reason = 'tool', error = 'IntegrityError' where id = {_SECOND}"),
    _of_rows("broke_inside", "a job that made the tick fail",
             f"update run set state = 'error', reason = 'schedule' where id = {_RAN}"),
    _of_rows("history_torn", "a message that is missing from the middle",
             "delete from message where n = (select min(n) from message)"),
)  # fmt: skip
