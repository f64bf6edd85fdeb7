"""Who may act on the page: a token that is entered once, with a name, and a cookie from then on.

Invariant: how long a token takes to be refused does not depend on what is wrong with it, and
after a wrong one nobody can try another for a while. A form is taken only from who was shown it.

Limits: who signed in is forgotten when the page ends, and after twelve hours. The name is what
was typed: the token is one for all.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from joinery.delivery.control import who
from joinery.errors import JoineryError, SpecError

_LASTS_S = 12 * 3600.0
_VISITS = 1000
_SHORTEST_TOKEN = 16
_LONGEST_NAME = 60
_LONGEST_WAIT_S = 30.0
_FORGIVEN_S = 600.0
_SECRET_BYTES = 32


class TokenError(SpecError):
    """A token is too short to keep others out."""

    code = "UI_TOKEN"


class SignInError(JoineryError):
    """Somebody may not sign in, or not yet.

    Attributes:
        wait_s: How long nobody may try again, in seconds; 0 where trying again is no matter.
        wrong: Whether the token was wrong.
    """

    code = "UI_SIGN_IN"

    def __init__(self, message: str, *, hint: str, wait_s: int = 0, wrong: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.wait_s, self.wrong = wait_s, wrong


@dataclass(frozen=True, slots=True)
class Visit:
    """Somebody who signed in.

    Attributes:
        name: As it was typed.
        form: What every form of this visit carries, and no other page can know.
        ends_at: By the clock of the door.
    """

    name: str
    form: str
    ends_at: float

    @property
    def by(self) -> str:
        """Who acts, as logs have it: the name, and whose process the page is."""
        return f"{self.name} (page of {who()})"

    def owns(self, form: str) -> bool:
        """Return whether a form was shown to this visitor."""
        return same(self.form, form)


class Door:
    """Lets in those who have the token.

    Args:
        token: What has to be known; made where it is empty.
        clock: In seconds.

    Raises:
        TokenError: The token has fewer than 16 characters.
    """

    def __init__(self, token: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        if token and len(token) < _SHORTEST_TOKEN:
            raise TokenError(
                f"the token for actions has fewer than {_SHORTEST_TOKEN} characters",
                hint="Leave it out to have one generated; or take one from: openssl rand -hex 20",
            )
        self.token = token or secrets.token_urlsafe(_SECRET_BYTES)
        self._clock, self._mutex = clock, threading.Lock()
        self._visits: dict[str, Visit] = {}
        self._wrong, self._next_at = 0, -math.inf

    def sign_in(self, token: str, name: str) -> str:
        """Return the secret that stands for a visit from now on, to be kept in a cookie.

        Raises:
            SignInError: The token is wrong, one was wrong a moment ago, or the name cannot be.
        """
        with self._mutex:
            self._check(token)
            visit = Visit(_name(name), new_secret(), self._clock() + _LASTS_S)
            self._drop_ended()
            cookie = new_secret()
            self._visits[_digest(cookie)] = visit
            return cookie

    def visit(self, cookie: str) -> Visit | None:
        """Return whose cookie this is; None where nobody's, any more or ever."""
        with self._mutex:
            visit = self._visits.get(_digest(cookie))
            return visit if visit is not None and self._clock() < visit.ends_at else None

    def sign_out(self, cookie: str) -> None:
        """Forget a visit."""
        with self._mutex:
            self._visits.pop(_digest(cookie), None)

    def _check(self, token: str) -> None:
        """Refuse a wrong token, and any within a time that doubles with each wrong one."""
        now = self._clock()
        if now < self._next_at:
            wait_s = math.ceil(self._next_at - now)
            raise SignInError(
                "a wrong token was entered a moment ago", hint=_again(wait_s), wait_s=wait_s
            )
        if same(self.token, token):
            self._wrong = 0
            return
        if now > self._next_at + _FORGIVEN_S:
            self._wrong = 0
        wait_s = int(min(_LONGEST_WAIT_S, 2.0 ** min(self._wrong, 10)))
        self._wrong, self._next_at = self._wrong + 1, now + wait_s
        raise SignInError("the token is wrong", hint=_again(wait_s), wait_s=wait_s, wrong=True)

    def _drop_ended(self) -> None:
        now = self._clock()
        self._visits = {key: each for key, each in self._visits.items() if now < each.ends_at}
        while len(self._visits) >= _VISITS:
            self._visits.pop(next(iter(self._visits)))


def new_secret() -> str:
    """Return what nobody can guess."""
    return secrets.token_urlsafe(_SECRET_BYTES)


def same(one: str, other: str) -> bool:
    """Return whether two secrets are the same, in a time that does not depend on where they differ.

    Example:
        >>> same("abc", "abc"), same("abc", "abd"), same("abc", "")
        (True, False, False)
    """
    return hmac.compare_digest(_digest(one), _digest(other))


def spoken(text: str) -> str | None:
    r"""Return a text as one line; None where it has characters that would not be seen.

    Example:
        >>> spoken("  Ada  Abel "), spoken("\u202etxet")
        ('Ada Abel', None)
    """
    line = " ".join(text.split())
    return line if line.isprintable() else None


def _name(text: str) -> str:
    name = spoken(text)
    if not name or len(name) > _LONGEST_NAME:
        raise SignInError(
            "actions are logged with a name, but this is not one",
            hint=f"Enter your name, in at most {_LONGEST_NAME} characters.",
        )
    return name


def _again(wait_s: int) -> str:
    return f"Try again in {wait_s} second{'' if wait_s == 1 else 's'}."


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
