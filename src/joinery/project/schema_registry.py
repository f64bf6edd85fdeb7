"""How the schemas of a Kafka source's Avro messages are asked for.

Invariant: options that were noted no problem for become a `RegistryOptions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from joinery.project import grammar
from joinery.project.option import Option, declared
from joinery.project.quantity import duration_ms
from joinery.project.reader import Reader
from joinery.project.tree import Entry, MapTree, Scalar, Tree

WAIT_MS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryOptions:
    """A schema registry with Confluent's interface.

    Attributes:
        url: Its address, with commas between several of one registry.
        user: With `password`, for basic authentication; both may be secrets.
        token: For bearer authentication, instead.
        wait_ms: How long a registry that is down is waited for.
        id_bytes: The bytes of a schema's id in front of a message.
    """

    url: str
    user: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    wait_ms: int = WAIT_MS
    id_bytes: int = 4


def registry_options(value: object) -> RegistryOptions | None:
    """Return the options given under `registry`, a URL or a map; None where there are none."""
    if value is None:
        return None
    if isinstance(value, Mapping):
        value = tuple(value.items())
    if not isinstance(value, tuple):
        return RegistryOptions(url=str(value))
    given: dict[str, Any] = dict(value)
    wait = duration_ms(str(given["wait"])) if "wait" in given else None
    return RegistryOptions(
        url=str(given.get("url", "")),
        user=_secret(given, "user"),
        password=_secret(given, "password"),
        token=_secret(given, "token"),
        wait_ms=WAIT_MS if wait is None else wait,
        id_bytes=given.get("id_bytes", 4),
    )


def registry(description: str, *, default: None = None) -> Any:
    """Return the field of a schema registry: its address, or a map."""
    map_ = {"type": "object", "additionalProperties": False, "properties": grammar.REGISTRY}
    address = {"type": "string", "description": "Its address."}
    fragment = {"description": description, "anyOf": [address, map_]}
    return declared(
        Option(fragment, registry_options, check_registry), default=default, secret=True
    )


def _secret(given: dict[str, Any], name: str) -> str | None:
    """Return a text that may look like a number."""
    return None if given.get(name) is None else str(given[name])


def check_registry(reader: Reader, tree: Tree, part: str) -> None:
    """Note every problem of the options under `registry`: a URL, or a map."""
    if not isinstance(tree, MapTree):
        _check_url(reader, tree, part)
        return
    found = reader.named(tree, part, grammar.REGISTRY)
    if "url" not in found:
        hint = "Write registry: {url: http://host:8081}."
        reader.refuse("SPEC_MISSING_KEY", f'{part} needs "url"', tree.mark.value, hint=hint)
    for entry in tree.entries:
        _check_option(reader, entry, f'"{entry.name}" of {part}')
    if "token" in found and ("user" in found or "password" in found):
        message = f"{part} has both a token and a user"
        reader.refuse("SPEC_VALUE", message, tree.mark.value, hint="Keep one of them.")
    elif "password" in found and "user" not in found:
        hint = "Write user next to password."
        reader.refuse("SPEC_MISSING_KEY", f'{part} needs "user"', tree.mark.value, hint=hint)


def _check_option(reader: Reader, entry: Entry, what: str) -> None:
    match entry.name:
        case "url":
            _check_url(reader, entry.value, what)
        case "user" | "password" | "token":
            value = entry.value.value if isinstance(entry.value, Scalar) else None
            if value is None or value == "":
                # Never the value itself: it may be a secret.
                reader.refuse("SPEC_SHAPE", f"{what} needs a text", entry.value.mark.value)
        case "wait":
            reader.duration_ms(entry.value, what)
        case "id_bytes":
            value = entry.value.value if isinstance(entry.value, Scalar) else None
            if value not in grammar.ID_BYTES:
                reader.shape(entry.value, what, "4 or 8")
        case _:
            pass


def _check_url(reader: Reader, tree: Tree, what: str) -> None:
    for each in reader.text(tree, what).split(","):
        url = urlsplit(each.strip())
        if each and (url.scheme not in ("http", "https") or not url.hostname):
            hint = "Write one such as http://host:8081."
            reader.refuse("SPEC_VALUE", f"{what} is no URL", tree.mark.value, hint=hint)
        elif url.username or url.password:
            hint = "Write user and password next to url."
            message = f"{what} cannot hold a user or a password"
            reader.refuse("SPEC_VALUE", message, tree.mark.value, hint=hint)
