"""Twenty scripts as somebody writes them who knows one sentence: it runs before the automation, and prints one JSON
line with wakeAgent. They are kept as they came, with their mistakes.
"""

from pathlib import Path

import pytest

from behaviour.gates.conftest import GateHome

SCRIPTS = Path(__file__).parent / "scripts"
NEWS = '{"items": [{"title": "Pears are ripe"}]}'
WOKEN, LEFT_OUT, FAILED = ("ok", None), ("skipped", "gate"), ("error", "script")
# What becomes of the run, and a word of what its people or its agent are told of it.
EXPECTED: dict[str, tuple[tuple[str, str | None], str]] = {
    "01_always.bash": (WOKEN, ""),
    "02_never.bash": (LEFT_OUT, ""),
    "03_weekday.bash": (WOKEN, '"weekday": '),
    "04_disk.bash": (LEFT_OUT, ""),
    "05_curl_status.bash": (WOKEN, '{"status": "000"}'),
    "06_log_lines.bash": (WOKEN, '["a", "b", "c"]'),
    "07_python_in_bash.bash": (LEFT_OUT, ""),
    "08_exit_one.bash": (FAILED, "exit code 1"),
    "09_just_text.bash": (FAILED, 'not "yes, please wake the agent"'),
    "10_sleepy.bash": (FAILED, "took longer than 2 s"),
    "11_string_bool.bash": (FAILED, "wakeAgent must be true or false"),
    # Its folder is empty each time: what is to be remembered is the state's.
    "12_file_state.bash": (WOKEN, "last seen: none"),
    "13_simple.python": (LEFT_OUT, ""),
    "14_print_dict.python": (FAILED, "The last line must be JSON"),
    "15_counter.python": (WOKEN, '{"fresh": [1, 2, 3]}'),
    "16_urllib.python": (FAILED, "No module named 'urllib'"),
    "17_fetch.python": (WOKEN, '["Pears are ripe"]'),
    "18_main_guard.python": (WOKEN, '"hour": '),
    "19_raises.python": (FAILED, "KeyError: threshold"),
    "20_snake_case.python": (WOKEN, "2.4.1"),
}


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
async def test_a_script_as_people_write_it_does_what_rule_50_says(home: GateHome, name: str) -> None:
    end, word = EXPECTED[name]
    home.internet.pages["https://news.example.org/feed.json"] = NEWS
    home.model.otherwise("Done.")
    script = SCRIPTS / name
    job = home.add_gated(
        script.read_text(), language=script.suffix[1:], script_seconds=2, script_hosts=["news.example.org"]
    )
    await home.due()
    assert home.ends(job.id) == [end], home.runs(job.id)[0].error
    run = home.only_run(job.id)
    assert len(home.model.seen) == int(end == WOKEN)
    assert word in (home.heard() if end == WOKEN else run.summary or "")
    shown = home.run(run.id)
    assert shown.gate is not None
    assert shown.gate.ended == ("timeout" if name == "10_sleepy.bash" else "exit")


def test_there_are_twenty() -> None:
    assert sorted(path.name for path in SCRIPTS.iterdir()) == sorted(EXPECTED)
    assert len(EXPECTED) == 20
