"""The door of a run at which Spark's tasks ask for the keys of subjects, in bulk.

It listens on this machine alone, lets in who knows the run's token, and answers while the vault
is there; while it is not, whoever asks waits, and nothing is decoded.

Invariant: keys go to tasks of this run and nowhere else, and none outlives its task.
"""

from __future__ import annotations

import hmac
import secrets
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from io import BufferedIOBase

from joinery.errors import JoineryError
from joinery.model.progress import Waiting
from joinery.retry import PATIENCE, Patience, Retry
from joinery.vault.keys import NAME_BYTES, Vault, VaultError, VaultUnavailableError

_MOST_ASKED = 1 << 20
_OF_LINES = -1
_NOBODY = struct.pack(">B", 0)
SILENT = "the vault did not answer"


@dataclass(frozen=True, slots=True)
class VaultAddress:
    """Where tasks ask.

    Attributes:
        port: On this machine.
        token: Who knows it is let in.
    """

    port: int
    token: str = field(repr=False)


def check_one_machine(master: str) -> None:
    """Refuse a run whose tasks are on other machines, which the door is closed to.

    Raises:
        VaultError: They are.
    """
    if not master.startswith("local"):
        raise VaultError(
            "personal columns need Spark on one machine",
            detail=f"This one is at {master}, and keys are not sent over a network yet.",
            hint="Start the run with --master 'local[*]'.",
        )


def waiting_for(
    target: str,
    *,
    ended: Callable[[], bool],
    tell: Callable[[Waiting | None], None],
    patience: Patience = PATIENCE,
) -> Retry:
    """Return what waits for a vault that is not there now.

    Args:
        target: Where the vault is, in words.
        ended: True once the run is to end; a wait ends then.
        tell: Told what is waited for, and None once that is over.
        patience: How it waits.
    """
    return Retry(
        "vault",
        {"vault": target},
        lambda: target,
        outage=VaultUnavailableError,
        ended=ended,
        tell=tell,
        patience=patience,
    )


class VaultDoor:
    """Answers the tasks of a run until it is closed.

    Args:
        vault: Holds the keys.
        retention: How long keys of days are kept.
        ended: True once the run is to end; a wait ends then.
        tell: Told what is waited for, and None once that is over.
        patience: How it waits.
    """

    def __init__(
        self,
        vault: Vault,
        *,
        retention: timedelta,
        ended: Callable[[], bool] = lambda: False,
        tell: Callable[[Waiting | None], None] = lambda waiting: None,
        patience: Patience = PATIENCE,
    ) -> None:
        self._vault = vault
        self._retention = retention
        self._lock = threading.Lock()
        self._retry = waiting_for(vault.target, ended=ended, tell=tell, patience=patience)
        self._links: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.address = VaultAddress(self._listener.getsockname()[1], secrets.token_urlsafe(32))
        threading.Thread(target=self._listen, name="joinery-vault", daemon=True).start()

    def close(self) -> None:
        """Let nobody in any more, and end what goes on."""
        for each in (self._listener, *self._links):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _listen(self) -> None:
        while True:
            try:
                link, _ = self._listener.accept()
            except OSError:
                return
            self._links.add(link)
            threading.Thread(target=self._serve, args=(link,), daemon=True).start()

    def _serve(self, link: socket.socket) -> None:
        try:
            with link, link.makefile("rwb") as stream:
                link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                told = _read_text(stream)
                if not hmac.compare_digest(told.encode(), self.address.token.encode()):
                    return
                stream.write(self._waited(self._greeting))
                stream.flush()
                while (size := stream.read(4)) != b"":
                    stream.write(self._waited(self._asked(stream, *struct.unpack(">i", size))))
                    stream.flush()
        except (OSError, EOFError, struct.error, JoineryError):
            return  # the task's own end tells that it was not answered
        finally:
            self._links.discard(link)

    def _waited(self, attempt: Callable[[], bytes]) -> bytes:
        def alone() -> bytes:
            with self._lock:
                return attempt()

        return self._retry.until_done(alone, SILENT)

    def _greeting(self) -> bytes:
        """Return what a task needs first: the keys of names, of indexes and of the day."""
        today = datetime.now(UTC).date()
        self._vault.forget_days(self._retention)
        return self._greeted(today.isoformat().encode(), self._vault.key_of_day(today))

    def _greeted(self, day: bytes, key: bytes) -> bytes:
        label = struct.pack(">H", len(day)) + day
        return b"".join((self._vault.of_names, self._vault.of_indexes, label, key))

    def _asked(self, stream: BufferedIOBase, count: int) -> Callable[[], bytes]:
        """Return what answers a request: of so many names, or of a key of lines."""
        if count == _OF_LINES:
            return partial(self._key_of_lines, _read_text(stream))
        return partial(self._answer, _read_names(stream, count))

    def _key_of_lines(self, name: str) -> bytes:
        key = self._vault.key_of_known_lines(name)
        return _NOBODY if key is None else b"\x01" + key

    def _keys(self, names: list[bytes]) -> Mapping[bytes, bytes | None]:
        return self._vault.keys(names)

    def _answer(self, names: list[bytes]) -> bytes:
        keys = self._keys(names)
        found = (keys[each] for each in names)
        return b"".join(_NOBODY if key is None else b"\x01" + key for key in found)


class LookingDoor(VaultDoor):
    """Answers who only looks: whoever has had no key gets one that is kept nowhere.

    Args:
        vault: Holds the keys.
    """

    def __init__(self, vault: Vault) -> None:
        self._made: dict[bytes, bytes] = {}
        super().__init__(vault, retention=timedelta.max)

    def _greeting(self) -> bytes:
        return self._greeted(b"none", Vault.new_key())

    def _keys(self, names: list[bytes]) -> Mapping[bytes, bytes | None]:
        found = self._vault.known(names)
        for each in {*names} - found.keys() - self._made.keys():
            self._made[each] = Vault.new_key()
        return {**self._made, **found}


def _read_text(stream: BufferedIOBase) -> str:
    (size,) = struct.unpack(">H", stream.read(2))
    return stream.read(size).decode()


def _read_names(stream: BufferedIOBase, count: int) -> list[bytes]:
    if not 0 <= count <= _MOST_ASKED:
        raise EOFError
    raw = stream.read(count * NAME_BYTES)
    if len(raw) != count * NAME_BYTES:
        raise EOFError
    return [raw[at : at + NAME_BYTES] for at in range(0, len(raw), NAME_BYTES)]
