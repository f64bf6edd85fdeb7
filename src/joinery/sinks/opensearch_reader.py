"""The documents of one product as an index of OpenSearch holds them.

Some are asked for by their ids, which also finds what no search sees yet; all keys are those of a
scroll over the index, which is refreshed before.

Limits: a document whose key is too long for an id is found by its key, and not among all keys: of
that the index holds a hash alone.

Invariant: the text of a document is the one that was sent, number for number.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from joinery.errors import SinkError
from joinery.model.type import Struct
from joinery.sinks.key import key_of_text
from joinery.sinks.line import StagedRow
from joinery.sinks.opensearch_bulk import HASHED, id_of
from joinery.sinks.opensearch_server import Access, Answer, SearchServer
from joinery.sinks.reader import Held
from joinery.slices import slices

if TYPE_CHECKING:
    from opensearchpy import OpenSearch

_READ_AT_ONCE = 500
_SOURCE = '"_source":'
_DECODER = json.JSONDecoder()


class OpenSearchReader:
    """Reads an index.

    Args:
        access: How the server is reached.
        index: Its name, or an alias of one index.
        key: The root key's columns.

    Attributes:
        left_out: Documents whose keys are too long for an id, among those that `keys` has passed.
    """

    def __init__(self, access: Access, index: str, key: Struct) -> None:
        self.target = f"opensearch {access.shown}, index {index}"
        self._access, self._index, self._key = access, index, key
        self._server: SearchServer | None = None
        self.left_out = 0

    def keys(self) -> Iterator[str]:
        """Yield the root keys of all documents.

        An id that is none of the product's is yielded as a JSON text.
        """
        self.left_out = 0
        server = self._opened()
        server.ask(lambda client: client.indices.refresh(index=self._index))
        for id in server.ids(self._index):
            if id.startswith(HASHED):
                self.left_out += 1
            else:
                yield self._key_of(id)

    def read(self, keys: Sequence[str]) -> Mapping[str, Held]:
        """Return the documents of some root keys."""
        found: dict[str, Held] = {}
        for some in slices(keys, _READ_AT_ONCE):
            ids = [id_of(StagedRow(each, None, 0)) for each in some]
            held = held_of(self._opened().ask(partial(_get, index=self._index, ids=ids)))
            found |= {key: each for key, each in zip(some, held, strict=True) if each is not None}
        return found

    def close(self) -> None:
        """Release the connections."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def _opened(self) -> SearchServer:
        if self._server is None:
            self._server = SearchServer(self._access, self.target)
        return self._server

    def _key_of(self, id: str) -> str:
        try:
            return key_of_text(id, self._key)
        except (ValueError, KeyError, TypeError):
            return json.dumps(id)


def held_of(answer: Answer) -> Iterator[Held | None]:
    """Yield the documents of an answer to a request for some ids, None for one that is not there.

    Raises:
        SinkError: The index could not be read, or does not keep documents.
    """
    at = 0
    for each in answer["docs"]:
        if "error" in each:
            raise SinkError(
                f"could not read index {each['_index']}", detail=f"{each['error'].get('reason')}."
            )
        if not each["found"]:
            yield None
            continue
        if "_source" not in each:
            raise SinkError(f"index {each['_index']} does not keep documents: _source is disabled")
        # It cannot stand within a text of JSON, where quotes are escaped.
        begin = answer.text.index(_SOURCE, at) + len(_SOURCE)
        _, at = _DECODER.raw_decode(answer.text, begin)
        yield Held(answer.text[begin:at], int(each["_version"]))


def _get(client: OpenSearch, *, index: str, ids: Sequence[str]) -> Any:
    return client.mget(index=index, body={"ids": ids})
