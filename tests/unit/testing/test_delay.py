"""A proxy adds a round trip to each answer, and can be cut."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from joinery.testing.delay import DelayProxy


@pytest.fixture
def echo() -> Iterator[int]:
    """A server that sends back what it gets; its port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(link: socket.socket) -> None:
        with link:
            while block := link.recv(1 << 16):
                link.sendall(block)

    def accept() -> None:
        while True:
            try:
                link, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(link,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def linked(proxy: DelayProxy) -> socket.socket:
    return socket.create_connection(("127.0.0.1", proxy.port))


def answer(link: socket.socket, text: bytes) -> bytes:
    link.sendall(text)
    got = b""
    while len(got) < len(text) and (block := link.recv(1 << 16)):
        got += block
    return got


def test_an_answer_takes_the_round_trip_longer(echo: int) -> None:
    with DelayProxy(echo, round_trip_s=0.05) as proxy, linked(proxy) as link:
        begun = time.monotonic()
        got = answer(link, b"hello")
        spent = time.monotonic() - begun

    assert b"hello" == got
    assert spent >= 0.05


def test_a_large_answer_comes_whole(echo: int) -> None:
    text = bytes(range(256)) * 8192
    with DelayProxy(echo, round_trip_s=0.001) as proxy, linked(proxy) as link:
        sender = threading.Thread(target=link.sendall, args=(text,))
        sender.start()
        got = b""
        while len(got) < len(text):
            got += link.recv(1 << 16)
        sender.join()

    assert text == got


def test_a_cut_ends_connections_until_it_is_mended(echo: int) -> None:
    with DelayProxy(echo, round_trip_s=0.0) as proxy:
        with linked(proxy) as link:
            answer(link, b"hello")
            proxy.cut()
            assert b"" == _rest(link)
        with linked(proxy) as link:
            assert b"" == _rest(link)

        proxy.mend()

        with linked(proxy) as link:
            assert b"again" == answer(link, b"again")


def _rest(link: socket.socket) -> bytes:
    try:
        return link.recv(10)
    except ConnectionError:
        return b""
