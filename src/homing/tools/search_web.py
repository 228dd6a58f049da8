"""`search_web`: asks the search server that the administrator set up, SearXNG by its JSON API."""

import json
from collections.abc import Mapping

import httpx2

from homing.agent.frames import frame, one_line
from homing.agent.sources import SEARCH
from homing.channels.pinned import Network, host_and_port
from homing.model.errors import Invalid, Refused, ToolFailed
from homing.sandbox.hosts import read_hosts
from homing.tools.fetching import SECONDS, Page, fetch, read_url
from homing.tools.tool import CallContext, OutsideTool

MAX_RESULTS = 10
_LONGEST_QUERY = 400
_LONGEST_TITLE = 200
_LONGEST_EXTRACT = 500
_NO_RESULTS = "The search found nothing. Try other words."


def offer(search_url: str, *, network: Network | None = None) -> OutsideTool:
    """Give the tool for a search server."""
    server = read_url(search_url)
    # The administrator named it, so it may be this machine's; it sends us nowhere else.
    host, port = host_and_port(server)
    hosts = read_hosts([f"[{host}]:{port}" if ":" in host else f"{host}:{port}"])

    def may_go(url: httpx2.URL) -> None:
        if host_and_port(url) != (host, port):
            raise ToolFailed("The search server redirects to another one: its URL (HOMING_SEARCH_URL) is wrong.")

    async def run(ctx: CallContext, arguments: Mapping[str, object]) -> str:
        query = arguments.get("query")
        if not isinstance(query, str) or not query.strip():
            raise Invalid('query is missing. A correct call: {"query": "owls Berlin"}', field="query", code="missing")
        wanted = {"q": one_line(query)[:_LONGEST_QUERY], "format": "json"}
        url = httpx2.URL(f"{search_url.rstrip('/')}/search", params=wanted)
        try:
            page = await fetch(url, hosts=hosts, may_go=may_go, network=network)
        except (ToolFailed, Refused) as failure:
            raise ToolFailed(f"The search server cannot be used: {failure.detail}") from None
        lines = [_line(result) for result in _results(page)]
        # The query is not repeated: what the model wrote names no URL (rule 41).
        return frame("web.search", "\n".join(lines)) if lines else _NO_RESULTS

    return OutsideTool(
        name=SEARCH,
        description="Search the web. Gives titles, URLs and extracts of pages; read a page with fetch_url.",
        parameters={
            "type": "object",
            "required": ["query"],
            "properties": {"query": {"type": "string", "description": "A few words, as for a search engine"}},
        },
        run=run,
        repeatable=True,
        reads_only=True,
        seconds=SECONDS + 5,
    )


def _results(page: Page) -> list[Mapping[str, str]]:
    if page.status != 200:
        hint = " Does its settings.yml allow the format json?" if page.status == 403 else ""
        raise ToolFailed(f"The search server answered {page.status}.{hint}")
    try:
        found = json.loads(page.body)["results"]
        return [_read(result) for result in found if str(result["url"]).startswith(("http://", "https://"))][
            :MAX_RESULTS
        ]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ToolFailed("The search server did not answer as SearXNG does (HOMING_SEARCH_URL).") from None


def _read(result: Mapping[str, object]) -> Mapping[str, str]:
    return {name: one_line(str(result.get(name) or "")) for name in ("title", "url", "content")}


def _line(result: Mapping[str, str]) -> str:
    title, extract = result["title"][:_LONGEST_TITLE], result["content"][:_LONGEST_EXTRACT]
    return "\n".join(filter(None, [f"- {title}", f"  {result['url'][:2048]}", f"  {extract}" if extract else ""]))
