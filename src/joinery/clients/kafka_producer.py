"""Produces records idempotently, a batch at a time; in transactions where it has an id.

Invariant: `finish` returns only once the brokers have all that they did not refuse.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakMethod

from joinery.clients.kafka import (
    ANSWER_S,
    FENCED,
    Brokers,
    code_of,
    error_of,
    failure,
    kafka_errors,
    make_consumer,
    make_producer,
    sentence_of,
    topic_partition,
)
from joinery.errors import SinkUnavailableError

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message

_WRITE = "could not write to"
_COMMIT_S = 5.0
_ABORT_S = 2.0
_STUCK_S = 120.0
_DOWN_S = 5.0
_AGAIN_S = 0.1
_POLL_EVERY = 2_000
UNNAMED = ""
Record = tuple[bytes, bytes | None, list[tuple[str, bytes]]]
_MESSAGE_BYTES = (1_000, 1_000_000_000)  # that the client takes; a topic may say less, or more
_OF_THE_RECORD = (
    "MSG_SIZE_TOO_LARGE",
    "INVALID_MSG_SIZE",
    "INVALID_RECORD",
    "RECORD_LIST_TOO_LARGE",
)


@dataclass(frozen=True, slots=True)
class Note:
    """Where a number is kept in transactions: as an offset of a consumer group.

    Attributes:
        group: A group that nobody reads with.
        topic: One that is there; its partition 0 bears the number.
    """

    group: str
    topic: str


class Producer:
    """A producer of Kafka's client, with its errors told as those of a sink.

    Args:
        brokers: Where.
        transactional_id: Whoever opens a later producer of this id fences this one.
        settings: Of librdkafka, beneath the properties of `brokers`; it is idempotent in any case.

    Attributes:
        stuck: Its client does not answer any more: another producer has to take over.

    Raises:
        SinkUnavailableError: The brokers do not answer.
    """

    def __init__(
        self, brokers: Brokers, *, transactional_id: str | None = None, **settings: Any
    ) -> None:
        self._brokers = brokers
        self._transactional = transactional_id is not None
        self._begun = self.stuck = False
        self._down: tuple[float, str] | None = None
        self._undelivered: dict[str | bytes, KafkaError] = {}
        self._sent = 0
        self._readers: dict[str, Any] = {}
        self._longest_s = _seconds(brokers, settings, "transaction.timeout.ms")
        self._begun_at = 0.0
        fixed: dict[str, Any] = {"delivery.report.only.error": True, "enable.idempotence": True}
        bounds = {"message.max.bytes": _MESSAGE_BYTES}
        if transactional_id is not None:
            fixed["transactional.id"] = transactional_id
            # The client takes no record that may come after the end of its transaction.
            bounds["message.timeout.ms"] = (0, int(self._longest_s * 1_000))
        self._report = _weakly(self._delivered)
        self._client = make_producer(
            brokers,
            defaults={name: _within(each, bounds.get(name)) for name, each in settings.items()},
            **fixed,
            error_cb=_weakly(self._heard),
            on_delivery=partial(self._report, UNNAMED),
        )
        if self._transactional:
            self._initialize()

    def _initialize(self) -> None:
        """Make this the producer of its id; it does not go on trying where that failed.

        It would, as long as its client is there, and fence the next one once it succeeds.
        """
        try:
            self._call(
                lambda: self._client.init_transactions(ANSWER_S), "could not begin to write to"
            )
        except BaseException:
            self.close()
            raise

    def begin(self) -> None:
        """Begin a batch."""
        self._undelivered.clear()
        if self._transactional:
            self._call(self._client.begin_transaction, "could not begin to write to")
            self._begun, self._begun_at = True, time.monotonic()

    def send(
        self,
        topic: str,
        key: str | bytes | None,
        value: str | bytes | None,
        headers: list[Any],
        *,
        label: str | bytes | None = None,
    ) -> bool:
        """Queue one record; return False where it is larger than a record may be.

        Args:
            topic: Where.
            key: The record's.
            value: The record's.
            headers: The record's.
            label: What `finish` calls the record; by default its key.
        """
        return self._queue(topic, key, value, headers, partial(self._report, label or key or ""))

    def send_all(self, topic: str, records: Iterable[Record]) -> Iterator[Record]:
        """Queue records as `send` does, at half the cost; yield those that are too large.

        `finish` calls all of them `UNNAMED`.
        """
        produce = self._client.produce
        failures: tuple[type[BaseException], ...] = (BufferError, *kafka_errors())
        for number, record in enumerate(records, 1):
            key, value, headers = record
            try:
                produce(topic, value, key, headers=headers)
            except failures:
                if not self._queue(topic, key, value, headers, None):
                    yield record
            if number % _POLL_EVERY == 0:
                self._call(lambda: self._client.poll(0), _WRITE)

    def _queue(
        self,
        topic: str,
        key: str | bytes | None,
        value: str | bytes | None,
        headers: list[Any],
        report: Callable[[Any, Any], None] | None,
    ) -> bool:
        waited_from: float | None = None
        while True:
            try:
                self._client.produce(topic, value, key, headers=headers, on_delivery=report)
                break
            except BufferError:
                waited_from = waited_from or time.monotonic()
                self._call(lambda: self._client.poll(0.5), _WRITE)
                self._raise_where_stuck(waited_from)
            except kafka_errors() as error:
                if code_of(error) == "MSG_SIZE_TOO_LARGE":
                    return False
                raise self._failure(error, _WRITE) from error
        self._sent += 1
        if self._sent % _POLL_EVERY == 0:
            self._call(lambda: self._client.poll(0), _WRITE)
        return True

    def note(self, note: Note, number: int, text: str = "") -> None:
        """Keep a number with the transaction under way: it stands if that is committed.

        Waits until the brokers have what was sent, since the client asks those that are away for
        a minute, whatever time it is given. Where they refused some of it, nothing is kept.

        Args:
            note: Where.
            number: What to keep.
            text: Is kept beside it.

        Raises:
            SinkUnavailableError: The brokers do not answer.
        """
        if len(self._client):
            self._flush()
        else:
            self._call(lambda: self._client.list_topics(note.topic, ANSWER_S), _WRITE)
        if self._undelivered:
            return
        offset = [topic_partition(note.topic, 0, number, text)]
        member = self._reader(note).consumer_group_metadata()
        send = self._client.send_offsets_to_transaction
        self._call(lambda: self._answered(lambda: send(offset, member, ANSWER_S)), _WRITE)

    def _answered(self, act: Callable[[], Any]) -> None:
        """Have the client do what it may wait for forever, after brokers went meanwhile."""
        failures: list[Exception] = []

        def attempt() -> None:
            try:
                act()
            except Exception as error:
                failures.append(error)

        thread = threading.Thread(target=attempt, name="joinery-kafka-note", daemon=True)
        thread.start()
        thread.join(_STUCK_S)
        self.stuck = thread.is_alive()
        if self.stuck:
            raise SinkUnavailableError(
                f"{_WRITE} Kafka at {self._brokers.bootstrap}",
                detail=f"Its client did not answer for {_STUCK_S:.0f} s.",
                hint="Check that a broker listens there.",
            )
        for each in failures:
            raise each

    def noted(self, note: Note) -> int | None:
        """Return the number that the last committed transaction kept; None for none."""
        return self.noted_text(note)[0]

    def noted_text(self, note: Note) -> tuple[int | None, str]:
        """Return the number that the last committed transaction kept, and the text beside it."""
        what, deadline = "could not read a consumer group of", time.monotonic() + ANSWER_S
        while True:
            try:
                found = self._call(lambda: self._committed(note), what)
            except SinkUnavailableError:
                # A group that is new, or whose broker has changed, is soon found.
                if time.monotonic() > deadline:
                    raise
                time.sleep(_AGAIN_S)
            else:
                text = str(found.metadata or "")
                return (None, "") if found.offset < 0 else (int(found.offset), text)

    def _committed(self, note: Note) -> Any:
        (found,) = self._reader(note).committed([topic_partition(note.topic, 0)], ANSWER_S)
        return found

    def _reader(self, note: Note) -> Any:
        if note.group not in self._readers:
            self._readers[note.group] = make_consumer(self._brokers, note.group)
        return self._readers[note.group]

    def finish(self) -> dict[str | bytes, str]:
        """End the batch; what was sent is durable then.

        Returns:
            The labels of records that the brokers will never take, with the reason; in a
            transaction nothing of the batch was taken then, and it may begin again.

        Raises:
            SinkUnavailableError: Nothing of a transaction was taken, as far as is known.
            SinkError: Nothing of it was taken.
        """
        self._flush()
        failed = self._undelivered
        refused = {name: each for name, each in failed.items() if each.name() in _OF_THE_RECORD}
        others = [each for label, each in failed.items() if label not in refused]
        # In a transaction the others may have failed of the refusal alone.
        if others and not (refused and self._transactional):
            self.abandon()
            raise self._failure(others[0], _WRITE)
        if failed and self._transactional:
            self.abandon()
        elif self._transactional:
            self._commit()
        return {label: sentence_of(error) for label, error in refused.items()}

    def abandon(self) -> None:
        """Give up the batch, as far as the brokers can still be told."""
        if self.stuck:
            return  # whoever takes over ends it
        self._client.purge(in_flight=False)
        if not self._begun:
            return
        self._begun = False
        try:
            self._client.abort_transaction(_ABORT_S)
        except kafka_errors() as error:
            # Unless fenced, the next producer of this id ends it; until then nobody sees it.
            if code_of(error) in FENCED:
                raise self._failure(error, _WRITE) from error

    def close(self) -> None:
        """Drop what was not finished, and end the client."""
        for reader in self._readers.values():
            reader.close()
        self._readers.clear()
        try:
            self._client.purge()
            self._client.poll(0)
        except kafka_errors():
            pass  # a fatal error that was told before
        # It ends when nothing refers to it; its own `close` would wait for brokers that are away.
        self._client = None

    def _flush(self) -> None:
        waited_from, before = time.monotonic(), len(self._client)
        while left := self._call(lambda: self._client.flush(1.0), _WRITE):
            if left < before:
                waited_from, before, self._down = time.monotonic(), left, None
            self._raise_where_stuck(waited_from)

    def _commit(self) -> None:
        waited_from = time.monotonic()
        while True:
            try:
                self._client.commit_transaction(_COMMIT_S)
                self._begun, self._down = False, None
                return
            except kafka_errors() as error:
                known = error_of(error)
                if known.txn_requires_abort():
                    self.abandon()
                if not known.retriable() or known.txn_requires_abort():
                    raise self._failure(error, _WRITE) from error
                self._raise_where_stuck(waited_from)

    def _raise_where_stuck(self, waited_from: float) -> None:
        now = time.monotonic()
        down = self._down is not None and now - max(self._down[0], waited_from) > _DOWN_S
        if down or now - waited_from > _STUCK_S:
            raise SinkUnavailableError(
                f"{_WRITE} Kafka at {self._brokers.bootstrap}",
                detail=self._reason() or "The brokers do not answer.",
                hint="Check that a broker listens there.",
            )

    def _call(self, act: Callable[[], Any], what: str) -> Any:
        try:
            return act()
        except kafka_errors() as error:
            raise self._failure(self._told(error), what) from error

    def _told(self, error: Exception) -> Exception:
        """Return an error of the client with its reason.

        A fatal error that the client meets while it waits may come as a bare SystemError; it
        stays with the client, which tells it when asked for anything of the transaction.
        """
        if isinstance(error, SystemError) and error.__cause__ is None and self._transactional:
            try:
                self._client.abort_transaction(_ABORT_S)
            except kafka_errors() as fatal:
                reason: Exception = fatal
                return reason
        return error

    def _failure(self, error: Any, what: str) -> Exception:
        reason = self._reason()
        if code_of(error) in FENCED and self._timed_out():
            reason = (
                f"It was open for longer than transaction.timeout.ms, {self._longest_s:.0f} s,"
                " which the properties of the sink may raise."
            )
        return failure(self._brokers, error, what, reason)

    def _timed_out(self) -> bool:
        open_s = time.monotonic() - self._begun_at if self._begun_at else 0.0
        return self._transactional and open_s > self._longest_s

    def _reason(self) -> str:
        return self._down[1] if self._down else ""

    def _heard(self, error: KafkaError) -> None:
        """Note a broker that cannot be reached; the client calls this."""
        since = self._down[0] if self._down else time.monotonic()
        self._down = (since, self._brokers.masked(sentence_of(error)))

    def _delivered(self, label: str | bytes, error: KafkaError | None, message: Message) -> None:
        """Note a record that was not delivered; the client calls this.

        It must not look into `message`, which cannot be read while a fatal error is raised.
        """
        if error is not None:
            self._undelivered.setdefault(label, error)  # what comes next may follow from it


def _weakly(method: Callable[..., None]) -> Callable[..., None]:
    """Return a callback that does nothing once the object of `method` is gone.

    The client holds its callbacks, and would be kept by an object that they keep.
    """
    held = WeakMethod(method)

    def call(*given: Any) -> None:
        if (standing := held()) is not None:
            standing(*given)

    return call


def _within(value: Any, bounds: tuple[int, int] | None) -> Any:
    return value if bounds is None else min(max(bounds[0], value), bounds[1])


def _seconds(brokers: Brokers, defaults: Mapping[str, Any], name: str) -> float:
    """Return a time of the brokers' properties, or of `defaults`; Kafka's own is a minute."""
    return int(brokers.properties.get(name) or defaults.get(name) or 60_000) / 1_000
