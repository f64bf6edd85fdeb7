"""Requests to an OpenSearch server, with its failures told as those of a sink.

Invariant: a failure that may pass by itself is a `SinkUnavailableError`, any other a
`SinkError`; neither names the user's password.

The bodies of OpenSearch's bulk requests, and what their answers say of each document.

Invariant: a document is taken, older, refused, or to be sent again; never none of these.
"""

from __future__ import annotations

import hashlib
import json
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from joinery.errors import needs_extra
from joinery.sinks.key import key_text
from joinery.sinks.line import StagedRow
from joinery.sinks.protocol import Refusal, SinkError, SinkUnavailableError

if TYPE_CHECKING:
    from opensearchpy import OpenSearch

ANSWER = ",".join(
    ("errors", *(f"items.*.{each}" for each in ("status", "error.type", "error.reason")))
    + ("items.*.error.caused_by.reason",)
)
TRANSIENT = frozenset((429, 500, 502, 503, 504))
ACCESS = frozenset((401, 403))
_LONGEST_ID = 500  # bytes; a server takes 512, the side index puts a word in front
HASHED = "sha256:"
_LONGEST_DETAIL = 1000


class Action(NamedTuple):
    """One document on its way: its id in the index, and what was staged."""

    id: str
    row: StagedRow


@dataclass(slots=True)
class BulkResult:
    """What became of some documents.

    Attributes:
        refused: The index will never take these.
        older: So many stand in the index at a newer version.
        again: The server had no room for these.
        why: Its words for that.
        denied: Its words where it takes nothing at all from this user, or into this index.
    """

    refused: list[Refusal] = field(default_factory=list)
    older: int = 0
    again: list[Action] = field(default_factory=list)
    why: str = ""
    denied: str = ""

    def plus(self, other: BulkResult) -> BulkResult:
        """Return what became of both."""
        return BulkResult(
            refused=self.refused + other.refused,
            older=self.older + other.older,
            again=self.again + other.again,
            why=other.why or self.why,
            denied=other.denied or self.denied,
        )


def id_of(row: StagedRow) -> str:
    """Return the id of a document: its key's text, or a hash of one that is too long.

    Example:
        >>> id_of(StagedRow('{"email":"ada@example.org"}', None, 1))
        'ada@example.org'
    """
    text = key_text(row.key_values())
    if len(text) * 4 > _LONGEST_ID and len(raw := text.encode()) > _LONGEST_ID:
        return f"{HASHED}{hashlib.sha256(raw).hexdigest()}"
    return text


def body_of(actions: Iterable[Action]) -> bytes:
    """Return the bulk request that sends each document, or deletes it, at its version."""
    parts = []
    for id, row in actions:
        verb = "delete" if row.value is None else "index"
        parts.append(_action(verb, id, row.version))
        if row.value is not None:
            parts.append(row.value)
    return ("\n".join(parts) + "\n").encode()


def body_of_deletes(actions: Iterable[Action], prefix: str) -> bytes:
    """Return the bulk request that remembers the version of each delete."""
    parts = []
    for id, row in actions:
        parts.append(_action("index", prefix + id, row.version))
        parts.append(f'{{"version":{row.version}}}')
    return ("\n".join(parts) + "\n").encode()


def _action(verb: str, id: str, version: int) -> str:
    name = json.dumps(id, ensure_ascii=False)
    return f'{{"{verb}":{{"_id":{name},"version":{version},"version_type":"external_gte"}}}}'


def outcome_of(actions: Sequence[Action], answer: Mapping[str, Any]) -> BulkResult:
    """Return what a bulk's answer says of the documents it sent."""
    outcome = BulkResult()
    if not answer.get("errors"):
        return outcome
    for action, item in zip(actions, answer["items"], strict=True):
        ((_, told),) = item.items()
        _sort(outcome, action, told)
    return outcome


def _sort(outcome: BulkResult, action: Action, told: Mapping[str, Any]) -> None:
    status, error = told["status"], told.get("error")
    if error is None:  # taken, or the delete of what is not there
        return
    if status == 409:
        outcome.older += 1
    elif status in TRANSIENT:
        outcome.again.append(action)
        outcome.why = _bulk_words(error)
    elif status in ACCESS or error.get("type") == "index_not_found_exception":
        outcome.denied = _bulk_words(error)
    else:
        outcome.refused.append(Refusal(action.row, "document_refused", _bulk_words(error)))


def _bulk_words(error: Mapping[str, Any]) -> str:
    parts = (error.get("type"), error.get("reason"), (error.get("caused_by") or {}).get("reason"))
    return ": ".join(str(part) for part in parts if part)[:_LONGEST_DETAIL]


Body = Callable[[Iterable[Action]], bytes]
_TIMEOUT_S = 60
_AGAIN_S = (0.1, 0.4, 1.6)
_MAX_CONTENT_BYTES = 100 << 20
_TOO_LARGE = 413
_IDS_AT_ONCE = 5_000
_SCROLL = "2m"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How a server is reached.

    Attributes:
        urls: Of its nodes.
        user: Empty for none.
        password: Never shown.
        ca_certs: A file of certificates to trust; empty for those of the system.
        verify_certs: False trusts any certificate.
        connections: The most requests at once.
    """

    urls: tuple[str, ...]
    user: str = ""
    password: str = field(default="", repr=False)
    ca_certs: str = ""
    verify_certs: bool = True
    connections: int = 2

    @property
    def shown(self) -> str:
        """The nodes' addresses, without user and password."""
        parts = (urlsplit(each) for each in self.urls)
        return ",".join(f"{each.hostname}:{each.port or 9200}" for each in parts)


class Answer(dict[str, Any]):
    """An answer of a server: a JSON object, and the text that it was read from.

    Args:
        told: The object.
        text: Its text.
    """

    def __init__(self, told: Mapping[str, Any], text: str) -> None:
        super().__init__(told)
        self.text = text


class SearchServer:
    """A connected server.

    Attributes:
        map_type: Its word for a field that holds a whole map.
        max_bytes: The longest request it takes.
    """

    def __init__(self, access: Access, target: str) -> None:
        self._target = target
        self._client = _connect(access)
        self.max_bytes = _MAX_CONTENT_BYTES
        try:
            told = self.ask(lambda client: client.info())["version"]
        except SinkError:
            self.close()
            raise
        self.map_type = _map_type(told)
        self.max_bytes = self._longest_request()

    def close(self) -> None:
        """Release the connections."""
        self._client.close()

    def ask(self, request: Callable[[OpenSearch], Any]) -> Any:
        """Send one request.

        Raises:
            SinkUnavailableError: The server cannot be reached or is overloaded.
            SinkError: It refuses the request.
        """
        from opensearchpy import ConnectionError as UnreachableError
        from opensearchpy import OpenSearchException, SSLError, TransportError

        try:
            return request(self._client)
        except SSLError as error:
            raise self._failed(str(error.info), hint="Check ca_certs of the sink.") from error
        except UnreachableError as error:
            raise self._unavailable(str(error.info)) from error
        except TransportError as error:
            if error.status_code in TRANSIENT:
                raise self._unavailable(_words(error)) from error
            hint = _UNFIT if error.status_code == _BAD_REQUEST else ""
            raise self._failed(_words(error), hint) from error
        except OpenSearchException as error:
            raise self._failed(str(error)) from error

    def ids(self, index: str) -> Iterator[str]:
        """Yield the ids of all documents of an index, as of one moment."""
        page = self.ask(
            lambda client: client.search(
                index=index,
                body={"size": _IDS_AT_ONCE, "_source": False, "sort": ["_doc"]},
                params={"scroll": _SCROLL},
            )
        )
        while hits := page["hits"]["hits"]:
            yield from (each["_id"] for each in hits)
            following = partial(_scroll, id=page["_scroll_id"])
            page = self.ask(following)
        self.ask(partial(_end_scroll, id=page["_scroll_id"]))

    def bulk(self, index: str, actions: Sequence[Action], body: Body) -> BulkResult:
        """Send `actions` as `body` puts them; what the server has no room for, a few times."""
        whole = BulkResult()
        waits = list(_AGAIN_S)
        while actions:
            outcome = self._bulk_once(index, actions, body)
            if outcome.denied:
                raise self._failed(outcome.denied)
            whole.refused += outcome.refused
            whole.older += outcome.older
            actions = outcome.again
            if actions and not waits:
                raise self._unavailable(outcome.why)
            if actions:
                time.sleep(random.uniform(0, waits.pop(0)))
        return whole

    def _bulk_once(self, index: str, actions: Sequence[Action], body: Body) -> BulkResult:
        """Send one request, or two of half the size where it would be too large."""
        raw = body(actions)
        try:
            if len(raw) > self.max_bytes:
                raise _TooLargeError("")
            params = {"filter_path": ANSWER}
            answer = self.ask(lambda client: client.bulk(index=index, body=raw, params=params))
        except SinkError as error:
            if getattr(error.__cause__, "status_code", None) != _TOO_LARGE and not isinstance(
                error, _TooLargeError
            ):
                raise
            if len(actions) == 1:
                return BulkResult(refused=[self._too_large(actions[0], len(raw))])
            middle = len(actions) // 2
            first = self._bulk_once(index, actions[:middle], body)
            return first.plus(self._bulk_once(index, actions[middle:], body))
        return outcome_of(actions, answer)

    def _too_large(self, action: Action, size: int) -> Refusal:
        detail = f"Its request has {size} bytes, more than the server's http.max_content_length."
        return Refusal(action.row, "document_too_large", detail)

    def create(self, index: str, body: Mapping[str, Any]) -> bool:
        """Create an index; return False if it stands already."""
        if self.ask(lambda client: client.indices.exists(index=index)):
            return False
        try:
            self.ask(lambda client: client.indices.create(index=index, body=body))
        except SinkError as error:
            if "already_exists" in error.detail:  # another was first
                return False
            raise
        return True

    def _longest_request(self) -> int:
        """Return how many bytes a request may have; a user may not be let to ask that."""
        try:
            answer = self.ask(lambda client: client.nodes.info(metric="http"))
        except SinkUnavailableError:
            raise
        except SinkError:
            return _MAX_CONTENT_BYTES
        told = (each.get("http", {}) for each in answer.get("nodes", {}).values())
        return min(
            (each.get("max_content_length_in_bytes", _MAX_CONTENT_BYTES) for each in told),
            default=_MAX_CONTENT_BYTES,
        )

    def _failed(self, why: str, hint: str = "") -> SinkError:
        return SinkError(
            f"{self._target} refused a request",
            detail=f"{why}.",
            hint=hint or "Check the user, the password and the user's permissions.",
        )

    def _unavailable(self, why: str) -> SinkUnavailableError:
        return SinkUnavailableError(f"could not write to {self._target}", detail=f"{why}.")


class _TooLargeError(SinkError):
    """A request is above what the server takes."""


def _connect(access: Access) -> OpenSearch:
    message = 'sink "opensearch" needs the package opensearch-py'
    with needs_extra("opensearch", message, SinkError):
        from opensearchpy import JSONSerializer, OpenSearch

    class WithText(JSONSerializer):
        """Keeps the text of an answer, whose numbers have all their digits."""

        def loads(self, text: str) -> Any:
            told = super().loads(text)
            return Answer(told, text) if isinstance(told, dict) else told

    return OpenSearch(
        list(access.urls),
        http_auth=(access.user, access.password) if access.user else None,
        ca_certs=access.ca_certs or None,
        verify_certs=access.verify_certs,
        ssl_show_warn=False,
        timeout=_TIMEOUT_S,
        max_retries=0,
        pool_maxsize=access.connections + 1,
        serializer=WithText(),
    )


def _scroll(client: OpenSearch, *, id: str) -> Any:
    return client.scroll(body={"scroll_id": id, "scroll": _SCROLL})


def _end_scroll(client: OpenSearch, *, id: str) -> Any:
    return client.clear_scroll(body={"scroll_id": [id]})


def _map_type(version: Mapping[str, Any]) -> str:
    """Return the server's word for a whole map in one field; only Elasticsearch has its own."""
    return "flat_object" if version.get("distribution") == "opensearch" else "flattened"


_BAD_REQUEST = 400
_UNFIT = "Rename or leave out that field in fields, or mend the sink's mapping or settings."


def _words(error: Any) -> str:
    """Return the type and the reason that a server gives."""
    told = error.info.get("error") if isinstance(error.info, dict) else None
    if isinstance(told, dict):
        return f"{told.get('type')}: {told.get('reason')}"
    return f"status {error.status_code} {error.error}"
