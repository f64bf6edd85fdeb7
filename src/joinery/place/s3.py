"""Objects in a store that speaks S3: read, list, put whole, put on a condition, delete.

What the project says to Hadoop, `fs.s3a.…` under `run.spark`, is said to both clients. Endpoint and
region that it does not say are those of this machine's environment, on executors, too; keys are
found as AWS's own clients find them, on each machine: in the environment, the user's profile, the
machine's role.

Invariant: a conditional put succeeds for one of those who saw the same object, or the same lack
of one. One whose answer was lost may be reported as `ConflictError` though it was made, since
the client tries again: whoever is told reads the object before deciding.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from joinery.errors import RunError
from joinery.place.store import ConflictError, Found, Listed, StorageError
from joinery.slices import slices

if TYPE_CHECKING:
    from typing import Self

LARGE_BYTES = 8 << 20  # such objects are copied in parts
_CONNECT_S, _READ_S, _TRIES = 5.0, 10.0, 5
_MOST_DELETED = 1000  # a request, as S3 has it
_GONE = {"404", "NoSuchKey"}
_CONFLICTS = {"409", "412", "PreconditionFailed", "ConditionalRequestConflict", *_GONE}
_PREFIX = "spark.hadoop."


@dataclass(frozen=True, slots=True)
class S3Options:
    """How a store is reached; None leaves it to AWS's own rules.

    Attributes:
        endpoint: Such as `http://127.0.0.1:9000`.
        path_style: The bucket is part of the path, not of the host's name.
        answer_s: How long an answer is waited for.
        tries: How often a request is made that fails or is refused.
    """

    scheme: ClassVar = "s3a"

    endpoint: str | None = None
    region: str | None = None
    access_key: str | None = field(default=None, repr=False)
    secret_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)
    path_style: bool = False
    answer_s: float = _READ_S
    tries: int = _TRIES

    @classmethod
    def of(cls, settings: Mapping[str, object]) -> Self:
        """Return what Spark's settings say of S3A.

        Example:
            >>> S3Options.of(
            ...     {
            ...         "spark.hadoop.fs.s3a.endpoint": "127.0.0.1:9000",
            ...         "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
            ...     }
            ... ).endpoint
            'http://127.0.0.1:9000'
        """

        def said(name: str) -> str | None:
            found = settings.get(f"{_PREFIX}fs.s3a.{name}")
            return None if found is None else str(found)

        plain = str(said("connection.ssl.enabled")).lower() == "false"
        return cls(
            endpoint=_url(said("endpoint"), "http" if plain else "https"),
            region=said("endpoint.region"),
            access_key=said("access.key"),
            secret_key=said("secret.key"),
            session_token=said("session.token"),
            path_style=str(said("path.style.access")).lower() == "true",
        )

    @property
    def server(self) -> str:
        """Names the store among those that have a bucket of the same name."""
        return self.endpoint or ""

    def store(self, name: str) -> Bucket:
        """Return one of its buckets."""
        return Bucket(name, self)


def _url(endpoint: str | None, scheme: str) -> str | None:
    return endpoint if endpoint is None or "://" in endpoint else f"{scheme}://{endpoint}"


def hadoop_settings() -> dict[str, str]:
    """Return what S3A has to be told of what AWS's clients find in the environment."""
    found = {
        "endpoint": os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL"),
        "endpoint.region": os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"),
    }
    return {f"{_PREFIX}fs.s3a.{name}": value for name, value in found.items() if value}


@dataclass(frozen=True, slots=True)
class Bucket:
    """One bucket of a store."""

    name: str
    options: S3Options
    can_rename: ClassVar = False

    def prepare(self) -> None:
        """Make the client, which takes up to a second."""
        client_of(self.options)

    def read(self, key: str) -> Found:
        """Return an object.

        Raises:
            FileNotFoundError: There is none.
            StorageError: The store cannot be asked.
        """
        with self._errors("read", key):
            told = self._client.get_object(Bucket=self.name, Key=key)
            with told["Body"] as body:
                return Found(body.read(), told["ETag"])

    def modified_at(self, key: str) -> float | None:
        """Return when an object was put, in seconds since 1970; None where there is none."""
        try:
            with self._errors("look for", key):
                told = self._client.head_object(Bucket=self.name, Key=key)
        except FileNotFoundError:
            return None
        return float(told["LastModified"].timestamp())

    def put(self, key: str, content: bytes) -> None:
        """Put an object, whatever was there."""
        with self._errors("write", key):
            self._client.put_object(Bucket=self.name, Key=key, Body=content)

    def fetch(self, key: str, file: Path) -> None:
        """Write an object to a file of this machine, in parts where it is large.

        Raises:
            FileNotFoundError: There is none.
            StorageError: The store cannot be asked.
        """
        with self._errors("read", key):
            self._client.download_file(self.name, key, str(file))

    def put_file(self, key: str, file: Path) -> None:
        """Put what a file of this machine holds, in parts where it is large."""
        with self._errors("write", key):
            self._client.upload_file(str(file), self.name, key)

    def copy(self, key: str, target: str, size: int) -> None:
        """Put an object with what another of the bucket holds, without taking it through here.

        One that is not large is copied by one request, others in parts.
        """
        source = {"Bucket": self.name, "Key": key}
        with self._errors("copy", key):
            if size < LARGE_BYTES:
                self._client.copy_object(Bucket=self.name, Key=target, CopySource=source)
            else:
                self._client.copy(source, self.name, target)

    def create(self, key: str, content: bytes) -> None:
        """Put an object if there is none."""
        self.replace(key, content, None)

    def replace(self, key: str, content: bytes, seen: str | None) -> str:
        """Put an object if it is still as it was seen; return its tag.

        Args:
            key: Its name.
            content: What it is to hold.
            seen: Its tag; None where there was none.

        Raises:
            ConflictError: It is not, or it was this very call that has put it.
        """
        condition = {"IfNoneMatch": "*"} if seen is None else {"IfMatch": seen}
        with self._errors("write", key, conditional=True):
            told = self._client.put_object(Bucket=self.name, Key=key, Body=content, **condition)
            return str(told["ETag"])

    def check_conditions(self, key: str) -> None:
        """See that the store keeps the conditions of puts.

        Raises:
            StorageError: It does not: of two who write at once, both would be told they did.
        """
        try:
            self._puts(key, b"first", None)
            if self._puts(key, b"again", None):
                raise self._deaf("If-None-Match")
            seen = self.read(key).tag
            if not self._puts(key, b"second", seen):
                raise self._deaf("If-Match", "It rejects one that holds.")
            if self._puts(key, b"late", seen):
                raise self._deaf("If-Match")
        finally:
            self.delete(key)

    def _puts(self, key: str, content: bytes, seen: str | None) -> bool:
        """Return whether a conditional put was made; its answer may have been lost."""
        try:
            self.replace(key, content, seen)
        except ConflictError:
            return self.read(key).content == content
        return True

    def _deaf(self, header: str, detail: str = "") -> StorageError:
        return StorageError(
            f"the store of s3a://{self.name} ignores the condition of a put: {header}",
            detail=detail or "Two runs could overwrite each other there.",
            hint="Use a store that supports If-None-Match and If-Match, such as S3, with nothing"
            " in between that alters ETags.",
        )

    def make_folder(self, key: str) -> None:
        """Need nothing."""

    def rename(self, key: str, target: str) -> None:
        """Refuse: there are no folders that have names."""
        raise NotImplementedError

    def delete(self, key: str) -> None:
        """Delete an object, if there is one."""
        with self._errors("delete", key):
            self._client.delete_object(Bucket=self.name, Key=key)

    def delete_all(self, keys: Iterable[str]) -> None:
        """Delete objects, those that there are, many a request."""
        for some in slices(keys, _MOST_DELETED):
            objects = [{"Key": each} for each in some]
            with self._errors("delete", some[0]):
                told = self._client.delete_objects(
                    Bucket=self.name, Delete={"Objects": objects, "Quiet": True}
                )
            for each in told.get("Errors", ()):
                raise self._failed("delete", str(each.get("Key")), each.get("Message", ""))

    def files_below(self, prefix: str) -> Iterator[Listed]:
        """Yield what the listing tells of the objects whose names begin with `prefix`."""
        for page in self._pages(prefix):
            for each in page.get("Contents", ()):
                yield Listed(each["Key"], each["Size"], each["ETag"])

    def delete_below(self, prefix: str) -> None:
        """Delete the objects whose names begin with `prefix`."""
        self.delete_all(list(self.keys(prefix)))

    def any_below(self, prefix: str) -> bool:
        """Return whether a name begins with `prefix`."""
        return next(self.keys(prefix, most=1), None) is not None

    def matching(self, prefix: str, pattern: Sequence[str]) -> Iterator[str]:
        """Yield the names that begin with `prefix` and match from there on, part for part."""
        for key in self.keys(prefix):
            parts = key.removeprefix(prefix).split("/")
            if len(parts) == len(pattern) and all(map(fnmatchcase, parts, pattern)):
                yield key

    def keys(self, prefix: str, *, most: int | None = None) -> Iterator[str]:
        """Yield the names that begin with `prefix`, in order."""
        for page in self._pages(prefix, most=most):
            yield from (each["Key"] for each in page.get("Contents", ()))

    def children(self, prefix: str) -> Iterator[str]:
        """Yield what stands between `prefix` and the next slash, or the end, once each."""
        for page in self._pages(prefix, Delimiter="/"):
            found = [each["Prefix"] for each in page.get("CommonPrefixes", ())]
            found += [each["Key"] for each in page.get("Contents", ())]
            names = (each.removeprefix(prefix).rstrip("/") for each in found)
            yield from (each for each in names if each)

    def _pages(self, prefix: str, *, most: int | None = None, **more: str) -> Iterator[Any]:
        asked = {"Bucket": self.name, "Prefix": prefix, **more}
        if most is not None:
            with self._errors("list", prefix):
                yield self._client.list_objects_v2(**asked, MaxKeys=most)
            return
        with self._errors("list", prefix):
            yield from self._client.get_paginator("list_objects_v2").paginate(**asked)

    @property
    def _client(self) -> Any:
        return client_of(self.options)

    @contextmanager
    def _errors(self, verb: str, key: str, *, conditional: bool = False) -> Iterator[None]:
        client_of(self.options)  # tells in one line what is not installed
        from boto3.exceptions import Boto3Error
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            yield
        except ClientError as error:
            told = str(error.response.get("Error", {}).get("Code", ""))
            if conditional and told in _CONFLICTS:
                raise ConflictError(key) from error
            if told in _GONE:
                raise FileNotFoundError(f"s3a://{self.name}/{key}") from error
            raise self._failed(verb, key, error) from error
        except (BotoCoreError, Boto3Error, OSError) as error:
            raise self._failed(verb, key, error) from error

    def _failed(self, verb: str, key: str, error: object) -> StorageError:
        return StorageError(
            f"could not {verb} s3a://{self.name}/{key}",
            detail=f"{error}".rstrip(".") + ".",
            hint="Check that the store is up, and fs.s3a.… under run.spark; then start again.",
        )


def require_client() -> None:
    """See that the client of object stores is installed.

    Raises:
        RunError: It is not.
    """
    try:
        import boto3
    except ImportError as error:
        raise RunError(
            "s3a:// needs boto3",
            hint="Run pip install 'joinery[s3]'.",
        ) from error
    del boto3


@cache
def client_of(options: S3Options) -> Any:
    """Return the client of a store, which all threads of a process share."""
    require_client()
    import boto3
    from botocore.config import Config

    style = {"addressing_style": "path"} if options.path_style else {}
    return boto3.session.Session().client(
        "s3",
        endpoint_url=options.endpoint,
        region_name=options.region,
        aws_access_key_id=options.access_key,
        aws_secret_access_key=options.secret_key,
        aws_session_token=options.session_token,
        config=Config(
            s3=style,
            connect_timeout=min(_CONNECT_S, options.answer_s),
            read_timeout=options.answer_s,
            retries={"mode": "standard", "total_max_attempts": options.tries},
        ),
    )
