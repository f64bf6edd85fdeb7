"""Records that a log lost before they were read: retention was shorter than the pause.

Spark finds out record by record, in the middle of a batch; here a run is told at its start,
with the exact range.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from joinery.errors import RunError
from joinery.model.warning import RunWarning
from joinery.project.kafka import KafkaOptions
from joinery.spark.source.kafka_client import KafkaClient
from joinery.spark.source.source import Positions

_TOLD = 3
_LOST = "KAFKA_DATA_LOSS"
_HINT = (
    "Start on a fresh checkpoint, or set fail_on_data_loss: false on the source to go on with"
    " what is there."
)


class RecordsLostError(RunError):
    """A log no longer has records that were not read yet."""

    code = "RUN_RECORDS_LOST"


@dataclass(frozen=True, slots=True)
class Gap:
    """What is missing of one partition.

    Attributes:
        wanted: The next offset to be read.
        found: The first offset there is; None where the topic is gone, or was made anew.
    """

    topic: str
    partition: int
    wanted: int
    found: int | None

    def __str__(self) -> str:
        place = f'topic "{self.topic}" partition {self.partition}'
        if self.found is None:
            return f"{place} was deleted, or created again, after offset {self.wanted - 1} was read"
        return f"{place} lacks offsets {self.wanted} to {self.found - 1}"


def check_loss(
    client: KafkaClient, source: str, options: KafkaOptions, begun: Positions
) -> list[Gap]:
    """Return which records are gone; with `fail_on_data_loss`, refuse that.

    Args:
        client: Asks the brokers.
        source: The source's name.
        options: Those of the source.
        begun: The next offset to be read, by topic and partition.

    Raises:
        RecordsLostError: Records are gone, and the source is to fail then.
    """
    edges = {(topic, place): (low, high) for (topic, place), low, high in client.edges_of(begun)}
    gaps = list(_gaps(begun, edges))
    if gaps and options.fail_on_data_loss:
        raise lost_error(source, gaps)
    return gaps


def records_lost(gaps: Iterable[Gap]) -> Mapping[str, int]:
    """Return, by topic, how many records are gone for sure."""
    lost: dict[str, int] = {}
    for gap in gaps:
        lost[gap.topic] = lost.get(gap.topic, 0) + max(0, (gap.found or gap.wanted) - gap.wanted)
    return lost


def gone(client: KafkaClient, read: Positions) -> list[Gap]:
    """Return the partitions that end before what was read: deleted, or made anew."""
    edges = {(topic, place): (low, high) for (topic, place), low, high in client.edges_of(read)}
    return [each for each in _gaps(read, edges) if each.found is None]


def lost_error(source: str, gaps: Sequence[Gap]) -> RecordsLostError:
    """Return the error that tells what a source lost."""
    return RecordsLostError(_message(source), detail=_detail(gaps), hint=_HINT)


def lost_warning(source: str, gaps: Sequence[Gap]) -> RunWarning:
    """Return the warning that tells what a source lost that may go on without."""
    return RunWarning(
        code="WARN_RECORDS_LOST",
        about=f'source "{source}"',
        message=f"{_message(source)}, so documents may lack them",
        detail=_detail(gaps),
        hint="Raise the topic's retention, and read the table again (an incremental snapshot"
        " does).",
    )


def _message(source: str) -> str:
    return f'source "{source}" lost records before they were read'


def _detail(gaps: Sequence[Gap]) -> str:
    more = f"; and {len(gaps) - _TOLD} partitions more" if len(gaps) > _TOLD else ""
    told = "; ".join(str(each) for each in gaps[:_TOLD]) + more
    return f"{told[0].upper()}{told[1:]}."


def lost_midway(reasons: Iterable[str]) -> RecordsLostError | None:
    """Return what Spark found to be lost in the middle of a run, from why a query ended."""
    for reason in reasons:
        if _LOST in reason:
            _, _, why = reason.partition("Reason:")
            return RecordsLostError(
                "Kafka removed records before they were read",
                detail=why.split("SQLSTATE")[0].strip() or reason,
                hint=_HINT,
            )
    return None


def _gaps(begun: Positions, edges: Mapping[tuple[str, int], tuple[int, int]]) -> Iterator[Gap]:
    for topic, partitions in begun.items():
        for partition, wanted in sorted((int(each), at) for each, at in partitions.items()):
            low, high = edges.get((topic, partition), (0, 0))
            if high < wanted:
                yield Gap(topic, partition, wanted, None)
            elif low > wanted:
                yield Gap(topic, partition, wanted, low)
