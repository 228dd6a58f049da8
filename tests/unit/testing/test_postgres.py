from collections.abc import Iterator

import psycopg
import pytest

from homing.model.errors import Failed
from homing.testing import PostgresServer
from homing.testing.postgres import SHARED_VARIABLE


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer(max_connections=211) as server:
        yield server


def value(url: str, query: str) -> object:
    with psycopg.connect(url) as connection:
        row = connection.execute(query.encode()).fetchone()
    assert row
    return row[0]


def test_its_settings_are_those_of_a_test_server(server: PostgresServer) -> None:
    assert value(server.url(), "show max_connections") == "211"
    assert value(server.url(), "show fsync") == "off"
    assert value(server.url(), "show server_encoding") == "UTF8"


def test_fresh_databases_know_nothing_of_each_other(server: PostgresServer) -> None:
    one, other = server.fresh(), server.fresh()
    with psycopg.connect(one) as connection:
        connection.execute("create table fruit (name text)")
    assert value(one, "select count(*) from pg_class where relname = 'fruit'") == 1
    assert value(other, "select count(*) from pg_class where relname = 'fruit'") == 0


def test_a_template_is_filled_once_and_copied(server: PostgresServer) -> None:
    filled: list[str] = []

    def fill(url: str) -> None:
        filled.append(url)
        with psycopg.connect(url) as connection:
            connection.execute("create table fruit as select 'apple' as name")

    for _ in range(2):
        assert value(server.fresh(server.template("fruits", fill)), "select name from fruit") == "apple"
    assert len(filled) == 1


def test_two_who_fill_the_same_template_at_once_keep_one(server: PostgresServer) -> None:
    def slow(url: str) -> None:
        server.template("raced", lambda _: None)

    assert server.template("raced", slow) == "raced"
    assert server.sql("select count(*) from pg_database where datname like 'raced%'") == "1"


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_restart_cuts_connections_and_keeps_the_data(server: PostgresServer, mode: str) -> None:
    assert mode in ("fast", "immediate")
    url = server.fresh()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("create table fruit as select 'apple' as name")
        server.restart(mode)
        with pytest.raises(psycopg.OperationalError):
            connection.execute("select 1")
    assert value(url, "select name from fruit") == "apple"


def test_a_fresh_database_can_be_dropped_under_its_clients(server: PostgresServer) -> None:
    url = server.fresh()
    with psycopg.connect(url):
        server.drop(url)
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(url)


def test_children_join_the_shared_server_and_clean_up_after_themselves(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SHARED_VARIABLE, server.url())
    with PostgresServer.shared() as joined:
        url = joined.fresh()
        assert value(url, "select 1") == 1
        with pytest.raises(Failed, match="start your own"):
            joined.restart()
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(url)
    assert value(server.url(), "select 1") == 1


def test_the_first_to_ask_for_a_shared_server_starts_it_and_stop_removes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SHARED_VARIABLE, raising=False)
    with PostgresServer.shared() as first, PostgresServer.shared() as second:
        url = first.url()
        assert second.url() == url
        assert value(second.fresh(), "select 1") == 1
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url)


def test_a_wrong_statement_gives_the_servers_own_words(server: PostgresServer) -> None:
    with pytest.raises(Failed, match="syntax error"):
        server.sql("selekt 1")
