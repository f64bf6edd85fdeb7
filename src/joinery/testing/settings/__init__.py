"""One project over the same logs in eight settings: what it makes of them must be the same.

What a product holds in the end is a function of its logs. So six of the settings keep the logs
and change how they are read: in batches of three sizes, by a run that is killed in the middle,
twice into one sink, with other shuffle partitions. Two lay the same rows out again, shuffled
within the delay of their relation, and over 2 and 7 partitions of Kafka. Each is compared with an
oracle over its own logs; documents and rows reported late must be exactly the oracle's.

Limits: streams are left out. A topic of files is one partition, so partitions need a broker.
"""

from __future__ import annotations

from joinery.testing.settings.compare import Disagreement, disagreements
from joinery.testing.settings.run import in_session
from joinery.testing.settings.setting import SETTINGS, Setting, SettingError

__all__ = [
    "SETTINGS",
    "Disagreement",
    "Setting",
    "SettingError",
    "disagreements",
    "in_session",
]
