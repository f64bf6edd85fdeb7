"""How the schemas of a Kafka source's Avro messages are asked for.

Invariant: options that were noted no problem for become a `RegistryOptions`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from joinery.project.option import Option, declared, plain
from joinery.project.part import Part, key, names_of, part, read_part
from joinery.project.reader import Reader
from joinery.project.tree import MapTree, Scalar, Tree, tree_of
from joinery.project.value import DURATION, TEXT, At, Value

_ID_BYTES = (4, 8)


def _read_url(reader: Reader, tree: Tree, what: str) -> str:
    text = reader.text(tree, what)
    for each in text.split(","):
        url = urlsplit(each.strip())
        if each and (url.scheme not in ("http", "https") or not url.hostname):
            hint = "Write one such as http://host:8081."
            reader.refuse("SPEC_VALUE", f"{what} is not a URL", tree.mark.value, hint=hint)
        elif url.username or url.password:
            hint = "Write user and password next to url."
            message = f"{what} cannot hold a user or a password"
            reader.refuse("SPEC_VALUE", message, tree.mark.value, hint=hint)
    return text


def _read_secret(at: At, tree: Tree) -> str | None:
    """Return a text that may look like a number."""
    value = tree.value if isinstance(tree, Scalar) else None
    if value is None or value == "":
        # Never the value itself: it may be a secret.
        at.reader.refuse("SPEC_SHAPE", f"{at.part} needs a text", tree.mark.value)
        return None
    return str(value)


def _read_id_bytes(at: At, tree: Tree) -> int:
    value = tree.value if isinstance(tree, Scalar) else None
    if value not in _ID_BYTES:
        at.reader.shape(tree, at.part, "4 or 8")
        return _ID_BYTES[0]
    return int(value)


_URL = replace(TEXT, read=lambda at, tree: _read_url(at.reader, tree, at.part))
_SECRET = replace(TEXT, read=_read_secret)


@part
class RegistryOptions(Part):
    """A schema registry with Confluent's interface.

    Attributes:
        url: Its address, with commas between several of one registry.
        user: With `password`, for basic authentication; both may be secrets.
        token: For bearer authentication, instead.
        wait_ms: How long a registry that is down is waited for.
        id_bytes: The bytes of a schema's id in front of a message.
    """

    url: str = key(
        _URL,
        "Its address; several of one registry separated by commas.",
        hint="Write registry: {url: http://host:8081}.",
    )
    user: str | None = key(_SECRET, "The user of basic authentication.", default=None, secret=True)
    password: str | None = key(
        _SECRET, "The password of basic authentication.", default=None, secret=True
    )
    token: str | None = key(
        _SECRET, "The token of bearer authentication.", default=None, secret=True
    )
    wait_ms: int = key(
        DURATION.told(default="60s"),
        "How long to wait for a registry that is down.",
        default=60_000,
        shown=False,
    )
    id_bytes: int = key(
        Value({"enum": list(_ID_BYTES)}, _read_id_bytes),
        "The size of the schema id in front of a message, in bytes.",
        default=4,
    )

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses in its URL, without the slashes at their ends."""
        return tuple(each.strip().rstrip("/") for each in self.url.split(",") if each.strip())


def registry_options(value: object) -> RegistryOptions | None:
    """Return the options given under `registry`, a URL or a map; None where there are none."""
    if value is None:
        return None
    given = plain(value)
    if not isinstance(given, dict):
        return RegistryOptions(str(given))
    return read_part(Reader(), tree_of(given), "registry", RegistryOptions)


def registry(description: str, *, default: None = None) -> Any:
    """Return the field of a schema registry: its address, or a map."""
    names = names_of(RegistryOptions)
    map_ = {"type": "object", "additionalProperties": False, "properties": names}
    address = {"type": "string", "description": "Its address."}
    fragment = {"description": description, "anyOf": [address, map_]}
    return declared(
        Option(fragment, registry_options, check_registry), default=default, secret=True
    )


def check_registry(reader: Reader, tree: Tree, part: str) -> None:
    """Note every problem of the options under `registry`: a URL, or a map."""
    if not isinstance(tree, MapTree):
        _read_url(reader, tree, part)
        return
    read_part(reader, tree, part, RegistryOptions)
    found = {each.name for each in tree.entries}
    if "token" in found and ("user" in found or "password" in found):
        message = f"{part} has both a token and a user"
        reader.refuse("SPEC_VALUE", message, tree.mark.value, hint="Keep one of them.")
    elif "password" in found and "user" not in found:
        hint = "Write user next to password."
        reader.refuse("SPEC_MISSING_KEY", f'{part} needs "user"', tree.mark.value, hint=hint)
