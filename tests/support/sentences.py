"""Sentences that people were seen to write to the offline chat, and what must come of each: never a guess.

`changes` is all that happens to automations, in the words of `changes_between`; `says` is a part of the answer. A
sentence without changes is answered, or met with one fitting question.
"""

from dataclasses import dataclass

from homing.model.jobs import Job
from homing.model.schedules import words

BERLIN = "Europe/Berlin"
BEFORE = (
    "remind me every monday at 19:00 to take out the trash",
    "remind me about the dentist on friday at 15:00",
    "remind me tomorrow at 9 to call mom",
    "remember that my sister's birthday is on 3 May",
)
"""What was said in every one of these conversations before, on Monday 16 November 2026 at nine in Berlin."""


@dataclass(frozen=True)
class Sentence:
    """A sentence, what it changes, and what is said to it."""

    said: str
    changes: tuple[str, ...] = ()
    says: str = ""
    after: tuple[str, ...] = ()
    """Said before it, besides `BEFORE`."""
    hides: tuple[str, ...] = ()
    """What the answer must not name."""


def reminder(message: str, when: str) -> tuple[str, ...]:
    return (f'added reminder "{message}": {when}',)


def turn(message: str, when: str) -> tuple[str, ...]:
    return (f'added agent_turn "{message}": {when}',)


def changes_between(before: list[Job], after: list[Job]) -> tuple[str, ...]:
    """Tell what happened to automations: added, removed, paused, resumed, moved."""
    old, new = {job.id: job for job in before}, {job.id: job for job in after}
    told = [
        f'added {job.payload.kind} "{job.payload.message}": {words(job.timing.schedule)}'
        for job in new.values()
        if job.id not in old
    ]
    told += [f'removed "{job.payload.message}"' for job in old.values() if job.id not in new]
    for job in new.values():
        was = old.get(job.id)
        if was is not None and was.enabled != job.enabled:
            told.append(f'{"resumed" if job.enabled else "paused"} "{job.payload.message}"')
        if was is not None and was.timing.schedule != job.timing.schedule:
            told.append(f'moved "{job.payload.message}": {words(job.timing.schedule)}')
    return tuple(sorted(told))


def once(day: str, clock: str) -> str:
    return f"Once on {day} 2026 at {clock} {BERLIN}"


TUESDAY = "Tue 17 Nov"
EVERYTHING = ('removed "call mom"', 'removed "take out the trash"', 'removed "the dentist"')
ENGLISH_ONLY = "only English"

PAGE: tuple[Sentence, ...] = (
    Sentence("remind me tomorrow at 9 to buy milk", reminder("buy milk", once(TUESDAY, "09:00"))),
    Sentence("remind me to buy milk tomorrow at 9", reminder("buy milk", once(TUESDAY, "09:00"))),
    Sentence("wake me up at 7", reminder("wake up", once(TUESDAY, "07:00"))),
    Sentence("in an hour check the oven", turn("check the oven", once("Mon 16 Nov", "10:00"))),
    Sentence("remind me on 24 December at 18:00 to light the candles",
             reminder("light the candles", once("Thu 24 Dec", "18:00"))),
    Sentence("list my reminders", says="take out the trash"),
    Sentence("remember that the key is under the mat", says="under the mat"),
    Sentence("remind me every day at 8am and 8pm to take my pills",
             reminder("take my pills", f"Every day at 08:00 and 20:00 {BERLIN}")),
    Sentence("undo", ('removed "call mom"',), "call mom"),
    Sentence("remind me 30 min before my meeting at 4pm", says="Give the time itself"),
    Sentence("every morning at 7 tell me the news", turn("tell me the news", f"Every day at 07:00 {BERLIN}")),
    Sentence("set a timer for 10 minutes", reminder("Time is up", once("Mon 16 Nov", "09:10"))),
    Sentence("Can you remind me about the barber on Friday at 3pm?",
             reminder("the barber", once("Fri 20 Nov", "15:00"))),
    Sentence("what's on my schedule?", says="take out the trash"),
    Sentence("move my 9am reminder to 10", (f'moved "call mom": {once(TUESDAY, "10:00")}',)),
    Sentence("snooze 10 minutes", says="no reminder"),
    Sentence("stop", says="cancel all"),
    Sentence("thanks!", says="You're welcome"),
    Sentence("when is my sister's birthday?", says="3 May"),
    Sentence("what time is it in Tokyo?", says="17:00"),
    Sentence("erinnere mich morgen um 9 an den Zahnarzt", says=ENGLISH_ONLY),
    Sentence("summarize my week every friday", says="every friday at 9"),
    Sentence("hi", says="Hello"),
    Sentence("what can you do?", says="this is what I can do"),
    Sentence("remind me every monday to water the plants", says="every monday at 9"),
    Sentence("remind me next week", says="next week on monday at 9"),
    Sentence("remind me every 2 hours between 9 and 5 to drink water", says="between 9 and 17"),
    Sentence("pause the trash reminder", ('paused "take out the trash"',)),
    Sentence("cancel the dentist reminder", ('removed "the dentist"',)),
    Sentence("delete all automations", EVERYTHING),
)  # fmt: skip

FAULTS: tuple[Sentence, ...] = (
    Sentence("hello", says="Hello"),
    Sentence("what can you do", says="this is what I can do"),
    Sentence("help", says="this is what I can do"),
    Sentence("asdf qwer", says='don\'t understand "asdf qwer"'),
    Sentence("remind me in 1 minute to stretch", reminder("stretch", once("Mon 16 Nov", "09:01"))),
    Sentence("remind me tomorrow at 9 to stretch", reminder("stretch", once(TUESDAY, "09:00"))),
    Sentence("remind me at 5pm to go home", reminder("go home", once("Mon 16 Nov", "17:00"))),
    Sentence("remind me every monday at 7pm to dance", reminder("dance", f"Mondays at 19:00 {BERLIN}")),
    Sentence("every weekday at 8 say good morning", turn("say good morning", f"Weekdays at 08:00 {BERLIN}")),
    Sentence("remind me every day at noon to eat", reminder("eat", f"Every day at 12:00 {BERLIN}")),
    Sentence("wake me up at 7am", reminder("wake up", once(TUESDAY, "07:00"))),
    Sentence("in 20 minutes tell me to leave", turn("tell me to leave", once("Mon 16 Nov", "09:20"))),
    Sentence("remind me on 24 December at 18:00 to sing", reminder("sing", once("Thu 24 Dec", "18:00"))),
    Sentence("remind me every 2 hours to drink water",
             reminder("drink water", f"Every 2 hours on the hour ({BERLIN})")),
    Sentence("remind me in half an hour to stretch", reminder("stretch", once("Mon 16 Nov", "09:30"))),
    Sentence("remind me in an hour to stretch", reminder("stretch", once("Mon 16 Nov", "10:00"))),
    Sentence("remind me in two weeks to stretch", reminder("stretch", once("Mon 30 Nov", "09:00"))),
    Sentence("remind me tonight at 9 to stretch", reminder("stretch", once("Mon 16 Nov", "21:00"))),
    Sentence("remind me in 5 mins to stretch", reminder("stretch", once("Mon 16 Nov", "09:05"))),
    Sentence("remind me 10m to stretch", reminder("stretch", once("Mon 16 Nov", "09:10"))),
    Sentence("remind me at 18:30 to stretch", reminder("stretch", once("Mon 16 Nov", "18:30"))),
    Sentence("what's scheduled?", says="take out the trash"),
    Sentence("list", says="take out the trash"),
    Sentence("cancel 1", ('removed "take out the trash"',), after=("list",)),
    Sentence("undo", ('removed "call mom"',), "call mom"),
    Sentence("why 1", says="Sends, word for word: take out the trash", after=("list",)),
    Sentence("skip 1", says='Skipped "take out the trash"', after=("list",)),
    Sentence("cancel all", EVERYTHING),
    Sentence("again in 10m", reminder("call mom", once("Mon 16 Nov", "09:10"))),
    Sentence("I like apples", says="I like apples"),
    Sentence("what did I say about apples", says="I like apples", after=("I like apples",)),
    Sentence("remember that the dog is called Rex", says="Rex"),
    Sentence("what is my dog called?", says="Rex", after=("my dog is called Rex",)),
    Sentence("remind me next tuesday to stretch", says="next tuesday at 9"),
    Sentence("remind me twice a day to stretch", says="every day at 9 and 17"),
    Sentence("remind me to call grandma", says="When"),
    Sentence("remind me every morning to stretch", reminder("stretch", f"Every day at 08:00 {BERLIN}")),
    Sentence("remind me every weekend to stretch", says="every weekend at 9"),
    Sentence("delete the water reminder", says='no automation "water"'),
    Sentence("pause 1", says="no number 1 any more", after=("list", "cancel 1")),
    Sentence("resume 1", says="no number 1 any more", after=("list", "cancel 1")),
    Sentence("can you remind me about the meeting on friday at 3pm?",
             reminder("the meeting", once("Fri 20 Nov", "15:00"))),
    Sentence("set a timer for 10 minutes", reminder("Time is up", once("Mon 16 Nov", "09:10"))),
    Sentence("what reminders do I have?", says="take out the trash"),
    Sentence("every other day at 9 remind me to run", reminder("run", f"Every other day at 09:00 {BERLIN}")),
    Sentence("remind me on the first of every month to pay rent", says="on the first of every month at 9"),
    Sentence("what time is it?", says="09:00"),
    Sentence("thanks!", says="You're welcome"),
    Sentence("stop all", says="Do you want to pause"),
    Sentence("snooze 10 minutes", says="no reminder"),
    Sentence("明天早上九点提醒我给妈妈打电话", says=ENGLISH_ONLY),
    Sentence("每天八点说早上好", says=ENGLISH_ONLY),
    Sentence("Erinnere mich bitte in 10 Minuten an die Wäsche", says=ENGLISH_ONLY),
    Sentence("every hour between 9 and 17 remind me to stand up",
             reminder("stand up", f"Every hour from 09:00 to 17:00 {BERLIN}")),
    Sentence("remind me every day at 9am Berlin time to stand up",
             reminder("stand up", f"Every day at 09:00 {BERLIN}")),
)  # fmt: skip

# Written down before anybody looked at what becomes of them, and kept as they came.
MORE: tuple[Sentence, ...] = (
    Sentence("hey, could you remind me in 15 minutes to take the pizza out?",
             reminder("take the pizza out", once("Mon 16 Nov", "09:15"))),
    Sentence("I need to call the bank tomorrow at 10am, please remind me",
             reminder("call the bank", once(TUESDAY, "10:00"))),
    Sentence("don't let me forget to water the plants on Saturday at 10",
             reminder("water the plants", once("Sat 21 Nov", "10:00"))),
    Sentence("wake me at 6:30 tomorrow", reminder("wake up", once(TUESDAY, "06:30"))),
    Sentence("ping me in 45 min", reminder("ping", once("Mon 16 Nov", "09:45"))),
    Sentence("set an alarm for 6am", reminder("alarm", once(TUESDAY, "06:00"))),
    Sentence("start a 5 minute timer", reminder("Time is up", once("Mon 16 Nov", "09:05"))),
    Sentence("what do I have tomorrow?", says="call mom"),
    Sentence("do I have any reminders?", says="call mom"),
    Sentence("when is my next reminder?", says="call mom"),
    Sentence("postpone the dentist by an hour", (f'moved "the dentist": {once("Fri 20 Nov", "16:00")}',)),
    Sentence("reschedule the dentist to Monday at 11", (f'moved "the dentist": {once("Mon 16 Nov", "11:00")}',)),
    Sentence("turn off the trash reminder", ('paused "take out the trash"',)),
    Sentence("change the trash reminder to every tuesday at 8",
             (f'moved "take out the trash": Tuesdays at 08:00 {BERLIN}',)),
    Sentence("remind me again tomorrow", says="tomorrow at 9"),
    Sentence("never mind", says="nothing"),
    Sentence("good morning", says="Hello"),
    Sentence("ok thank you", says="You're welcome"),
    Sentence("who are you?", says="not an AI"),
    Sentence("are you an AI?", says="not an AI"),
    Sentence("what's the date today?", says="Mon 16 Nov 2026"),
    Sentence("every first monday of the month at 9 remind me to pay rent",
             reminder("pay rent", f"On the first Monday of every month at 09:00 {BERLIN}")),
    Sentence("remind me about laundry this evening", reminder("laundry", once("Mon 16 Nov", "18:00"))),
    Sentence("please note that my wifi password is hunter2", says="hunter2"),
    Sentence("what's my wifi password?", says="hunter2", after=("remember that my wifi password is hunter2",)),
    Sentence("how long until the dentist?", says="Fri 20 Nov"),
    Sentence("recuérdame mañana a las 9 llamar a mamá", says=ENGLISH_ONLY),
    Sentence("what's the weather like in Paris?", says="don't understand"),
    Sentence("remind me when I get home to feed the cat", says="When"),
    Sentence("delete everything except the dentist", says='"except"'),
)  # fmt: skip

# Found by trying forty others; what was not understood or guessed at first.
LATER: tuple[Sentence, ...] = (
    Sentence("could you please cancel my 3pm reminder?", ('removed "the dentist"',)),
    Sentence("delete the trash one", ('removed "take out the trash"',)),
    Sentence("remind me every weekday at 9 and 5 to log my hours", says="9 and 17"),
    Sentence("when do I have to call mom?", says="Tue 17 Nov"),
    Sentence("don't remind me about the trash anymore", says="Do you want to pause"),
    Sentence("note: buy eggs", says="buy eggs"),
    Sentence("remind me at 5 to say thanks", reminder("say thanks", once(TUESDAY, "05:00"))),
    Sentence("remind me in an hour and a half to check the laundry",
             reminder("check the laundry", once("Mon 16 Nov", "10:30"))),
    Sentence("push the dentist to next friday", says="I moved nothing yet"),
    Sentence("why is the sky blue?", says="don't understand"),
    Sentence("why didn't the trash reminder fire?", says="It has not run yet"),
)  # fmt: skip

DRINK = "Hey there! I keep forgetting to drink enough water during the day, so could you please nudge me every 2 hours \
between 9am and 5pm on weekdays to drink a glass?"
PLANTS = "every monday and thursday at 18:15 tell me to water the plants"
CALL = "remind me on friday at 14:00 that I have to call the plumber"
# Written down by somebody who had read the README only: neither this list, nor the code.
STRANGER: tuple[Sentence, ...] = (
    Sentence("hi, what can you do?", says="this is what I can do"),
    Sentence("remind me to take the pizza out in 12 minutes",
             reminder("take the pizza out", once("Mon 16 Nov", "09:12"))),
    Sentence("pls remind me tmrw at 7:30am to take out the trash",
             reminder("take out the trash", once(TUESDAY, "07:30"))),
    Sentence("Can you remind me on Friday at 3pm that I have to call the dentist?",
             reminder("I have to call the dentist", once("Fri 20 Nov", "15:00"))),
    Sentence(PLANTS, turn("tell me to water the plants", f"Mondays and Thursdays at 18:15 {BERLIN}")),
    Sentence("i need to be woken up at 6 tomorrow", reminder("wake up", once(TUESDAY, "06:00"))),
    Sentence("what have i got coming up?", says="call mom"),
    Sentence("when is the plumber thing?", says="Fri 20 Nov 2026 at 14:00", after=(CALL,)),
    Sentence("move the plumber to 4pm",
             (f'moved "I have to call the plumber": {once("Fri 20 Nov", "16:00")}',), after=(CALL,)),
    Sentence("actually cancel the pizza one", ('removed "take the pizza out"',),
             after=("remind me to take the pizza out in 12 minutes",)),
    Sentence("my sister's name is Anna and her birthday is on 3 march, remember that", says="birthday is on 3 march"),
    Sentence("what's my sister called?", says="Anna", after=("my sister's name is Anna",)),
    Sentence("Remind me every year on March 3 to call Anna", says="does not say at what time"),
    Sentence("remind me later to buy milk", says="When"),
    Sentence("set a reminder", says="When"),
    Sentence("at half past five this afternoon, buy milk", turn("buy milk", once("Mon 16 Nov", "17:30"))),
    Sentence("in an hour and a half check the oven", turn("check the oven", once("Mon 16 Nov", "10:30"))),
    Sentence("Every weekday at 8:45 remind me about the standup, but not on Wednesdays", says="scheduled nothing"),
    Sentence("pause the standup until next monday", says="next monday at 9",
             after=("every weekday at 8:45 remind me about the standup",)),
    Sentence("how many reminders do i have?", says="3 automations"),
    Sentence("thanks, your great!", says="You're welcome"),
    Sentence("what time is it in Tokyo", says="17:00"),
    Sentence(DRINK, reminder("drink a glass", f"Weekdays at 09:00, 11:00, 13:00, 15:00 and 17:00 {BERLIN}")),
    Sentence("stop nagging me about water", says="fits 2 automations",
             after=(PLANTS, "remind me every 2 hours to drink water")),
    Sentence("the drink one", says='Do you want to pause "drink water"',
             after=(PLANTS, "remind me every 2 hours to drink water", "stop nagging me about water")),
    Sentence("asdf jkl", says='don\'t understand "asdf jkl"'),
    Sentence("remind me to pay rent on the first of every month at noon",
             reminder("pay rent", f"On the 1st of every month at 12:00 {BERLIN}")),
    Sentence("whats on for friday", says="the dentist", hides=("trash", "mom")),
    Sentence("give me a recepie for pancakes", says="choose a model"),
    Sentence("delete everything", says="all automations of this conversation"),
)  # fmt: skip

# What its writer tried next, where a guess was found, and answers to what was asked.
ANSWERS: tuple[Sentence, ...] = (
    Sentence("remind me to buy milk tommorow at 9", says="Did you mean 'tomorrow at 9'?"),
    Sentence("at 5pm tommorow check the oven", says="Did you mean 'at 5pm tomorrow'?"),
    Sentence("remind me to call grandma on the weekend at 5pm", says="is two days"),
    Sentence("yes", reminder("buy milk", once(TUESDAY, "09:00")), after=("remind me to buy milk tommorow at 9",)),
    Sentence("tomorrow at 10", reminder("call grandma", once(TUESDAY, "10:00")), after=("remind me to call grandma",)),
    Sentence("7pm", reminder("water the plants", f"Mondays at 19:00 {BERLIN}"),
             after=("remind me every monday to water the plants",)),
    Sentence("tomorrow", says="does not say at what time", after=("remind me to call grandma",)),
    Sentence("tomorrow at 10", says="not what to do then", after=("set a reminder",)),
    Sentence("remove it", ('removed "take out the trash"',), after=("stop the trash reminder",)),
    Sentence("pause", ('paused "take out the trash"',), after=("stop the trash reminder",)),
    Sentence("ok", says="welcome", after=("delete everything",)),
    Sentence("yes", EVERYTHING, after=("delete everything",)),
    Sentence("no", says="nothing was changed", after=("delete everything",)),
    Sentence("pause the trash for 2 days", ('paused "take out the trash"',), "Wed 18 Nov"),
    Sentence("pause the trash until friday at 9", ('paused "take out the trash"',), "Fri 20 Nov"),
    Sentence("If it rains I get wet, so please remind me at 5pm to leave", says="don't understand"),
    Sentence("I never said that. Please remind me at 5pm to leave", says="don't understand"),
    Sentence("I have to go on Tuesday, so please remind me at 5pm to leave", says="don't understand"),
)  # fmt: skip

DENTIST, MOM, TRASH = "the dentist", "call mom", "take out the trash"
PILLS = "remind me every day at 8am and 8pm to take my pills"
# A list for a day shows that day alone. It is Monday, nine o'clock, and the trash is due at 19:00.
DAYS: tuple[Sentence, ...] = (
    *(
        Sentence(said, says='1. "the dentist": Fri 20 Nov 15:00', hides=(MOM, TRASH))
        for said in (
            "what is on for friday", "what's on friday?", "anything on friday?", "is there anything on for friday",
            "what do I have on friday", "what's on my calendar on friday", "do i have any reminders on friday?",
            "what reminders do I have this friday", "show me my schedule for friday", "list friday",
            "what's on on 20 november", "have i got anything planned for friday?", "my reminders for friday",
        )
    ),
    *(
        Sentence(said, says='"call mom": Tue 17 Nov 09:00', hides=(DENTIST, TRASH))
        for said in ("what's on tomorrow", "anything scheduled tomorrow?", "agenda for tomorrow", "what's up tomorrow")
    ),
    *(
        Sentence(said, says='"take out the trash": Mon 16 Nov 19:00', hides=(DENTIST, MOM))
        for said in ("anything on monday?", "what's on today", "what's left today?", "what's happening tonight")
    ),
    Sentence("anything on saturday?", says="Nothing is scheduled on Sat 21 Nov", hides=(DENTIST, MOM, TRASH)),
    Sentence("what's on this weekend", says="Nothing is scheduled from Sat 21 Nov to Sun 22 Nov", hides=(DENTIST,)),
    Sentence("what's on next week", says='"take out the trash": Mon 23 Nov 19:00', hides=(DENTIST, MOM)),
    Sentence("what's on this week", says='3. "the dentist": Fri 20 Nov 15:00'),
    Sentence("what's on tomorrow", says='"take my pills": Tue 17 Nov 08:00, 20:00', after=(PILLS,)),
    # The numbers are those of the list that was shown last; "all of them" after it may mean two things.
    Sentence("cancel 1", ('removed "the dentist"',), after=("what's on friday",)),
    Sentence("cancel 1", ('removed "the dentist"',), after=("what's on friday", "pause the trash reminder")),
    Sentence("cancel all of them", says="Do you mean those, or all?", after=("what's on friday",)),
    Sentence("cancel all automations", EVERYTHING, after=("what's on friday",)),
    Sentence("cancel all", EVERYTHING, after=("what's on friday", "list")),
)  # fmt: skip
