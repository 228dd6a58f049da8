"""An answer that promises to come back is recognised; what only looks like it never is."""

from datetime import UTC, datetime, timedelta

import pytest

from homing.model.promises import find_promise

NOW = datetime(2026, 11, 17, 11, 0, tzinfo=UTC)
ZONE = "Europe/Berlin"
# The first twenty of each were written before the grammar, the rest after it.
PROMISES = [
    "I'll check again tomorrow at nine.",
    "I'll remind you in an hour.",
    "Sure, I'll remind you tomorrow at 9 to call the dentist.",
    "Got it! I will remind you to take your pills at 20:00.",
    "I'll get back to you.",
    "I'll check back in 30 minutes.",
    "I couldn't reach the page, so I'll try again in 10 minutes.",
    "Tomorrow at 8 I'll look again.",
    "I will check the prices every weekday at 8 and tell you what changed.",
    "OK, I'm going to remind you next Monday at 10.",
    "No problem, I'll ping you at 3pm.",
    "I'll let you know tomorrow.",
    "The build is still running, and I'll check again in 20 minutes.",
    "Nothing has changed so far. I'll keep an eye on it.",
    "I'll report back.",
    "You'll hear from me tomorrow at 9.",
    "I’ll wake you at 6:30.",
    "I'll also follow up with you on Friday at 14:00.",
    "Alright — I'll take another look this evening.",
    "I'll send you the summary every Friday at 17:00.",
    "I will get back to you tomorrow with the numbers.",
    "Understood. I'll remind you 30 minutes from now.",
    "I'll check the tracking page again at 18:00 and let you know.",
    "I'll nudge you on Thursday at 11.",
    "The server is down, so I'll look again in half an hour.",
    "I'm going to check again in two hours.",
    "Okay, I will wake you up at 7am tomorrow.",
    "I'll send you a reminder tomorrow at noon.",
    "Since the shop is closed today, I'll try again tomorrow at 10:00.",
    "In an hour I'll remind you to move the car.",
    "I'll keep checking every hour.",
    "Thanks! I'll update you next week.",
    "I'll be back tomorrow at 8 with a fresh list.",
    "I will remind you about the rent on the 1st of every month.",
    "I'll review the results tonight and report back.",
    "Done. I'll ping you in 5 minutes.",
    "You will get a reminder tomorrow at 9.",
    "I'll follow up tomorrow morning.",
    "It looks fine; I'll check once more tomorrow at 9.",
]
NONE = [
    "I'll keep checking for typos as we go.",
    "Shall I remind you tomorrow at nine?",
    "Would you like me to check again in an hour?",
    "If you like, I'll remind you tomorrow at 9.",
    "You can remind me tomorrow.",
    "I can remind you in an hour if you want.",
    'She wrote: "I\'ll check again tomorrow at nine."',
    "> I'll remind you in an hour.",
    "I reminded you yesterday at nine.",
    "I said I'll check again tomorrow, and I did.",
    "Tell me a time and I'll remind you.",
    "I won't check again tomorrow.",
    "I'll check that now.",
    "I'll remind you that the shop closes at 18:00.",
    "Let me know, and I'll get back to you.",
    "He says he'll call you tomorrow at 9.",
    "The meeting is tomorrow at nine.",
    "As soon as you send the file, I'll check it again.",
    "Once it is ready I'll let you know tomorrow.",
    "I'd check again tomorrow at nine.",
    "You asked whether I'll remind you in an hour.",
    "I'll check the flights for tomorrow at nine.",
    "I'll remind you of what you said: be brief.",
    "Do you want me to get back to you tomorrow?",
    "I'll look at the file and then answer.",
    "The note reads: I'll get back to you tomorrow.",
    "Dear Ms. Lee,\n\nthank you. I'll get back to you tomorrow at 9.\n\nBest regards",
    "Here's a draft: I'll check back next week.",
    "I was going to remind you in an hour.",
    "Your colleague will remind you tomorrow at 9.",
    "Say the word and I'll remind you in an hour.",
    "I'm sorry, I can't remind you tomorrow at 9.",
    "I'll explain below how to check again every day.",
    "You'll get a reminder from your bank tomorrow at 9.",
    "I could get back to you in an hour.",
    "I'll be honest with you: tomorrow is too late.",
    "Whenever you're ready, I'll check again.",
    "I'll give you three options for next week.",
    "When it rains I'll remind you to close the window.",
    "Remember to check back in an hour.",
    "I'll use the phrase `I'll remind you tomorrow at 9` in the text.",
]


@pytest.mark.parametrize("sentence", PROMISES)
def test_a_promise_is_found(sentence: str) -> None:
    found = find_promise(sentence, now=NOW, zone=ZONE)
    assert found is not None
    assert found.text.rstrip(".!") in sentence.replace("’", "'")
    assert found.at is None or found.at > NOW


@pytest.mark.parametrize("sentence", NONE)
def test_what_only_looks_like_a_promise_is_none(sentence: str) -> None:
    assert find_promise(sentence, now=NOW, zone=ZONE) is None
    assert find_promise(f"The prices are the same. {sentence}", now=NOW, zone=ZONE) is None or sentence.startswith(">")


@pytest.mark.parametrize(
    ("sentence", "when", "message", "reminder"),
    [
        ("Sure, I'll remind you tomorrow at 9 to call the dentist.", "tomorrow at 9", "Call the dentist", True),
        ("I'll remind you in an hour.", "in an hour", "", True),
        ("I will check the prices every weekday at 8 and tell you what changed.", "every weekday at 8",
         "Check the prices and tell me what changed", False),
        ("Tomorrow at 8 I'll look again.", "tomorrow at 8", "Look again", False),
        ("I'll let you know tomorrow.", None, "Let me know tomorrow", False),
    ],
)  # fmt: skip
def test_time_and_deed_are_read_from_a_promise(sentence: str, when: str | None, message: str, reminder: bool) -> None:
    found = find_promise(f"**Done.** {sentence} Have a nice day!", now=NOW, zone=ZONE)
    assert found is not None
    assert (found.when, found.message, found.reminder) == (when, message, reminder)


def test_that_it_was_scheduled_is_a_promise_only_where_scheduling_was_refused() -> None:
    for claim in (
        "Done, I have scheduled it, see the card below.",
        "Your reminder is set for 9.",
        "I've set a reminder.",
    ):
        assert find_promise(claim, now=NOW, zone=ZONE) is None
        assert find_promise(claim, now=NOW, zone=ZONE, refused=True) is not None
    assert find_promise("I have scheduled nothing.", now=NOW, zone=ZONE, refused=True) is None


def test_strange_answers_are_read_in_no_time() -> None:
    began = datetime.now(UTC)
    for piece in ("[", "'", '"', "`", "> ", "I will ok ", "I'll check again tomorrow at . ", "\n", "*", "~~~"):
        find_promise("I will " + piece * (20_000 // len(piece)), now=NOW, zone=ZONE)
    assert datetime.now(UTC) - began < timedelta(seconds=5)
