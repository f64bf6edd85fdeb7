"""Requests to an OpenSearch server, with its failures told as those of a sink.

Invariant: a failure that may pass by itself is a `SinkUnavailableError`, any other a
`SinkError`; neither names the user's password.
"""

from __future__ import annotations

import random
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from joinery.errors import needs_extra
from joinery.sinks.opensearch_bulk import ANSWER, TRANSIENT, Action, BulkResult, outcome_of
from joinery.sinks.protocol import Refusal, SinkError, SinkUnavailableError

if TYPE_CHECKING:
    from opensearchpy import OpenSearch


Body = Callable[[Iterable[Action]], bytes]
_CERTIFICATES = (
    "Check ca_certs of the sink; where the server asks for a certificate, client_cert as well."
)
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
        client_cert: A file with the certificate that we present; empty for none.
        client_key: A file with its key; empty where the certificate's file has it.
        connections: The most requests at once.
    """

    urls: tuple[str, ...]
    user: str = ""
    password: str = field(default="", repr=False)
    ca_certs: str = ""
    verify_certs: bool = True
    client_cert: str = ""
    client_key: str = ""
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
            raise self._failed(str(error.info), hint=_CERTIFICATES) from error
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

    if access.client_cert:
        _check_presented(access)

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
        client_cert=access.client_cert or None,
        client_key=access.client_key or None,
        ssl_show_warn=False,
        timeout=_TIMEOUT_S,
        max_retries=0,
        pool_maxsize=access.connections + 1,
        serializer=WithText(),
    )


def _check_presented(access: Access) -> None:
    """Refuse a certificate that would not be presented, or cannot be read."""
    if not access.verify_certs:
        raise SinkError(
            'sink "opensearch" has client_cert and verify_certs: false',
            detail="It presents a certificate only to a server whose own it verifies.",
            hint="Leave verify_certs out; ca_certs names the authority of the server.",
        )
    try:
        # An empty password keeps OpenSSL from asking for one on the terminal.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_cert_chain(access.client_cert, access.client_key or None, password="")
    except OSError as error:  # an SSLError is one
        why = error.strerror or type(error).__name__
        raise SinkError(
            f'sink "opensearch" could not read the certificate {access.client_cert}: {why}',
            hint="Set client_cert to a file in PEM, and client_key to its key, without a password.",
        ) from error


def _scroll(client: OpenSearch, *, id: str) -> Any:
    return client.scroll(body={"scroll_id": id, "scroll": _SCROLL})


def _end_scroll(client: OpenSearch, *, id: str) -> Any:
    return client.clear_scroll(body={"scroll_id": [id]})


def _map_type(version: Mapping[str, Any]) -> str:
    """Return the server's word for a whole map in one field; only Elasticsearch has its own."""
    return "flat_object" if version.get("distribution") == "opensearch" else "flattened"


_BAD_REQUEST = 400
_UNFIT = "Rename or leave out that field in fields, or correct the sink's mapping or settings."


def _words(error: Any) -> str:
    """Return the type and the reason that a server gives."""
    told = error.info.get("error") if isinstance(error.info, dict) else None
    if isinstance(told, dict):
        return f"{told.get('type')}: {told.get('reason')}"
    return f"status {error.status_code} {error.error}"
