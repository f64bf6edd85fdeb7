"""The keys of subjects: made, wrapped under a master key, given out, destroyed once and for good.

A key has three states: it never was, it is, it was destroyed. A subject is known by a name that
only the vault can tell from its key, so the vault's tables say nothing of a person.

Sealing is AES-SIV (RFC 5297) with a key of 64 bytes a subject. Names and blind indexes are
HMAC-SHA-256, cut to 16 bytes. Java seals with Tink, Python opens with `cryptography`.

Invariant: no key is stored in clear, and the name of a destroyed one never gets another.
"""

from __future__ import annotations

import base64
import hmac
import re
import secrets
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from typing import Protocol

from joinery.errors import SinkError, SinkUnavailableError, needs_extra

KEY_BYTES = 64
NAME_BYTES = 16
LINE_KEY_BYTES = 32
_NAMES, _INDEXES, _DAY, _LINES = "names", "indexes", "day ", "lines "
_SEALED = re.compile(r"jy[12]:([A-Za-z0-9_-]{22}):([A-Za-z0-9_-]*)")
_KNOWN_KEYS = 100_000
"""The most keys that are remembered, some 27 MiB; the others are asked for again."""


class VaultError(SinkError):
    """The vault cannot be used."""

    code = "RUN_VAULT"


class VaultUnavailableError(SinkUnavailableError):
    """The vault is not there now."""

    code = "RUN_VAULT_AWAY"


class VaultStore(Protocol):
    """The tables of a vault; every call is one transaction, durable when it returns."""

    @property
    def target(self) -> str:
        """Where they are, in words and without a secret."""

    def secret(self, name: str, made: bytes) -> bytes:
        """Return a wrapped secret of the vault; `made` where there was none, which is kept."""

    def forget_secrets(self, names: Collection[str]) -> None:
        """Destroy secrets."""

    def secrets(self) -> tuple[str, ...]:
        """Return the names of all secrets."""

    def keys(self, made: Mapping[bytes, bytes]) -> Mapping[bytes, bytes | None]:
        """Return the wrapped keys of subjects, None for destroyed ones.

        Args:
            made: By name, the wrapped key of a subject that has had none, which is kept.
        """

    def known(self, names: Collection[bytes]) -> Mapping[bytes, bytes | None]:
        """Return the same of those that ever were; makes none."""

    def destroy(self, name: bytes) -> int:
        """Destroy the key of a subject, also of one that never was; return the erasure's number."""

    def destroyed_after(self, number: int) -> tuple[tuple[int, bytes], ...]:
        """Return the erasures above a number."""

    def close(self) -> None:
        """Release connections."""


class Vault:
    """The keys of a project's subjects.

    Args:
        store: Its tables.
        master: What all keys are wrapped under.

    Raises:
        VaultError: The package `cryptography` is missing, or the master key is another.
        VaultUnavailableError: The tables are not there now.
    """

    def __init__(self, store: VaultStore, master: str) -> None:
        with needs_extra("vault", "personal columns need the package cryptography", VaultError):
            from cryptography.hazmat.primitives.ciphers.aead import AESSIV
        self._store = store
        self._siv = AESSIV
        self._wrapping = AESSIV(_derived(master))
        self._known: OrderedDict[bytes, bytes | None] = OrderedDict()
        self._seen = 0
        self._names = self._secret(_NAMES)
        self._indexes = self._secret(_INDEXES)

    @staticmethod
    def new_key() -> bytes:
        """Return a key that nothing was sealed with."""
        return secrets.token_bytes(KEY_BYTES)

    @property
    def target(self) -> str:
        """Where its tables are."""
        return self._store.target

    @property
    def of_names(self) -> bytes:
        """The key that names are made with."""
        return self._names[:32]

    @property
    def of_indexes(self) -> bytes:
        """The key that blind indexes are made with."""
        return self._indexes[:32]

    @property
    def identity(self) -> str:
        """What tells it from every other vault, and nothing of its keys."""
        return hmac.digest(self.of_names, b"identity", sha256)[:NAME_BYTES].hex()

    def name_of(self, relation: str, subject: str) -> bytes:
        """Return the name of a subject of a relation."""
        told = relation.encode() + b"\0" + subject.encode()
        return hmac.digest(self.of_names, told, sha256)[:NAME_BYTES]

    def index_of(self, clear: str) -> str:
        """Return the blind index of a value, as the kernel makes it of a text or a number."""
        return blind_index(self.of_indexes, clear)

    def keys(self, names: Iterable[bytes]) -> dict[bytes, bytes | None]:
        """Return the keys of subjects, None for destroyed ones; who has had none gets one."""
        wanted = set(names)
        found = self.known(wanted)
        made = {each: self.new_key() for each in wanted - found.keys()}
        return found | self._kept(made) if made else found

    def _kept(self, made: Mapping[bytes, bytes]) -> dict[bytes, bytes | None]:
        """Return the keys of subjects who have had none: the new ones, or another's meanwhile."""
        wrapped = {name: self._wrapped(key, name) for name, key in made.items()}
        kept = self._store.keys(wrapped)
        return self._remembered(
            {
                name: made[name] if each == wrapped[name] else self._opened(each, name)
                for name, each in kept.items()
            }
        )

    def known(self, names: Iterable[bytes]) -> dict[bytes, bytes | None]:
        """Return the same of those that ever were; makes none."""
        wanted = set(names)
        self._note_erasures()
        found = {each: self._known[each] for each in wanted if each in self._known}
        for each in found:
            self._known.move_to_end(each)
        missing = wanted - found.keys()
        if not missing:
            return found
        wrapped = self._store.known(missing).items()
        return found | self._remembered({name: self._opened(each, name) for name, each in wrapped})

    def destroy(self, relation: str, subject: str) -> tuple[bytes, int]:
        """Destroy the key of a subject; return its name and the erasure's number."""
        name = self.name_of(relation, subject)
        return name, self._store.destroy(name)

    def destroy_again(self, names: Iterable[bytes]) -> int:
        """Destroy the keys of erased subjects whose erasure the tables lack; return how many."""
        wanted = set(names)
        known = self._store.known(wanted)
        lacking = sorted(each for each in wanted if known.get(each, b"") is not None)
        for each in lacking:
            self._store.destroy(each)
        return len(lacking)

    def key_of_day(self, day: date) -> bytes:
        """Return the key of a day's unusable records; made where there is none."""
        return self._secret(f"{_DAY}{day.isoformat()}")

    def forget_days(self, retention: timedelta) -> None:
        """Destroy the keys of days that are over for longer than a time."""
        oldest = f"{_DAY}{(datetime.now(UTC) - retention).date().isoformat()}"
        over = [each for each in self._store.secrets() if each.startswith(_DAY) and each < oldest]
        if over:
            self._store.forget_secrets(over)

    def key_of_lines(self, name: str) -> bytes:
        """Return the key of a capture's lines; made where there is none."""
        return self._secret(f"{_LINES}{name}")[:LINE_KEY_BYTES]

    def key_of_known_lines(self, name: str) -> bytes | None:
        """Return the same of one that was made; None where it was destroyed."""
        known = f"{_LINES}{name}" in self._store.secrets()
        return self.key_of_lines(name) if known else None

    def forget_lines(self, source: str, before: date) -> None:
        """Destroy the keys of a capture's lines of the days before one."""
        head = f"{_LINES}{source} "
        last = f"{head}{before.isoformat()}"
        over = [each for each in self._store.secrets() if each.startswith(head) and each < last]
        if over:
            self._store.forget_secrets(over)

    def seal(self, key: bytes, name: bytes, clear: str) -> str:
        """Return a value as the kernel seals it."""
        return sealed_text(name, self._siv(key).encrypt(clear.encode(), [name]))

    def open(self, key: bytes, name: bytes, body: bytes) -> str | None:
        """Return a sealed value, None where the key does not open it."""
        from cryptography.exceptions import InvalidTag

        try:
            return self._siv(key).decrypt(body, [name]).decode()
        except (InvalidTag, ValueError):
            return None

    def close(self) -> None:
        """Release connections."""
        self._known.clear()
        self._store.close()

    def _note_erasures(self) -> None:
        """Forget the keys that anybody has destroyed since the last time."""
        for number, name in self._store.destroyed_after(self._seen):
            self._known.pop(name, None)
            self._seen = max(self._seen, number)

    def _opened(self, wrapped: bytes | None, name: bytes) -> bytes | None:
        return None if wrapped is None else self._unwrapped(wrapped, name)

    def _remembered(self, keys: dict[bytes, bytes | None]) -> dict[bytes, bytes | None]:
        """Return keys, and remember them in place of those asked for least lately."""
        self._known.update(keys)
        while len(self._known) > _KNOWN_KEYS:
            self._known.popitem(last=False)
        return keys

    def _secret(self, name: str) -> bytes:
        label = name.encode()
        made = self._wrapped(self.new_key(), label)
        return self._unwrapped(self._store.secret(name, made), label)

    def _wrapped(self, key: bytes, label: bytes) -> bytes:
        return self._wrapping.encrypt(key, [label])

    def _unwrapped(self, wrapped: bytes, label: bytes) -> bytes:
        from cryptography.exceptions import InvalidTag

        try:
            return self._wrapping.decrypt(wrapped, [label])
        except InvalidTag as error:
            raise VaultError(
                f"the vault, {self.target}, was created with another master key",
                hint="Give the master key that it was created with, or another vault.",
            ) from error


def _derived(master: str) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    kdf = HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=b"joinery vault 1")
    return kdf.derive(master.encode())


def blind_index(key: bytes, clear: str) -> str:
    """Return the blind index of a text, or of the text of a number, under the key of indexes."""
    return _base64(hmac.digest(key, clear.encode(), sha256)[:NAME_BYTES])


def sealed_text(name: bytes, body: bytes) -> str:
    """Return how a sealed value is written; without a body it is one of an erased subject."""
    return f"jy1:{_base64(name)}:{_base64(body)}"


def parse_sealed(text: str) -> tuple[bytes, bytes] | None:
    """Return the subject's name and what is sealed; None where a text is not a sealed value.

    Example:
        >>> parse_sealed(sealed_text(bytes(16), b"x"))[1]
        b'x'
    """
    found = _SEALED.fullmatch(text)
    return None if found is None else (_bytes(found[1]), _bytes(found[2]))


def mark_of(name: bytes, number: int, *, text: bool = True) -> str:
    """Return what an erasure puts in place of what was sealed, a text or what is none."""
    return f"jy{1 if text else 2}:{_base64(name)}:-{number}"


def is_json(token: bytes) -> bool:
    """Return whether what is sealed is JSON, as it is where a value is not text."""
    return token.startswith(b"jy2:")


def _base64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        return b""
