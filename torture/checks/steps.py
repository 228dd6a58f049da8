"""Steps: nothing finished is done again, nothing unrepeatable is begun twice.

A worker that was frozen on its way into a call, and lost its turn meanwhile, still makes that one call when it comes
back: a stray, which is not held against anybody. So is a call on which its worker hung up because the turn was stopped:
it may reach the log after the closing. Outside these moments there are none.
"""

from collections import Counter
from collections.abc import Iterator

from torture.checks.violation import Violation, broken
from torture.evidence import Evidence, ModelCall, Row, micros

# So long after a thaw a call may come that was begun before the freeze.
_STRAYS = 5_000_000
# So long a request may be on its way to a model that shares two cores with the chaos.
_ON_THE_WAY = 2_000_000


def deeds_once(evidence: Evidence) -> Iterator[Violation]:
    """No unrepeatable tool is begun twice, none without its step, none that is finished again."""
    steps = {(step["turn_id"], step["key"]): step for step in evidence["step"] if step["kind"] == "tool"}
    begun = Counter((deed["tool"], deed["turn_id"], deed["key"]) for deed in evidence.deeds)
    for (tool, turn_id, key), count in begun.items():
        turn = evidence.turns.get(turn_id)
        if tool == "deed" and count > 1:
            yield broken("deed_begun_twice", f"{turn_id} {key} was begun {count} times")
        if tool == "deed" and (turn_id, key) not in steps:
            yield broken("deed_off_the_record", f"{turn_id} {key} was begun, and no step says so")
        if turn is None or count > turn["fence"]:
            yield broken("step_repeated", f"{turn_id} {key} ({tool}) was begun {count} times by fewer workers")
    for deed in evidence.deeds:
        step = steps.get((deed["turn_id"], deed["key"]))
        finished = step["done_at"] if step is not None else None
        fresh = step is None or deed["fence"] >= evidence.turns[deed["turn_id"]]["fence"]
        if finished is not None and fresh and finished < micros(deed["at"]) and not evidence.clock_moved:
            yield broken(
                "step_repeated", f"{deed['turn_id']} {deed['key']} ({deed['tool']}) was begun after it was done"
            )


def commands_once(evidence: Evidence) -> Iterator[Violation]:
    """No command is begun twice: each leaves a line of its own. None of its processes outlives it."""
    for token, count in Counter(line["token"] for line in evidence.commands).items():
        if count > 1:
            yield broken("command_begun_twice", f"the command {token} was begun {count} times")
    for survivor in evidence.survivors:
        yield broken(
            "command_survived", f"process {survivor['pid']} of a command was alive after everything had stopped"
        )


def calls_once(evidence: Evidence) -> Iterator[Violation]:
    """A model is not asked again for what it has answered, nor for a turn that is over."""
    answers = _model_steps(evidence)
    strays: Counter[str] = Counter()
    heard: Counter[tuple[str, int]] = Counter()
    for call in evidence.calls:
        turn, nth = turn_of(evidence, call)
        if turn is None:
            continue
        kept = answers.get(turn["id"], [])
        if call.outcome == "answered":
            heard[turn["id"], nth] += 1
        if evidence.clock_moved:
            continue
        if call.arrived_at < turn["opened_at"]:
            yield broken("step_repeated", f"call {call.number} came before {turn['id']} was opened")
        over = turn["closed_at"] is not None and turn["closed_at"] < call.arrived_at
        if over or (nth < len(kept) and kept[nth]["done_at"] < call.arrived_at):
            if _hung_up(call, turn):
                continue
            strays[turn["id"]] += 1
            if not _may_stray(evidence, call):
                yield broken("step_repeated", f"{turn['id']}: call {call.number} asks for what was done already")
    for turn_id, count in strays.items():
        if count >= evidence.turns[turn_id]["fence"]:
            yield broken("step_repeated", f"{turn_id}: the model was asked {count} times for what was done already")
    for (turn_id, nth), count in heard.items():
        if count > evidence.turns[turn_id]["fence"]:
            yield broken("step_repeated", f"{turn_id}: response {nth + 1} was heard {count} times")


def goes_on(evidence: Evidence) -> Iterator[Violation]:
    """A turn only goes forward: each response that was kept is shown in every later call. No clock is needed for it."""
    answers = _model_steps(evidence)
    reached: dict[str, int] = {}
    for call in evidence.calls:
        turn, nth = turn_of(evidence, call)
        if turn is None:
            continue
        if nth < reached.get(turn["id"], 0) and not _may_stray(evidence, call):
            yield broken("step_repeated", f"{turn['id']}: call {call.number} goes back to response {nth + 1}")
        reached[turn["id"]] = max(nth, reached.get(turn["id"], 0))
    for turn_id, nth in reached.items():
        if len(answers.get(turn_id, [])) > nth + 1:
            kept = len(answers[turn_id])
            yield broken("step_repeated", f"{turn_id} kept {kept} responses, and the model was asked for {nth + 1}")


def in_turn(evidence: Evidence) -> Iterator[Violation]:
    """The model's own log knows of no two turns of a lane at once, strays aside."""
    lanes: dict[int, list[tuple[ModelCall, Row]]] = {}
    for call in evidence.calls:
        turn, _ = turn_of(evidence, call)
        if turn is not None:
            lanes.setdefault(turn["lane_id"], []).append((call, turn))
    for calls in lanes.values():
        newest = calls[0][1]
        late: Counter[str] = Counter()
        for call, turn in calls:
            if turn["n"] >= newest["n"]:
                newest = turn
                continue
            late[turn["id"]] += 1
            if not _may_stray(evidence, call):
                yield broken("two_turns_at_once", f"{turn['id']} asked the model after {newest['id']} had begun")
        for turn_id, count in late.items():
            if count >= evidence.turns[turn_id]["fence"]:
                yield broken(
                    "two_turns_at_once", f"{turn_id} asked the model {count} times after a later turn had begun"
                )


def _hung_up(call: ModelCall, turn: Row) -> bool:
    """Say whether a stopped turn gave this call up: sent before its closing, seen by the model just after."""
    stopped = turn["cancel_requested_at"] is not None or turn["reason"] == "timeout"
    return stopped and call.outcome == "disconnected" and 0 <= call.arrived_at - turn["closed_at"] <= _ON_THE_WAY


def _may_stray(evidence: Evidence, call: ModelCall) -> bool:
    return any(0 <= call.arrived_at - thaw <= _STRAYS for thaw in evidence.thaws)


def turn_of(evidence: Evidence, call: ModelCall) -> tuple[Row | None, int]:
    """Find the turn a call was made for, and which response of it was asked for; nobody if that is not plain."""
    nth = 0
    for role, text in reversed(call.said):
        if role == "assistant":
            nth += 1
        found = evidence.prompts.get(text.strip(), []) if role == "user" else []
        if len(found) == 1:
            return found[0], nth
        if found:
            break
    return None, 0


def _model_steps(evidence: Evidence) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for step in sorted(evidence["step"], key=lambda step: step["n"]):
        if step["kind"] == "model":
            found.setdefault(step["turn_id"], []).append(step)
    return found


def own_deeds_once(evidence: Evidence) -> Iterator[Violation]:
    """What our own tools did is there exactly as often as their steps say."""
    asked = {approval["call_key"] for approval in evidence["approval"]}
    done = Counter(
        (step["name"], step["turn_id"])
        for step in evidence["step"]
        if step["kind"] == "tool"
        and step["state"] == "done"
        and not step["failed"]
        and f"{step['turn_id']}:{step['key']}" not in asked
    )
    made = Counter(job["origin_turn_id"] for job in evidence["job"] if job["origin_turn_id"] is not None)
    for turn_id in evidence.turns:
        if made[turn_id] != done["schedule_task", turn_id]:
            yield broken(
                "own_deed_not_once", f"{turn_id} made {made[turn_id]} jobs in {done['schedule_task', turn_id]} steps"
            )
    kept = sum(count for (name, _), count in done.items() if name == "remember")
    kept += sum(one["tool"] == "remember" and one["state"] == "done" for one in evidence["approval"])
    if kept != len(evidence["memory"]):
        yield broken(
            "own_deed_not_once", f"{kept} steps remembered something, and there are {len(evidence['memory'])} memories"
        )


def finished_steps(evidence: Evidence) -> Iterator[Violation]:
    """A turn that answered has no step left that began and never ended, and none twice."""
    keys = Counter((step["turn_id"], step["kind"], step["key"]) for step in evidence["step"])
    for (turn_id, kind, key), count in keys.items():
        if count > 1:
            yield broken("step_repeated", f"{turn_id} has {count} {kind} steps {key}")
    for step in evidence["step"]:
        turn = evidence.turns.get(step["turn_id"])
        if turn is not None and turn["outcome"] == "answered" and step["state"] != "done":
            yield broken("step_unfinished", f"{step['turn_id']} answered, and its step {step['n']} never ended")


CHECKS = (deeds_once, commands_once, calls_once, goes_on, in_turn, own_deeds_once, finished_steps)
