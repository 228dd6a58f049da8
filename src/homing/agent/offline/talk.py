"""What is said without any tool: greetings, thanks, the time, who this is, and that only English is understood."""

import re
from datetime import datetime
from zoneinfo import ZoneInfo

from homing.agent.offline.plans import HELP, Plan, say
from homing.agent.offline.scene import Scene
from homing.model.schedules import zones
from homing.model.schedules.describe import MONTHS, WEEKDAYS
from homing.model.schedules.suggestions import shortened

HELLO = 'Hello! Say for example "remind me in 2 minutes to stretch", or "help" for everything I understand.'
WELCOME = "You're welcome."
WHO = (
    "I am Homing without a model: not an AI, only a small set of English phrases. They make real reminders and "
    "automations. For real conversation choose a model: Settings → Model on the page, or `homing model set`."
)
NEVER_MIND = 'All right, nothing was changed now. "undo" takes back the last change.'
STOP = (
    'Stop what? "pause all" stops every automation of this conversation for now, "cancel all" removes them, "undo"'
    " takes back the last change."
)
ENGLISH = (
    "I understand only English phrases without a model, such as: remind me tomorrow at 9 to call mom. With a model any"
    " language works: Settings → Model on the page, or `homing model set`."
)
# Words of wishes in other languages: two of them, or one beside a letter that English lacks, tell another language.
_FOREIGN = frozenset(
    "erinnere erinner mich mir bitte morgen heute jeden jede uhr und ich nicht was wie ist um wann an den die das ein"
    " recuérdame recuerdame mañana manana hoy cada las los por favor qué que cuándo con una llamar"
    " rappelle rappelle-moi demain aujourd'hui chaque heures heure je une les des s'il vous merci danke gracias hola"
    " ricordami domani ogni alle grazie lembre lembrar amanhã obrigado olá herinner morgen vandaag elke".split()
)
_SHARED = frozenset({"die", "an", "was", "den", "a", "las", "con", "une", "des"})
_LETTER = re.compile(r"[^\W\d_]")


def time_in(scene: Scene, place: str | None) -> Plan:
    """Tell the time here, or in a city."""
    zone = scene.zone
    if place:
        name = place.strip().removeprefix("the ")
        found = zones.zone_of_city(name) or (name if zones.is_zone(name) else None)
        if found is None:
            return say(f'I know no time zone for "{name}". Name a larger city, or a zone such as Asia/Tokyo.')
        zone = found
    return say(f"It is {_moment(scene.now, zone)} {zone}.")


def unknown(scene: Scene, sentence: str) -> Plan:
    """Say what was not understood; the list of what can be said only if it does not stand right above."""
    if is_foreign(sentence):
        return say(ENGLISH)
    shown = shortened(" ".join(sentence.split()), 60)
    what = f'I don\'t understand "{shown}".'
    if HELP[1:] in scene.last_answer:
        return say(f'{what} The list above is all I know without a model; "help" shows it again.')
    return say(f"{what}\n\n{HELP[0].upper()}{HELP[1:]}")


def is_foreign(sentence: str) -> bool:
    """Say whether a sentence is probably in another language than English."""
    letters = _LETTER.findall(sentence)
    if letters and sum(ord(letter) > 0x24F for letter in letters) * 2 > len(letters):
        return True
    words = [word.strip(",.;:!?¿¡") for word in sentence.casefold().split()]
    hits = {word for word in words if word in _FOREIGN}
    clear = hits - _SHARED
    return (len(hits) >= 2 and bool(clear)) or (bool(clear) and not sentence.isascii())


def _moment(now: datetime, zone: str) -> str:
    local = now.astimezone(ZoneInfo(zone))
    day = f"{WEEKDAYS[local.isoweekday() % 7][:3]} {local.day} {MONTHS[local.month - 1][:3]} {local.year}"
    return f"{local:%H:%M} on {day}"
