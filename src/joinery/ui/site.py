"""The pages as a web application: addresses, and what may be answered to whom.

Invariant: every answer forbids whatever is not the page's own; a name that is not this
machine's is refused, so that no other site's page can read these. Without a door to sign in at,
nothing but reading is answered.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joinery.errors import RunError, needs_extra
from joinery.plan.explain.page import STYLE, Explanation
from joinery.plan.explain.picture import stream_svg, svg
from joinery.ui.access import Door
from joinery.ui.action_site import ActionSite
from joinery.ui.fleet import Explained, Fleet, Snapshot
from joinery.ui.form import standing_of
from joinery.ui.page import Pages
from joinery.ui.table import Table
from joinery.ui.tables import chosen, fleet_table, warning_table
from joinery.ui.why_site import Answer, WhySite

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_MADE = 64  # pages that are kept, each as long as what it shows
_READING = ("GET", "HEAD")
_STRANGE_HOST = b"This page is asked for by localhost or by the address that it listens on.\n"
_ONLY_READ = b"This page only reads; joinery ui --actions serves one that acts.\n"
_LOCAL = ("localhost", "127.0.0.1", "[::1]")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]


class UiMissingError(RunError):
    """The libraries that the page needs are not installed."""

    code = "UI_MISSING"


def site(
    fleet: Fleet, host: str = "127.0.0.1", door: Door | None = None, why: Answer | None = None
) -> Starlette:
    """Return the application that shows a fleet.

    Args:
        fleet: What is shown.
        host: The address that it listens on, which a browser may name it by.
        door: Lets in those who may act; None where nobody may.
        why: Says why a document looks the way it does; None where the page is not asked.

    Raises:
        UiMissingError: Starlette or Jinja is not installed.
    """
    with needs_extra("ui", "joinery ui needs starlette, uvicorn and jinja2", UiMissingError):
        from starlette.applications import Starlette
        from starlette.middleware import Middleware
        from starlette.middleware.gzip import GZipMiddleware
        from starlette.routing import Mount, Route
        from starlette.staticfiles import StaticFiles

        pages = Pages.open(acting=door is not None, asking=why is not None)
    answers = Answers(fleet, pages)
    static = StaticFiles(directory=Path(__file__).parent / "static")
    return Starlette(
        routes=[
            *([] if door is None else ActionSite.of(fleet, pages, door).routes()),
            *([] if why is None else WhySite(fleet, pages, why).routes()),
            Route("/", answers.fleet),
            Route("/{table}.{kind:str}", answers.fleet_data),
            Route("/p/{project}/{product}", answers.product),
            Route("/p/{project}/{product}/plan.svg", answers.picture),
            Route("/p/{project}/{product}/{table}.{kind:str}", answers.product_data),
            Mount("/static", static, name="static"),
        ],
        middleware=[
            Middleware(Guarded, host=host, acting=door is not None),
            Middleware(GZipMiddleware, minimum_size=1000),
        ],
        exception_handlers={404: answers.missing},
    )


class Guarded:
    """Refuses names that are not this machine's, and adds headers to every answer.

    Args:
        app: What answers.
        host: A name beside those of this machine that it may be asked by.
        acting: Whether anything but reading is answered.
    """

    def __init__(self, app: Application, host: str, *, acting: bool = False) -> None:
        self._app, self._acting = app, acting
        self._hosts = {*_LOCAL, host}
        self._everyone = host in ("0.0.0.0", "[::]", "::")

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request, as ASGI has it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _with_headers(message.get("headers", ()))
            await send(message)

        if not (self._everyone or _host(scope) in self._hosts):
            await _refuse(guarded, 421, _STRANGE_HOST)
        elif not (self._acting or scope["method"] in _READING):
            await _refuse(guarded, 405, _ONLY_READ, (b"allow", ", ".join(_READING).encode()))
        else:
            await self._app(scope, receive, guarded)


async def _refuse(send: Send, status: int, why: bytes, *headers: tuple[bytes, bytes]) -> None:
    kind = (b"content-type", b"text/plain; charset=utf-8")
    await send({"type": "http.response.start", "status": status, "headers": [kind, *headers]})
    await send({"type": "http.response.body", "body": why})


def _host(scope: Message) -> str:
    asked = next((value for name, value in scope["headers"] if name == b"host"), b"")
    host, _, port = asked.decode("latin-1").rpartition(":")
    return (host if port.isdigit() else asked.decode("latin-1")).lower()


def _with_headers(given: Any) -> list[tuple[bytes, bytes]]:
    headers = [(name.lower(), value) for name, value in given]
    known = {name for name, _ in headers}
    added = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
    return [*headers, *(each for each in added if each[0] not in known)]


class Answers:
    """What the addresses answer; each is called in a thread of its own."""

    def __init__(self, fleet: Fleet, pages: Pages) -> None:
        self._fleet, self._pages = fleet, pages
        self._made: dict[str, tuple[Snapshot, str]] = {}

    def fleet(self, request: Request) -> Response:
        """Answer with the page of all products."""
        asked = request.query_params
        return self._page(
            request,
            lambda: self._pages.fleet(
                self._fleet,
                text=asked.get("q", ""),
                attention="attention" in asked,
                sort=asked.get("sort", ""),
                query=request.url.query,
            ),
        )

    def fleet_data(self, request: Request) -> Response:
        """Answer with a table of the first page."""
        asked, snapshot = request.query_params, self._fleet.snapshot()
        products = chosen(
            snapshot,
            text=asked.get("q", ""),
            attention="attention" in asked,
            sort=asked.get("sort", ""),
        )
        return _data(request, [fleet_table(products), warning_table(snapshot)])

    def product(self, request: Request) -> Response:
        """Answer with the page of one product."""
        standing = standing_of(self._fleet, request)
        return self._page(request, lambda: self._pages.product(self._fleet, standing))

    def product_data(self, request: Request) -> Response:
        """Answer with a table of a product's page."""
        return _data(request, self._pages.tables(self._fleet, standing_of(self._fleet, request)))

    def picture(self, request: Request) -> Response:
        """Answer with the picture of a product's plan."""
        from starlette.exceptions import HTTPException
        from starlette.responses import Response

        plan = self._fleet.plan(standing_of(self._fleet, request))
        if isinstance(plan, str):
            raise HTTPException(404)
        headers = {"content-security-policy": _PICTURE_POLICY}
        return Response(_picture(plan), media_type="image/svg+xml", headers=headers)

    def missing(self, request: Request, error: Exception) -> Response:
        """Answer that there is nothing at an address."""
        from starlette.responses import HTMLResponse

        return HTMLResponse(self._pages.missing(request.url.path), status_code=404)

    def _page(self, request: Request, make: Callable[[], str]) -> Response:
        """Answer with a page, made once of what the fleet was seen to be, however many ask."""
        from starlette.responses import HTMLResponse

        seen, address = self._fleet.snapshot(), f"{request.url.path}?{request.url.query}"
        known = self._made.get(address)
        if known is None or known[0] is not seen:
            if len(self._made) >= _MADE:
                self._made.clear()
            known = self._made[address] = (seen, make())
        return HTMLResponse(known[1])


def _data(request: Request, tables: list[Table]) -> Response:
    """Answer with one of some tables, as the address names it and its kind."""
    from starlette.exceptions import HTTPException
    from starlette.responses import Response

    name, kind = request.path_params["table"], request.path_params["kind"]
    found = next((each for each in tables if each.name == name), None)
    if found is None or kind not in ("csv", "json"):
        raise HTTPException(404)
    if kind == "json":
        return Response(found.to_json(), media_type="application/json")
    headers = {"content-disposition": f'attachment; filename="{name}.csv"'}
    return Response(found.to_csv(), media_type="text/csv; charset=utf-8", headers=headers)


def _picture(plan: Explained) -> str:
    """Return the picture of a plan, with its own style: it is shown as an image."""
    drawn = svg(plan.product) if isinstance(plan, Explanation) else stream_svg(plan.stream)
    begin, rest = drawn.split(">", 1)
    return f"{begin}><style>{STYLE}</style>{rest}"
