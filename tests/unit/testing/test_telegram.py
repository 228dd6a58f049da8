"""The Telegram for tests as a program: a chat in the terminal."""

import json
import subprocess
import sys
from typing import IO, Any

import httpx2


def say(typed: IO[str], text: str) -> None:
    typed.write(text + "\n")
    typed.flush()


def test_as_a_process_it_is_a_chat_in_the_terminal() -> None:
    command = [sys.executable, "-m", "homing.testing.telegram"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        try:
            where = json.loads(process.stdout.readline())
            with httpx2.Client(base_url=f"{where['url']}/bot{where['token']}/", timeout=60) as bot:

                def ask(method: str, **fields: Any) -> Any:
                    return bot.post(method, json=fields).json()["result"]

                say(process.stdin, "link hm-1")
                [heard] = ask("getUpdates", timeout=50)
                assert heard["message"]["text"] == "link hm-1"
                rows = [[{"text": "Yes", "callback_data": "y"}], [{"text": "No", "callback_data": "n"}]]
                chat = heard["message"]["chat"]["id"]
                ask("sendMessage", chat_id=chat, text="Really?", reply_markup={"inline_keyboard": rows})
                shown = [process.stdout.readline() for _ in range(3)]
                assert shown == ["bot: Really?\n", "     #1 Yes\n", "     #2 No\n"]
                say(process.stdin, "#2")
                [pressed] = ask("getUpdates", offset=heard["update_id"] + 1, timeout=50)
                assert pressed["callback_query"]["data"] == "n"
        finally:
            process.kill()
