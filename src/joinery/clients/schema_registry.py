"""Asks a schema registry with Confluent's interface for schemas, and tells it new ones.

Invariant: no message holds a user, a password or a token.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

from joinery.errors import RunError
from joinery.project.schema_registry import RegistryOptions

_TIMEOUT_S = 10.0
_TYPE = "application/vnd.schemaregistry.v1+json"
_PASSING = (408, 429)
_REFUSED = (401, 403)


class RegistryError(RunError):
    """A schema registry does not do what it is asked for.

    Attributes:
        passing: It may do so later.
    """

    code = "RUN_REGISTRY"
    passing = False


class SchemaRegistry:
    """One registry; its answers are not kept.

    Attributes:
        id_bytes: The bytes of a schema's id in front of a message.
    """

    def __init__(self, options: RegistryOptions) -> None:
        self._options = options
        self.id_bytes = options.id_bytes
        self._urls = options.addresses

    def latest(self, subject: str) -> Any:
        """Return the newest schema of a subject, parsed; None where there is no such subject.

        Raises:
            RegistryError: The registry does not answer, or the schema is not of Avro.
        """
        told = self._ask(f"/subjects/{quote(subject, safe='')}/versions/latest")
        return _parsed(told, f'subject "{subject}"')

    def schema(self, number: int) -> Any:
        """Return the schema with an id, parsed; None where there is none.

        Raises:
            RegistryError: The registry does not answer, or the schema is not of Avro.
        """
        told = self._ask(f"/schemas/ids/{number}")
        return _parsed(told, f"schema {number}")

    def register(self, subject: str, schema: Any) -> int:
        """Return the id of a schema under a subject, which is told it where it is new.

        Raises:
            RegistryError: The registry does not answer, or refuses the schema.
        """
        path = f"/subjects/{quote(subject, safe='')}/versions"
        told = self._ask(path, {"schema": json.dumps(schema)})
        if told is None:
            raise self._error("does not take schemas", 404)
        return int(told["id"])

    def _ask(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        failure: RegistryError | None = None
        for url in self._urls:
            try:
                return self._answer(url + path, body)
            except RegistryError as error:
                failure = error
                if not error.passing:
                    break
        assert failure is not None  # there is a URL
        raise failure

    def _answer(self, url: str, body: Mapping[str, Any] | None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = Request(url, data=data, headers={"Accept": _TYPE, **self._authorization()})
        if data is not None:
            request.add_header("Content-Type", _TYPE)
        try:
            with urlopen(request, timeout=_TIMEOUT_S) as answer:
                return json.load(answer)
        except HTTPError as error:
            said = _said(error)
            if error.code == 404 and said.get("error_code", 0) // 100 == 404:
                return None
            raise self._error(said.get("message", ""), error.code) from error
        except (URLError, OSError, ValueError) as error:
            failed = RegistryError(
                f"could not reach the schema registry {self._options.url}",
                detail=f"{getattr(error, 'reason', error)}.",
                hint="Check its address, and that it is up.",
            )
            failed.passing = True
            raise failed from error

    def _error(self, said: str, status: int) -> RegistryError:
        hint = "Check its address."
        if status in _REFUSED:
            hint = "Check user and password of the registry."
        elif said:
            hint = ""
        error = RegistryError(
            f"the schema registry {self._options.url} answers with status {status}",
            detail=" ".join(said.split())[:500],
            hint=hint,
        )
        error.passing = status >= 500 or status in _PASSING
        return error

    def _authorization(self) -> dict[str, str]:
        options = self._options
        if options.token is not None:
            return {"Authorization": f"Bearer {options.token}"}
        if options.user is None:
            return {}
        both = f"{options.user}:{options.password or ''}".encode()
        return {"Authorization": f"Basic {base64.b64encode(both).decode()}"}


def _parsed(told: dict[str, Any] | None, what: str) -> Any:
    """Return the schema of an answer; None where there is none."""
    if told is None:
        return None
    if told.get("schemaType", "AVRO") != "AVRO":
        raise RegistryError(f"{what} is not of Avro, but {told['schemaType']}")
    return json.loads(told["schema"])


def _said(error: HTTPError) -> dict[str, Any]:
    try:
        told = json.load(error)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}
