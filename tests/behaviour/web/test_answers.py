"""What only the door decides about an answer: its status, and how lists are turned over."""

from support.asking import add, session
from support.site import Site


async def test_a_known_dedupe_key_answers_200_and_says_so(site: Site) -> None:
    session(site.world)
    body = {"session_key": "web:abc", "when": "every 2h", "message": "look", "dedupe_key": "fruit"}
    first = await site.owner.post("/api/jobs", json=body)
    again = await site.owner.post("/api/jobs", json=body | {"message": "look again"})
    assert (first.status_code, again.status_code) == (201, 200)
    assert "deduped" not in first.json()
    assert again.json()["deduped"] is True
    assert again.json()["id"] == first.json()["id"]


async def test_lists_are_turned_over_by_their_cursors(site: Site) -> None:
    for n in range(5):
        add(site.world, name=f"job {n}", message=f"look {n}")
    seen: list[str] = []
    cursor = None
    while True:
        query = {"limit": "2", "sort": "name"} | ({"cursor": cursor} if cursor else {})
        page = (await site.owner.get("/api/jobs", params=query)).json()
        seen += [job["name"] for job in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == [f"job {n}" for n in range(5)]


async def test_short_lists_take_the_words_of_all_lists(site: Site) -> None:
    for path in ("/api/agents", "/api/tokens", "/api/webhooks"):
        response = await site.owner.get(path, params={"limit": "200"})
        assert response.status_code == 200, response.text
        assert response.json()["next_cursor"] is None


async def test_the_runs_of_a_job_come_twenty_at_a_time(site: Site) -> None:
    job = add(site.world)
    response = await site.owner.get(f"/api/jobs/{job.id}/runs")
    assert response.json() == {"items": [], "next_cursor": None}
    twice = await site.owner.get(f"/api/jobs/{job.id}/runs", params={"job_id": "job_other"})
    assert twice.status_code == 422


async def test_what_the_path_says_the_body_does_not_say_again(site: Site) -> None:
    job = add(site.world)
    refused = await site.owner.patch(f"/api/jobs/{job.id}", json={"job_id": "job_other", "name": "x"})
    assert refused.status_code == 422
    assert (await site.owner.get(f"/api/jobs/{job.id}")).json()["name"] == job.name
