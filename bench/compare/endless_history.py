"""A history of the code-hosting company of any length, whose writer remembers nothing.

Each change is a function of its number, so that fifty million cost no more memory than one. What
some users' profiles must be at the end is gathered on the way.

Invariant: the same number gives the same line.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

from bench.compare.expected import Profile, profile
from joinery.testing.github import PAYMENT, PULL_REQUEST, REPO, STAR, USER, Line

_ROUND = 20  # changes: 2 users, 1 repository, 9 stars, 6 pull requests, 2 payments
_FIRST_STAR, _FIRST_PULL_REQUEST, _FIRST_PAYMENT = 3, 12, 18
_STARS, _PULL_REQUESTS = 9, 6
_MASK = (1 << 64) - 1
_FIRST_SECOND = 1_767_225_600  # 2026-01-01T00:00:00Z
_STATES = ("open", "review", "approved", "merged", "closed")
_REPO_TAIL = '"star_count":0,"fork_count":0,"created_at":null,"updated_at":null}'

PullRequest = tuple[int, str, str, str]
"""The repository, the title, when it was opened, and its state."""


def mixed(number: int) -> int:
    """Return 64 bits that look random: the finalizer of SplitMix64 (Steele, Lea, Flood 2014)."""
    bits = (number * 0x9E3779B97F4A7C15) & _MASK
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _MASK
    return bits ^ (bits >> 31)


def star(number: int) -> tuple[int, int]:
    """Return the user and the repository of a star; some are not there yet."""
    bits = mixed(number ^ 0x5A5A)
    rounds = number // _STARS + 3
    return bits % (2 * rounds), (bits >> 32) % rounds


def pull_request(number: int) -> tuple[int, int, str]:
    """Return the author and the repository of a pull request, and its title."""
    bits = mixed(number ^ 0xA5A5A5)
    rounds = number // _PULL_REQUESTS + 3
    return bits % (2 * rounds), (bits >> 32) % rounds, f"Simplify part {bits % 9973} of it"


def time_of(number: int) -> str:
    """Return when a change was made."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(_FIRST_SECOND + number))


@dataclass(slots=True)
class EndlessHistory:
    """The changes in order, and what has become of the users that are looked at.

    Attributes:
        one_in: Of so many users one is looked at.
        number: Of the last change.
    """

    one_in: int
    number: int = 0
    _users: dict[int, bool] = field(default_factory=dict)
    _stars: dict[int, dict[int, None]] = field(default_factory=dict)
    _pulls: dict[int, dict[int, PullRequest]] = field(default_factory=dict)
    _verified: dict[int, bool] = field(default_factory=dict)
    _described: array[int] = field(default_factory=lambda: array("Q"))

    def is_looked_at(self, user: int) -> bool:
        """Return whether this user's profile is compared at the end."""
        return user % self.one_in == 0

    def lines(self, count: int) -> Iterator[Line]:
        """Yield the next `count` changes."""
        for number in range(self.number + 1, self.number + count + 1):
            self.number = number
            rounds, step = divmod(number, _ROUND)
            bits = mixed(number)
            if step < 2:
                yield self._user(number, bits, 2 * rounds + step)
            elif step < _FIRST_STAR:
                yield self._repo(number, bits, rounds)
            elif step < _FIRST_PULL_REQUEST:
                yield self._star(number, bits, _STARS * rounds + step - _FIRST_STAR)
            elif step < _FIRST_PAYMENT:
                at = _PULL_REQUESTS * rounds + step - _FIRST_PULL_REQUEST
                yield self._pull_request(number, bits, at)
            else:
                yield self._payment(number, bits, 2 * rounds + step - _FIRST_PAYMENT)

    def profiles(self) -> dict[str, Profile]:
        """Return what the profiles of those that are looked at must be by now."""
        return {
            f"u{user}@example.com": profile(
                f"u{user}",
                [(f"repo-{repo}", self._description(repo)) for repo in self._stars.get(user, ())],
                [
                    (f"repo-{repo}", index, title, opened, state)
                    for index, (repo, title, opened, state) in self._pulls.get(user, {}).items()
                ],
                self._verified.get(user),
            )
            for user in self._users
        }

    def _user(self, number: int, bits: int, newest: int) -> Line:
        user = newest if bits % 10 else (bits >> 8) % (newest + 1)
        text = (
            f'{{"id":{user},"email":"u{user}@example.com","username":"u{user}",'
            f'"registered_at":"{time_of(number)}"}}'
        )
        is_gone = bits % 50 == 7
        if self.is_looked_at(user):
            if is_gone:
                self._users.pop(user, None)
            else:
                self._users[user] = True
        return _line(USER, text, number, is_gone=is_gone)

    def _repo(self, number: int, bits: int, newest: int) -> Line:
        repo = newest if bits % 2 else (bits >> 8) % (newest + 1)
        while len(self._described) <= newest:
            self._described.append(0)
        self._described[repo] = number
        text = (
            f'{{"name":"repo-{repo}","owner":"labs","description":"{_described_at(number)}",'
            f"{_REPO_TAIL}"
        )
        return _line(REPO, text, number)

    def _star(self, number: int, bits: int, newest: int) -> Line:
        is_gone = bits % 13 == 0
        user, repo = star((bits >> 8) % (newest + 1) if is_gone else newest)
        if self.is_looked_at(user):
            stars = self._stars.setdefault(user, {})
            if is_gone:
                stars.pop(repo, None)
            else:
                stars[repo] = None
        text = (
            f'{{"username":"u{user}","repo_name":"repo-{repo}","repo_owner":"labs",'
            f'"created_at":null}}'
        )
        return _line(STAR, text, number, is_gone=is_gone)

    def _pull_request(self, number: int, bits: int, newest: int) -> Line:
        is_gone = bits % 50 == 7
        index = newest if bits % 100 < 56 and not is_gone else (bits >> 8) % (newest + 1)
        user, repo, title = pull_request(index)
        opened, state = time_of(index), _STATES[(bits >> 40) % len(_STATES)]
        if self.is_looked_at(user):
            pulls = self._pulls.setdefault(user, {})
            if is_gone:
                pulls.pop(index, None)
            else:
                pulls[index] = (repo, title, opened, state)
        text = (
            f'{{"title":"{title}","repo":"repo-{repo}","repo_owner":"labs","index":{index},'
            f'"author":"u{user}","status":"{state}","created_at":"{opened}"}}'
        )
        return _line(PULL_REQUEST, text, number, is_gone=is_gone)

    def _payment(self, number: int, bits: int, newest: int) -> Line:
        user = newest if bits % 5 else (bits >> 8) % (newest + 1)
        is_verified = (bits >> 40) % 5 < 3
        if self.is_looked_at(user):
            self._verified[user] = is_verified
        told = "true" if is_verified else "false"
        return _line(PAYMENT, f'{{"id":{user},"user_id":{user},"verified":{told}}}', number)

    def _description(self, repo: int) -> str | None:
        number = self._described[repo] if repo < len(self._described) else 0
        return _described_at(number) if number else None


def _described_at(number: int) -> str:
    return f"As change {number} describes it"


def _line(relation: int, text: str, number: int, *, is_gone: bool = False) -> Line:
    return (relation, "d", text, None, number) if is_gone else (relation, "u", None, text, number)
