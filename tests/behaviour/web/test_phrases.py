"""The phrases people write, at the preview that the page and the API ask."""

import pytest

from support.phrases import REFUSED, REFUSED_WHOLE, REPEATING
from support.site import Site

on_sqlite = pytest.mark.parametrize("database", ["sqlite"], indirect=True)


@on_sqlite
async def test_the_preview_reads_each_phrase_as_the_table_says(site: Site) -> None:
    seen: dict[str, str] = {}
    for phrase, _ in REPEATING:
        seen[phrase] = (await site.owner.post("/api/schedules/preview", json={"when": phrase})).json()["words"]
    assert seen == dict(REPEATING)


@on_sqlite
async def test_the_preview_passes_on_the_hint_of_each_refusal(site: Site) -> None:
    for phrase, hint in (*REFUSED, *REFUSED_WHOLE):
        answer = await site.owner.post("/api/schedules/preview", json={"when": phrase})
        assert answer.status_code == 422, phrase
        assert hint in answer.json()["detail"], phrase
