"""uv and npm get the settings of this host and nothing else; what they say is shown without addresses."""

from pathlib import Path

import pytest

from homing.sandbox.package_errors import words_of
from homing.sandbox.package_indexes import npm_environment, uv_environment

CACHE = Path("/cache")


@pytest.fixture
def host(tmp_path: Path) -> dict[str, str]:
    (tmp_path / ".config/pip").mkdir(parents=True)
    (tmp_path / ".config/pip/pip.conf").write_text(
        "[global]\nindex-url = https://a/simple\nextra-index-url =\n    https://b/simple\n    https://c/simple\n"
        "[install]\nfind-links = /wheels\n"
    )
    return {"HOME": str(tmp_path), "PIP_CONFIG_FILE": str(tmp_path / ".config/pip/pip.conf")}


def test_where_uv_has_no_index_that_of_pip_is_used(host: dict[str, str]) -> None:
    given = uv_environment(host, CACHE)

    assert given["UV_DEFAULT_INDEX"] == "https://a/simple"
    assert given["UV_INDEX"] == "https://b/simple https://c/simple"
    assert given["UV_FIND_LINKS"] == "/wheels"
    assert (
        uv_environment({**host, "PIP_INDEX_URL": "https://d/simple"}, CACHE)["UV_DEFAULT_INDEX"] == "https://d/simple"
    )


def test_an_index_of_uvs_own_stands_alone(host: dict[str, str]) -> None:
    by_variable = uv_environment({**host, "UV_INDEX_URL": "https://u/simple"}, CACHE)
    file = Path(host["HOME"]) / ".config/uv/uv.toml"
    file.parent.mkdir()
    file.write_text("[[index]]\n")
    by_file = uv_environment(host, CACHE)

    assert by_variable["UV_INDEX_URL"] == "https://u/simple"
    assert "UV_DEFAULT_INDEX" not in by_variable
    assert not {"UV_DEFAULT_INDEX", "UV_INDEX", "UV_FIND_LINKS"} & by_file.keys()


def test_a_pip_conf_that_cannot_be_read_is_left_out(host: dict[str, str]) -> None:
    Path(host["PIP_CONFIG_FILE"]).write_text("index-url without a section\n")

    assert "https://a/simple" not in uv_environment(host, CACHE).values()
    assert not {"UV_DEFAULT_INDEX"} & uv_environment({**host, "PIP_CONFIG_FILE": "/dev/null"}, CACHE).keys()


def test_only_what_they_are_set_up_with_is_passed_on() -> None:
    passed = {
        "HOME": "/h",
        "https_proxy": "http://p",
        "SSL_CERT_FILE": "/c",
        "UV_INDEX": "https://u",
        "UV_INDEX_MINE_PASSWORD": "its own",
        "npm_config_registry": "https://n",
        "NODE_EXTRA_CA_CERTS": "/c",
    }
    kept_back = {
        "HOMING_SECRET_X": "sesame",
        "ANTHROPIC_API_KEY": "sesame",
        "LD_PRELOAD": "sesame",
        "PYTHONPATH": "sesame",
        "NODE_OPTIONS": "sesame",
        "UV_PYTHON": "sesame",
        "UV_OVERRIDE": "sesame",
        "UV_COMPILE_BYTECODE": "sesame",
        "UV_CACHE_DIR": "sesame",
        "UV_NO_VERIFY_HASHES": "sesame",
        "npm_config_prefix": "sesame",
        "npm_config_ignore_scripts": "sesame",
        "npm_config_script_shell": "sesame",
        "PATH": "sesame",
    }
    for given in (uv_environment, npm_environment):
        values = given({**passed, **kept_back}, CACHE).values()
        assert "sesame" not in values
        assert {"/h", "http://p", "/c"} <= set(values)
    assert "its own" in uv_environment(passed, CACHE).values()
    assert "https://n" in npm_environment(passed, CACHE).values()


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("error: Failed to fetch: `https://u:pw@index.example/simple/a/`", "Failed to fetch: `the index`"),
        ("  × No solution\n  ╰─▶ Because a was not found", "No solution Because a was not found"),
        ("  × No solution\n\n  hint: Pre-releases are there;\n  use --prerelease=allow", "No solution"),
        ("npm error 404\nnpm error A complete log of this run can be found in: x", "404"),
        ("getaddrinfo ENOTFOUND registry.internal", "getaddrinfo ENOTFOUND the index"),
        ("connect ECONNREFUSED 10.0.0.1:4873", "connect ECONNREFUSED the index"),
        ("cannot open /home/ana/.npmrc now", "cannot open a file now"),
        ("\x1b[31mred\x1b[0m \u202eback", "red back"),
        ("@types/node and a/b>=1", "@types/node and a/b>=1"),
    ],
)
def test_what_an_index_said_is_shown_without_addresses(printed: str, shown: str) -> None:
    assert words_of(printed) == shown
    assert len(words_of(printed * 100)) <= 600
