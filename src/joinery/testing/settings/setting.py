"""How logs are laid out and read: the settings that must make no difference."""

from __future__ import annotations

from dataclasses import dataclass

from joinery.errors import JoineryError


class SettingError(JoineryError):
    """A setting cannot be run: the run failed, or ended before it could be killed."""

    code = "TEST_SETTING"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How logs are laid out and read.

    Attributes:
        name: For people.
        rows: What a batch takes at most; None for a sixth of all rows.
        killed: The run is killed in the middle, and another goes on.
        twice: All is read a second time by a run without a checkpoint, into the same sinks.
        shuffle_partitions: Spark's own.
        shuffled: Rows arrive in another order, each within the delay of its relation.
        partitions: Over how many partitions of Kafka the rows are laid out; None for files.
    """

    name: str
    rows: int | None = 7_777
    killed: bool = False
    twice: bool = False
    shuffle_partitions: int = 2
    shuffled: bool = False
    partitions: int | None = None


SETTINGS = (
    Setting(name="batches of 1,000 rows", rows=1_000),
    Setting(name="batches of 7,777 rows"),
    Setting(name="batches of 200,000 rows", rows=200_000),
    Setting(name="killed in the middle", rows=None, killed=True),
    Setting(name="run twice into one sink", twice=True),
    Setting(name="5 shuffle partitions", shuffle_partitions=5),
    Setting(name="shuffled within the delay", shuffled=True),
    Setting(name="2 partitions", partitions=2),
    Setting(name="7 partitions", partitions=7),
)
"""Those that `disagreements` tries; the last two are one, and need a broker."""
