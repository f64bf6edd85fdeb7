"""Users who follow one another and write: the rows of the cases of `through`."""

from __future__ import annotations

from joinery.testing.changes import RowChange, insert

RELATIONS = """
relations:
  user: {key: [id], fields: {id: long, handle: string}}
  follow: {key: [id], fields: {id: long, follower_id: long, followee_id: long}}
  post: {key: [id], fields: {id: long, author_id: long, at: long, text: string}}
"""


def user(number: int) -> RowChange:
    """Return the insert of a user, whose handle is `u` and the number."""
    return insert("user", id=number, handle=f"u{number}")


def follow(number: int, follower: int | None, followee: int | None) -> RowChange:
    """Return the insert of a row by which one user follows another; a null leads nowhere."""
    return insert("follow", id=number, follower_id=follower, followee_id=followee)


def post(number: int, author: int | None, at: int, text: str | None = "a") -> RowChange:
    """Return the insert of a post, `at` being what timelines are ordered by."""
    return insert("post", id=number, author_id=author, at=at, text=text)
