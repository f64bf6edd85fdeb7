"""What a request names and carries: a product, the fields of a form, a visitor's cookie.

Limits: a form is at most 1 MiB, in the encoding that browsers use without files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, quote

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from joinery.ui.fleet import Fleet, Standing

LARGEST_FORM = 1 << 20
_FIELDS = 1000
_ENCODING = "application/x-www-form-urlencoded"
_HERE = re.compile(r"/(?!/)[!-\[\]-~]*")  # no second slash, no backslash, nothing but ASCII

Fields = Mapping[str, Sequence[str]]


def standing_of(fleet: Fleet, request: Request) -> Standing:
    """Return the product that an address names.

    Raises:
        HTTPException: There is none.
    """
    from starlette.exceptions import HTTPException

    named = request.path_params
    found = fleet.find(named["project"], named["product"])
    if found is None:
        raise HTTPException(404)
    return found


async def form_of(request: Request) -> Fields:
    """Return the fields of a form.

    Raises:
        HTTPException: It is too large, or in another encoding.
    """
    from starlette.exceptions import HTTPException

    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _ENCODING:
        raise HTTPException(415)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST_FORM:
            raise HTTPException(413)
    try:
        return parse_qs(body.decode("utf-8", "replace"), True, max_num_fields=_FIELDS)
    except ValueError:
        raise HTTPException(400) from None


def first(fields: Fields, name: str) -> str:
    """Return a field of a form; empty where there is none.

    Example:
        >>> first({"id": ["a", "b"]}, "id"), first({}, "id")
        ('a', '')
    """
    return next(iter(fields.get(name, ())), "")


def address_of(request: Request) -> str:
    """Return the address of a page, to come back to."""
    query = f"?{request.url.query}" if request.url.query else ""
    return quote(request.scope["path"]) + query


def address_here(text: str) -> str:
    """Return an address if it is one of this page's own, else that of the first page.

    Example:
        >>> [
        ...     address_here(each)
        ...     for each in ("/p/a/b?x=1", "//evil.example", "https://evil.example")
        ... ]
        ['/p/a/b?x=1', '/', '/']
    """
    return text if _HERE.fullmatch(text) else "/"


def cookie_name(request: Request, what: str) -> str:
    """Return the name of a cookie: browsers do not keep those of two ports apart."""
    _, port = request.scope.get("server") or ("", None)
    return f"joinery_{what}_{port or 0}"


def set_cookie(response: Response, request: Request, what: str, value: str) -> None:
    """Give a browser a cookie that no script reads and no other site's form brings."""
    response.set_cookie(
        cookie_name(request, what),
        value,
        path="/",
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
