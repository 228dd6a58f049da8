"""What a card says beside the arguments, for what they do not say by themselves."""

from typing import Any

import pytest

from homing.operations.shapes.approval import warnings_about


@pytest.mark.parametrize(
    ("tool", "args", "said"),
    [
        ("request_access", {"host": "example.org"}, None),
        ("request_access", {"host": "93.184.216.34:443"}, None),
        ("request_access", {"host": "127.0.0.1:8080"}, "127.0.0.1:8080 is this machine."),
        ("request_access", {"host": "localhost:8080"}, "localhost:8080 is this machine."),
        ("request_access", {"host": "[::1]:80"}, "[::1]:80 is this machine."),
        ("request_access", {"host": "10.1.2.3:80"}, "10.1.2.3:80 is a private network."),
        ("request_access", {"host": "169.254.169.254:80"}, "169.254.169.254:80 is a machine's own surroundings."),
        ("request_access", {"host": "db.example:5432"}, "may also lead into a private network"),
        ("request_access", {"address": "email:anna@example.org", "for_user": "a"}, None),
        ("add_mcp_server", {"hosts": ["192.168.0.2:80"], "url": None}, "192.168.0.2:80 is a private network."),
        ("add_mcp_server", {"hosts": [], "url": "http://127.0.0.1:99/mcp"}, "127.0.0.1:99 is this machine."),
        ("add_mcp_server", {"hosts": [], "url": "https://example.org/mcp"}, None),
        ("run_command", {"command": "sh x.sh"}, "can change until it runs"),
        ("remember", {"text": "127.0.0.1:80"}, None),
    ],
)
def test_a_card_says_what_the_arguments_do_not(tool: str, args: dict[str, Any], said: str | None) -> None:
    found = warnings_about(tool, args)
    assert [said in one for one in found] == [True] if said else found == []
