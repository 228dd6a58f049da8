"""`homing usage`: sums for people and as JSON, and what was asked in a way that makes no sense."""

from support.commands import Homing


def test_usage_is_shown_by_day_and_by_model_and_as_json(homing: Homing, server: str) -> None:
    assert "No model calls in these days." in homing("usage").out
    homing("send", "cli:main", "hello", "--wait")
    shown = homing("usage", "--by", "model")
    assert shown.code == 0
    for part in ("MODEL", "offline", "Today", "This month", "Forecast", "$0.00"):
        assert part in shown.out, shown.out
    report = homing("usage", "--json").object
    assert [item["turns"] for item in report["items"]] == [1]
    assert report["items"][0]["key"] == report["to"]
    earlier = homing("usage", "--from", "2024-01-01", "--to", "2024-02-01", "--json").object
    assert (earlier["items"], earlier["from"]) == ([], "2024-01-01")


def test_a_day_that_is_none_is_refused_with_a_sentence(homing: Homing, server: str) -> None:
    said = homing("usage", "--from", "yesterday")
    assert said.code == 2
    assert "from must be a day such as 2026-11-17, not 'yesterday'." in said.err


def test_the_budget_of_an_automation_is_a_flag(homing: Homing, server: str) -> None:
    job = homing("cron", "add", "every 2h", "-m", "look", "--budget", "0.5", "--json").object
    assert job["max_cost_usd_per_day"] == 0.5
    assert job["usage"] == {"turns": 0, "input_tokens": 0, "output_tokens": 0, "cost_usd": 0.0}
    assert "refused" not in homing("cron", "update", job["id"], "--budget", "0").out
    assert homing("cron", "get", job["id"], "--json").object["max_cost_usd_per_day"] == 0
