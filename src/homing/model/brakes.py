"""Loop brakes (rule 35): how far machines may go on by themselves, and how often.

Depth counts the machine-made causes between a thing and the person or due instant it goes back to. What comes in takes
the depth of the turn that caused it plus one; a turn that takes several has the greatest, a person's turn 0.
"""

from datetime import timedelta

DEEPEST = 8
DEPTH_HEADER = "homing-depth"
"""Sent by our webhooks, read by hooks."""

# How many turns of depth 1 or more one job, hook or grant may cause in a session in this time.
MOST_CAUSED = 30
CAUSED_WITHIN = timedelta(minutes=10)
PAUSED_FOR = timedelta(hours=1)

# How many turns one hook may open in this time; further calls become notes, of which this many may wait.
MOST_FROM_HOOK = 20
FROM_HOOK_WITHIN = timedelta(minutes=1)
MOST_HOOK_NOTES = 100

# How many messages an agent may send to other conversations of a user in this time, and a conversation to addresses.
MOST_SENT = 20
SENT_WITHIN = timedelta(minutes=1)

# The nearest time that a turn no person opened may set; the second applies where its job has may_schedule.
NEAREST = timedelta(minutes=5)
NEAREST_SCHEDULING = timedelta(minutes=1)

LOOP = "loop"
_WITHIN = f"{CAUSED_WITHIN.seconds // 60} minutes"
_WORDS = {LOOP: f"It asked for more than {MOST_CAUSED} turns within {_WITHIN} that no person asked for."}


def disabled_words(reason: str | None) -> str | None:
    """Say why a job is disabled; reasons that are sentences already stay as they are."""
    return reason if reason is None else _WORDS.get(reason, reason)
