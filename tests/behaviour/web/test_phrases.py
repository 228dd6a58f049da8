"""The phrases people write, at the preview that the page and the API ask."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from support.phrases import ONCE, REFUSED, REFUSED_WHOLE, REPEATING, SUNDAY
from support.site import Site

on_sqlite = pytest.mark.parametrize("database", ["sqlite"], indirect=True)


@on_sqlite
async def test_the_preview_reads_each_phrase_as_the_table_says(site: Site) -> None:
    seen: dict[str, str] = {}
    for phrase, _ in REPEATING:
        seen[phrase] = (await site.owner.post("/api/schedules/preview", json={"when": phrase})).json()["words"]
    assert seen == dict(REPEATING)


@on_sqlite
async def test_the_preview_reads_each_single_time_as_the_table_says(site: Site) -> None:
    site.world.clock.jump(SUNDAY - site.world.now())
    seen: dict[str, datetime] = {}
    for phrase, _ in ONCE:
        [at] = (await site.owner.post("/api/schedules/preview", json={"when": phrase})).json()["next"]
        seen[phrase] = datetime.fromisoformat(at)
    assert seen == {phrase: datetime.fromisoformat(at).replace(tzinfo=SUNDAY.tzinfo) for phrase, at in ONCE}


@on_sqlite
async def test_this_evening_is_today_until_it_has_begun(site: Site) -> None:
    noon = SUNDAY.replace(hour=12)
    site.world.clock.jump(noon - site.world.now())
    asked = {"when": "this evening"}
    [at] = (await site.owner.post("/api/schedules/preview", json=asked)).json()["next"]
    assert datetime.fromisoformat(at).astimezone(ZoneInfo("Europe/Berlin")) == noon.replace(hour=18, second=0, minute=0)
    site.world.clock.jump(timedelta(hours=8))
    late = await site.owner.post("/api/schedules/preview", json=asked)
    assert late.status_code == 422
    assert "in the past" in late.json()["detail"]


@on_sqlite
async def test_the_preview_passes_on_the_hint_of_each_refusal(site: Site) -> None:
    for phrase, hint in (*REFUSED, *REFUSED_WHOLE):
        answer = await site.owner.post("/api/schedules/preview", json={"when": phrase})
        assert answer.status_code == 422, phrase
        assert hint in answer.json()["detail"], phrase
