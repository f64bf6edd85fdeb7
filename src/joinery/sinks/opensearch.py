"""The opensearch sink: the current document of each key in an index, ready to be searched.

The id is the key's text, the version an external one, so the index itself leaves out what
is older. It forgets the versions of deleted documents after some minutes; a side index,
`joinery-deleted.<index>`, remembers them, and is asked before each bulk.

Limits: a batch becomes visible document by document, after the index's next refresh.

Invariant: a delete stands in the side index before its document leaves the index, and an
older epoch is refused at the next bulk.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from joinery.errors import SinkOptionError
from joinery.model.type import Struct
from joinery.project.option import Target, anything, count, flag, options, text
from joinery.sinks.key import listed_key
from joinery.sinks.line import StagedRow, read_chunks
from joinery.sinks.opensearch_bulk import (
    HASHED,
    Action,
    BulkResult,
    body_of,
    body_of_deletes,
    id_of,
)
from joinery.sinks.opensearch_mapping import mapping_of, merged
from joinery.sinks.opensearch_reader import OpenSearchReader
from joinery.sinks.opensearch_server import Access, SearchServer
from joinery.sinks.protocol import (
    FencedError,
    Guarantee,
    Promise,
    SinkError,
    SinkUnavailableError,
    StagedBatch,
    Writer,
    Written,
)

_CHUNK_ROWS = 2_000
_CHUNK_CHARACTERS = 4 << 20
_SWEEP_S = 3600.0
_DELETED, _EPOCH, _BATCH = "deleted:", "epoch:", "batch:"
_SETTINGS: Mapping[str, Any] = {
    "index.gc_deletes": "10m",
    "index.mapping.nested_objects.limit": 100_000,
}
_FORBIDDEN = frozenset('\\/*?"<>| ,#:')
_LONGEST_INDEX = 200  # bytes; a server takes 255, the side index puts a word in front
_GUARANTEE = Guarantee(
    summary="The index holds the newest document of each key, after its next refresh.",
    gaps={Promise.ATOMIC: "an index has no transactions: documents become visible one by one"},
)


@options
class OpenSearchOptions:
    """`{opensearch: {url: http://host:9200}}`; the index is the product's name."""

    keeps_all: ClassVar[bool] = False
    url: str = text(
        "A node, or several separated by commas.",
        default="http://127.0.0.1:9200",
        pattern=r"^(https?://|(?!\w+://))[^,\s]+(,\s*(https?://|(?!\w+://))[^,\s]+)*$",
        examples=["http://host:9200"],
        secret=True,
    )
    index: str = text(
        "The index; by default the product's name.",
        default="",
        pattern=r'^[^-_+.A-Z\\/*?"<>| ,#:][^A-Z\\/*?"<>| ,#:]{0,199}$',
        examples=["user_profile"],
    )
    user: str = text("The user of basic authentication.", default="", secret=True)
    password: str = text("The password; take it from the environment.", default="", secret=True)
    ca_certs: str = text("A file of certificates to trust; by default the system's.", default="")
    verify_certs: bool = flag("Verify certificates; `false` trusts any.", default=True)
    client_cert: str = text(
        "A file with the certificate that we present, in PEM; by default none.", default=""
    )
    client_key: str = text(
        "A file with its key; by default `client_cert` has it as well.", default=""
    )
    connections: int = count("Bulk requests at the same time.", default=2)
    create: bool = flag(
        "Create the index, and add the fields that the product gains.", default=True
    )
    refresh: bool = flag(
        "Refresh the index after each batch, so that searches see it.", default=False
    )
    nested: bool = flag(
        "Map lists of objects as `nested`; `false` maps them as `object`.", default=True
    )
    settings: Mapping[str, Any] = anything("Settings of an index when it is created.", default=None)
    mapping: Mapping[str, Any] = anything(
        "Merged into the mapping that is derived from the product.", default=None
    )

    def make(self, product: str, folder: Path) -> OpenSearchSink:
        """Return the sink of a product."""
        return OpenSearchSink(self._access(folder), _index(self._name(product)), self)

    def reader(self, product: str, folder: Path, key: Struct, value: Struct) -> OpenSearchReader:
        """Return what reads the documents of a product."""
        if "_source" in self.mapping:
            raise SinkError('an index whose mapping has "_source" may not keep whole documents')
        return OpenSearchReader(self._access(folder), _index(self._name(product)), key)

    def _access(self, folder: Path) -> Access:
        return Access(
            urls=tuple(_with_scheme(each.strip()) for each in self.url.split(",")),
            user=self.user,
            password=self.password,
            ca_certs=_in(folder, self.ca_certs),
            verify_certs=self.verify_certs,
            client_cert=_in(folder, self.client_cert),
            client_key=_in(folder, self.client_key),
            connections=self.connections,
        )

    def target(self, product: str, folder: Path) -> Target:
        """Return the index."""
        return Target("opensearch", self.url, self._name(product), "index")

    def _name(self, product: str) -> str:
        return self.index or product.lower()


class OpenSearchSink:
    """Keeps the newest document of each key in one index."""

    guarantee = _GUARANTEE
    writer: Writer = "tasks"

    def __init__(self, access: Access, index: str, options: OpenSearchOptions) -> None:
        self._access = access
        self._options = options
        self._index = index
        self._side = f"joinery-deleted.{index}"
        self._server: SearchServer | None = None
        self._prepared = False
        self._epoch: tuple[str, int] | None = None
        self._noted: tuple[str, int] | None = None
        self._swept_at = time.monotonic()
        self.target = f"opensearch {access.shown}, index {index}"

    def open(self) -> None:
        """Connect."""
        self._prepared, self._epoch, self._noted = False, None, None
        self._server = SearchServer(self._access, self.target)

    def write(self, batch: StagedBatch) -> Written:
        """Send the documents of `batch` in bulks, some at once."""
        self.begin(batch)
        written = self.write_part(batch, 0)
        self.end(batch)
        return written

    def begin(self, batch: StagedBatch) -> None:
        """Create both indexes where they are missing, and fence earlier runs."""
        server = self._opened()
        if not self._prepared:
            self._prepare(server, batch)
        self._take_over(server, batch)
        number = (batch.query_id, batch.batch_id)
        if batch.batch_id >= 0 and self._noted != number:
            # An older number, as of what is sent again, is left out there.
            server.bulk(self._side, [_numbered(_BATCH, *number)], body_of)
            self._noted = number

    def write_part(self, batch: StagedBatch, part: int) -> Written:
        """Send the documents of a part in bulks, some at once."""
        server = self._opened()
        return self._send(partial(self._send_chunk, server, batch), batch)

    def end(self, batch: StagedBatch) -> None:
        """Refresh the index where that is wanted, and forget old deletes now and then."""
        server = self._opened()
        if self._options.refresh:
            server.ask(lambda client: client.indices.refresh(index=self._index))
        self._sweep(server, batch.forget_before)

    def keys(self, batch: StagedBatch) -> Iterator[str]:
        """Yield the root keys of all documents in the index.

        A key whose text is too long for an id is not told: the index holds its hash alone.
        """
        server = self._opened()
        if not self._prepared:
            self._prepare(server, batch)
        server.ask(lambda client: client.indices.refresh(index=self._index))
        for id in server.ids(self._index):
            if not id.startswith(HASHED):
                yield listed_key(id, batch.key, self.target)

    def stands(self, batch: StagedBatch) -> bool:
        """Return whether there is an index, or an alias, of the name."""
        return bool(self._opened().ask(lambda client: client.indices.exists(index=self._index)))

    def last_batch(self, batch: StagedBatch) -> int | None:
        """Return the highest batch of the checkpoint that was begun here."""
        server = self._opened()
        if not self._prepared:
            self._prepare(server, batch)
        params = {"_source": "false", "filter_path": "docs.found,docs._version,docs.error.reason"}
        body = {"ids": [_BATCH + batch.query_id]}
        answer = server.ask(lambda client: client.mget(index=self._side, body=body, params=params))
        number = self._version(answer["docs"][0])
        return number if number >= 0 else None

    def close(self) -> None:
        """Release the connections."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def _opened(self) -> SearchServer:
        if self._server is None:
            raise SinkError(f"{self.target} is not open")
        return self._server

    def _send(self, send: partial[BulkResult], batch: StagedBatch) -> Written:
        """Send chunk by chunk, as many at once as there are connections."""
        whole = BulkResult()
        chunks = read_chunks(batch.files, rows=_CHUNK_ROWS, characters=_CHUNK_CHARACTERS)
        with ThreadPoolExecutor(self._access.connections) as pool:
            running: deque[Future[BulkResult]] = deque()
            for chunk in chunks:
                if len(running) > self._access.connections:
                    whole = whole.plus(running.popleft().result())
                running.append(pool.submit(send, chunk))
            for each in running:
                whole = whole.plus(each.result())
        return Written(refused=tuple(whole.refused), older=whole.older)

    def _send_chunk(
        self, server: SearchServer, batch: StagedBatch, rows: Sequence[StagedRow]
    ) -> BulkResult:
        actions = [Action(id_of(row), row) for row in rows]
        newest = self._newer_than_deletes(server, batch, actions)
        gone = [each for each in newest if each.row.value is None]
        batch.check()
        server.bulk(self._side, gone, partial(body_of_deletes, prefix=_DELETED))
        batch.check()
        outcome = server.bulk(self._index, newest, body_of)
        outcome.older += len(actions) - len(newest)
        return outcome

    def _newer_than_deletes(
        self, server: SearchServer, batch: StagedBatch, actions: Sequence[Action]
    ) -> list[Action]:
        """Return what is not older than a remembered delete of its key."""
        ids = [_EPOCH + batch.query_id, *(_DELETED + each.id for each in actions)]
        params = {"_source": "false", "filter_path": "docs.found,docs._version,docs.error.reason"}
        answer = server.ask(
            lambda client: client.mget(index=self._side, body={"ids": ids}, params=params)
        )
        epoch, *deleted = [self._version(each) for each in answer["docs"]]
        if epoch > batch.epoch:
            raise self._replaced(batch)
        pairs = zip(actions, deleted, strict=True)
        return [action for action, version in pairs if action.row.version >= version]

    def _version(self, told: Mapping[str, Any]) -> int:
        if "error" in told:
            raise SinkUnavailableError(
                f"could not read the side index of {self.target}",
                detail=f"{told['error'].get('reason')}.",
            )
        return int(told["_version"]) if told.get("found") else -1

    def _take_over(self, server: SearchServer, batch: StagedBatch) -> None:
        """Write the batch's epoch where every bulk of an older one looks for it."""
        mine = (batch.query_id, batch.epoch)
        if self._epoch == mine:
            return
        if server.bulk(self._side, [_numbered(_EPOCH, batch.query_id, batch.epoch)], body_of).older:
            raise self._replaced(batch)
        self._epoch = mine

    def _prepare(self, server: SearchServer, batch: StagedBatch) -> None:
        """Create both indexes, or add the fields that the product gained."""
        shards = {
            name: value
            for name, value in self._options.settings.items()
            if name.removeprefix("index.").startswith("number_of_")
        }
        version = {"dynamic": False, "properties": {"version": {"type": "long"}}}
        server.create(
            self._side, {"settings": {"index.hidden": True, **shards}, "mappings": version}
        )
        if self._options.create:
            derived = mapping_of(batch.value, nested=self._options.nested, map_type=server.map_type)
            mapping = merged(derived, self._options.mapping)
            settings = {**_SETTINGS, **self._options.settings}
            if not server.create(self._index, {"settings": settings, "mappings": mapping}):
                self._add_fields(server, mapping)
        self._prepared = True

    def _add_fields(self, server: SearchServer, mapping: Mapping[str, Any]) -> None:
        try:
            server.ask(lambda client: client.indices.put_mapping(index=self._index, body=mapping))
        except SinkUnavailableError:
            raise
        except SinkError as error:
            raise SinkError(
                f'index "{self._index}" maps a field differently from the product',
                detail=error.detail,
                hint="Name another index, or delete this one and rebuild it.",
            ) from error

    def _sweep(self, server: SearchServer, forget_before: int) -> None:
        """Now and then forget the deletes that are past their retention."""
        now = time.monotonic()
        if forget_before <= 0 or now - self._swept_at < _SWEEP_S:
            return
        self._swept_at = now
        old = {"query": {"range": {"version": {"lt": forget_before}}}}
        params = {"conflicts": "proceed", "wait_for_completion": "false"}
        server.ask(lambda client: client.delete_by_query(index=self._side, body=old, params=params))

    def _replaced(self, batch: StagedBatch) -> FencedError:
        return FencedError(f'another run of "{batch.query}" is writing to index "{self._index}"')


def _numbered(what: str, query_id: str, number: int) -> Action:
    """Return what keeps a number of a checkpoint in the side index, as its version."""
    return Action(what + query_id, StagedRow("{}", "{}", number))


def _with_scheme(url: str) -> str:
    return url if "://" in url else f"http://{url}"


def _in(folder: Path, file: str) -> str:
    """Return a file of the project's; empty for none."""
    return str(folder / file) if file else ""


def _index(name: str) -> str:
    if (
        name != name.lower()
        or _FORBIDDEN & set(name)
        or name[0] in "-_+."
        or len(name.encode()) > _LONGEST_INDEX
    ):
        raise SinkOptionError(
            f'an index cannot be named "{name}"',
            detail='Index names are lower case, without spaces or any of \\ / * ? " < > | , # :',
            hint="Name one with the option `index`.",
        )
    return name
