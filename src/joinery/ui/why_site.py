"""Why a document looks the way it does, on a page: its address names the product and the key.

Invariant: one question is answered at a time, since an answer may take a Java process that reads
whole logs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from joinery.errors import JoineryError
from joinery.text.sentence import sentence
from joinery.ui.fleet import Fleet
from joinery.ui.form import standing_of
from joinery.ui.page import Pages

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

Answer: TypeAlias = Callable[[Path, str, str], Sequence[str]]
"""Returns lines of text for a project file, a product and the text of a key."""

_BUSY = "another question is being answered."
_BUSY_HINT = "Read the page again in a while."


class WhySite:
    """Answers the addresses `/p/PROJECT/PRODUCT/why?key=KEY`.

    Args:
        fleet: Whose products are asked about.
        pages: Makes the page.
        answer: Gives the answer; what it raises is shown.
    """

    def __init__(self, fleet: Fleet, pages: Pages, answer: Answer) -> None:
        self._fleet, self._pages, self._answer = fleet, pages, answer
        self._one = threading.Lock()

    def routes(self) -> list[Route]:
        """Return what is answered; called in threads."""
        from starlette.routing import Route

        return [Route("/p/{project}/{product}/why", self.why)]

    def why(self, request: Request) -> Response:
        """Answer with the rows of a document; without a key with the form that asks for one."""
        from starlette.responses import HTMLResponse

        standing = standing_of(self._fleet, request)
        key = request.query_params.get("key", "")
        asked = key if request.method == "GET" else ""
        file, product = standing.place.file, standing.status.product
        status, lines, error, hint = self._told(file, product, asked)
        page = self._pages.render(
            "why.html",
            project=standing.place.slug,
            product=product,
            key=key,
            lines=lines,
            error=error,
            hint=hint,
        )
        return HTMLResponse(page, status_code=status)

    def _told(self, file: Path, product: str, key: str) -> tuple[int, Sequence[str], str, str]:
        """Return the status of the answer, its lines, or an error in sentences and what helps."""
        if not key:
            return 200, (), "", ""
        if not self._one.acquire(blocking=False):
            return 503, (), _BUSY, _BUSY_HINT
        try:
            return 200, self._answer(file, product, key), "", ""
        except JoineryError as error:
            told = " ".join(sentence(each) for each in (error.message, error.detail) if each)
            return 400, (), told, error.hint
        except OSError as error:
            return 500, (), sentence(str(error)), ""
        finally:
            self._one.release()
