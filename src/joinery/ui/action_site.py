"""The addresses of what can be done: signing in, and a page that asks before each action.

Invariant: an address that changes anything takes nothing but a form that was shown to somebody
who signed in.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from joinery.errors import JoineryError
from joinery.operate.pause import members_of, sharing
from joinery.ui.access import Door, SignInError, Visit, new_secret, same, spoken
from joinery.ui.acting import (
    NOT_LISTED,
    ActionResult,
    Actions,
    LetterSelection,
    LetterVerb,
    PauseVerb,
    fixable,
)
from joinery.ui.fleet import Fleet
from joinery.ui.form import (
    Fields,
    address_here,
    address_of,
    cookie_name,
    first,
    form_of,
    set_cookie,
    standing_of,
)
from joinery.ui.page import Pages, reasons_of
from joinery.ui.tables import dead_letter_table

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

_log = logging.getLogger(__name__)
_PRODUCT = "/p/{project}/{product}"
_LONGEST_WHY = 200
_LONGEST_VALUE = 100_000
_SHOWN = 20
_STRANGE = ActionResult(
    "Nothing was done: this form is not from a page that was shown to you",
    ("You may have been signed out: sign in, and open the page again.",),
    refused=True,
)
_NONE_CHOSEN = ActionResult(
    "No dead letters are chosen", ("Select some, or choose all of one reason.",), refused=True
)

Shown = Callable[["Request", Visit], "Response"]
Done = Callable[["Request", Visit, Fields], "Response"]


@dataclass
class ActionSite:
    """Answers what has to do with actions.

    Attributes:
        actions: What can be done.
        pages: Makes the pages.
        door: Knows who may do it.
    """

    actions: Actions
    pages: Pages
    door: Door

    @classmethod
    def of(cls, fleet: Fleet, pages: Pages, door: Door) -> ActionSite:
        """Return what answers for a fleet."""
        return cls(Actions(fleet), pages, door)

    def routes(self) -> list[Route]:
        """Return the addresses."""
        from starlette.routing import Route

        found = [
            Route("/sign-in", self.sign_in_page),
            Route("/sign-in", self.sign_in, methods=["POST"]),
            Route("/sign-out", self._taken(self._sign_out), methods=["POST"]),
            Route(f"{_PRODUCT}/dead-letters", self._shown(self._letters)),
        ]
        pauses: tuple[PauseVerb, ...] = ("pause", "resume")
        for verb in pauses:
            page, done = _Pausing(self, verb).page, _Pausing(self, verb).done
            found += self._pair(f"{_PRODUCT}/{verb}", page, done)
        handlings: tuple[LetterVerb, ...] = ("replay", "drop")
        for each in handlings:
            handling = _Handling(self, each)
            address = f"{_PRODUCT}/dead-letters/{each}"
            found += self._pair(address, handling.page, handling.done)
        return found

    def sign_in_page(self, request: Request) -> Response:
        """Show the form to sign in with, or who has signed in."""
        visit = self.visit(request)
        if visit is not None:
            return self.answer("signed_in.html", visit=visit)
        return self._form(request, address_here(request.query_params.get("next", "/")))

    async def sign_in(self, request: Request) -> Response:
        """Let somebody in, and send them where they wanted to go."""
        from starlette.concurrency import run_in_threadpool

        return await run_in_threadpool(self._signed_in, request, await form_of(request))

    def visit(self, request: Request) -> Visit | None:
        """Return who asks; None for somebody who has not signed in."""
        return self.door.visit(request.cookies.get(cookie_name(request, "visit"), ""))

    def answer(self, template: str, status: int = 200, **facts: object) -> Response:
        """Answer with a page."""
        from starlette.responses import HTMLResponse

        return HTMLResponse(self.pages.render(template, **facts), status_code=status)

    def told(
        self, visit: Visit | None, told: ActionResult, status: int = 0, **facts: object
    ) -> Response:
        """Answer with what became of an action."""
        code = status or (409 if told.refused else 200)
        known = {"standing": None, **facts}
        return self.answer("told.html", code, told=told, visit=visit, **known)

    def _form(self, request: Request, back: str, error: SignInError | None = None) -> Response:
        """Show the form to sign in with, bound to the browser by a cookie of its own."""
        name = cookie_name(request, "form")
        secret = request.cookies.get(name) or new_secret()
        answer = self.answer("sign_in.html", _status(error), form=secret, back=back, error=error)
        if error is not None and error.wait_s:
            answer.headers["retry-after"] = str(error.wait_s)
        set_cookie(answer, request, "form", secret)
        return answer

    def _signed_in(self, request: Request, fields: Fields) -> Response:
        from starlette.responses import RedirectResponse

        shown = request.cookies.get(cookie_name(request, "form"), "")
        if not (shown and same(shown, first(fields, "form"))):
            return self.told(None, _STRANGE, 403)
        back = address_here(first(fields, "next"))
        try:
            cookie = self.door.sign_in(first(fields, "token"), first(fields, "name"))
        except SignInError as error:
            if error.wrong:
                _log.warning("a wrong token for actions, from %s", _client(request))
            return self._form(request, back, error)
        answer = RedirectResponse(back, 303)
        set_cookie(answer, request, "visit", cookie)
        return answer

    def _sign_out(self, request: Request, visit: Visit, fields: Fields) -> Response:
        from starlette.responses import RedirectResponse

        name = cookie_name(request, "visit")
        self.door.sign_out(request.cookies.get(name, ""))
        answer = RedirectResponse("/", 303)
        answer.delete_cookie(name, path="/", httponly=True, samesite="strict")
        return answer

    def _letters(self, request: Request, visit: Visit) -> Response:
        standing = standing_of(self.actions.fleet, request)
        kept = self.actions.fleet.letters(standing)
        if kept is None:
            return self.told(visit, NOT_LISTED, standing=standing)
        newest = sorted(kept.open, key=lambda each: each.time, reverse=True)
        return self.answer(
            "letters.html",
            visit=visit,
            standing=standing,
            table=dead_letter_table(newest),
            reasons=reasons_of(newest),
        )

    def _pair(self, address: str, page: Shown, done: Done) -> list[Route]:
        """Return an address that asks, and takes the answer."""
        from starlette.routing import Route

        return [
            Route(address, self._shown(page)),
            Route(address, self._taken(done), methods=["POST"]),
        ]

    def _shown(self, page: Shown) -> Callable[[Request], Response]:
        """Return what shows a page to those who signed in; others it sends to sign in."""

        def answer(request: Request) -> Response:
            from starlette.responses import RedirectResponse

            visit = self.visit(request)
            if visit is None:
                back = quote(address_of(request), safe="")
                return RedirectResponse(f"/sign-in?next={back}", 303)
            return page(request, visit)

        return answer

    def _taken(self, done: Done) -> Callable[[Request], Any]:
        """Return what takes a form of those who signed in, and of nobody else."""

        def answer(request: Request, fields: Fields) -> Response:
            visit = self.visit(request)
            if visit is None or not visit.owns(first(fields, "form")):
                return self.told(visit, _STRANGE, 403)
            return done(request, visit, fields)

        async def take(request: Request) -> Response:
            from starlette.concurrency import run_in_threadpool

            return await run_in_threadpool(answer, request, await form_of(request))

        return take


@dataclass(frozen=True, slots=True)
class _Pausing:
    """Asks whether a product is to be paused or resumed, and does it."""

    site: ActionSite
    verb: PauseVerb

    def page(self, request: Request, visit: Visit) -> Response:
        fleet = self.site.actions.fleet
        standing = standing_of(fleet, request)
        spec, query = standing.place.spec, standing.status.query
        try:
            members = members_of(spec, sharing(spec, query), self.verb)[query]
        except JoineryError as error:
            return self.site.told(visit, ActionResult.of(error), standing=standing)
        paused = fleet.paused(standing)
        return self.site.answer(
            "pause.html",
            visit=visit,
            standing=standing,
            verb=self.verb,
            members=members,
            paused=None if paused is None else str(paused),
            needless=(paused is not None) == (self.verb == "pause"),
            longest=_LONGEST_WHY,
        )

    def done(self, request: Request, visit: Visit, fields: Fields) -> Response:
        standing = standing_of(self.site.actions.fleet, request)
        why = spoken(first(fields, "why"))
        if why is None or len(why) > _LONGEST_WHY:
            told = ActionResult(
                "The reason cannot be kept",
                (f"Write one line of at most {_LONGEST_WHY} characters.",),
                refused=True,
            )
            return self.site.told(visit, told, 400, standing=standing)
        told = self.site.actions.pause(standing, self.verb, by=visit.by, why=why)
        return self.site.told(visit, told, standing=standing)


@dataclass(frozen=True, slots=True)
class _Handling:
    """Asks whether dead letters are to be replayed or dropped, and does it."""

    site: ActionSite
    verb: LetterVerb

    def page(self, request: Request, visit: Visit) -> Response:
        query = request.query_params
        asked = LetterSelection(tuple(query.getlist("id")), query.get("reason", ""))
        standing = standing_of(self.site.actions.fleet, request)
        if not (asked.ids or asked.reason):
            return self.site.told(visit, _NONE_CHOSEN, 400, standing=standing)
        found = self.site.actions.letters(standing, asked)
        if found is None:
            return self.site.told(visit, NOT_LISTED, standing=standing)
        letters = [each for each in found if each.state == "open"]
        one = letters[0] if len(letters) == 1 else None
        small = one is not None and len(str(one.facts.get("value"))) <= _LONGEST_VALUE
        editable = one is not None and small and self.verb == "replay" and fixable(one)
        return self.site.answer(
            "handle.html",
            visit=visit,
            standing=standing,
            verb=self.verb,
            asked=asked,
            until=letters[0].time if letters else "",
            count=len(letters),
            table=dead_letter_table(letters[:_SHOWN]),
            value=str(one.facts["value"]) if one is not None and editable else None,
        )

    def done(self, request: Request, visit: Visit, fields: Fields) -> Response:
        standing = standing_of(self.site.actions.fleet, request)
        ids = tuple(dict.fromkeys(fields.get("id", ())))
        asked = LetterSelection(ids, first(fields, "reason"), first(fields, "until"))
        if not (asked.ids or (asked.reason and _moment(asked.until))):
            return self.site.told(visit, _NONE_CHOSEN, 400, standing=standing)
        value = first(fields, "value") if "value" in fields else None
        told = self.site.actions.handle(standing, self.verb, asked, by=visit.by, value=value)
        return self.site.told(visit, told, standing=standing)


def _status(error: SignInError | None) -> int:
    if error is None:
        return 200
    if error.wrong:
        return 403
    return 429 if error.wait_s else 400


def _moment(text: str) -> bool:
    """Return whether a text is a time that letters can be compared with.

    Example:
        >>> [_moment(each) for each in ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05", "soon")]
        [True, False, False]
    """
    from datetime import datetime

    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _client(request: Request) -> str:
    return request.client.host if request.client is not None else "somebody"
