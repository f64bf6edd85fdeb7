"""OpenSearch behind a proxy that asks clients for a certificate of an authority of its own."""

from __future__ import annotations

import select
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from opensearchpy import OpenSearch
from tests.services.authority import Authority, Signed

from joinery.dev.service import Service
from joinery.model.type import LONG, Field, Struct
from joinery.sinks.protocol import Sink, SinkError, StagedBatch, make_sink

pytestmark = pytest.mark.services


class Proxy(threading.Thread):
    """Ends TLS in front of a server, and passes on what clients with a certificate say."""

    def __init__(self, address: str, authority: Authority, server: Signed) -> None:
        super().__init__(daemon=True)
        self._target = (urlsplit(address).hostname or "", urlsplit(address).port or 0)
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(server.certificate, server.key)
        self._context.load_verify_locations(authority.file)
        self._context.verify_mode = ssl.CERT_REQUIRED
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"https://localhost:{self._listener.getsockname()[1]}"

    def run(self) -> None:
        with suppress(OSError):
            while True:
                plain, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(plain,), daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.join()

    def _serve(self, plain: socket.socket) -> None:
        with (
            suppress(OSError),
            self._context.wrap_socket(plain, server_side=True) as ours,
            socket.create_connection(self._target) as theirs,
        ):
            both = {ours: theirs, theirs: ours}
            while True:
                for each in [ours] if ours.pending() else select.select([*both], [], [])[0]:
                    told = each.recv(1 << 16)
                    if not told:
                        return
                    both[each].sendall(told)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.made(tmp_path_factory.mktemp("authority") / "authority.pem")


@pytest.fixture(scope="module")
def proxy(
    opensearch: Service, authority: Authority, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("server")
    server = authority.sign(folder, "server", x509.DNSName("localhost"))
    proxy = Proxy(opensearch.address, authority, server)
    proxy.start()
    yield proxy
    proxy.close()


def sink(proxy: Proxy, authority: Authority, **options: object) -> Sink:
    given = {"url": proxy.address, "ca_certs": str(authority.file), "refresh": True, **options}
    return make_sink("opensearch", "presented", given, Path())


def batch(file: Path) -> StagedBatch:
    file.write_text('{"key":{"id":1},"value":{"id":1},"version":1}\n')
    row = Struct((Field("id", LONG),))
    return StagedBatch(
        product="presented", query="q", query_id="q", batch_id=0, files=(file,), key=row, value=row
    )


@pytest.mark.parametrize("together", [False, True], ids=["apart", "one file"])
def test_documents_are_written_with_a_certificate(
    opensearch: Service, proxy: Proxy, authority: Authority, together: bool, tmp_path: Path
) -> None:
    signed = authority.sign(tmp_path, "writer")
    files = {"client_cert": str(signed.certificate), "client_key": str(signed.key)}
    if together:
        files = {"client_cert": str(signed.together)}

    with closing(sink(proxy, authority, **files)) as made:
        made.open()
        made.write(batch(tmp_path / "batch.jsonl"))

    with OpenSearch(opensearch.address) as plain:
        assert 1 == plain.count(index="presented")["count"]
        plain.indices.delete(index="presented")


def test_a_sink_without_a_certificate_is_refused(proxy: Proxy, authority: Authority) -> None:
    with closing(sink(proxy, authority)) as made, pytest.raises(SinkError) as refused:
        made.open()

    assert "client_cert" in refused.value.hint
