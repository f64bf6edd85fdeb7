"""The log of a run: JSON lines in a file that rotates, one an event, with its facts.

Invariant: nothing is logged but what the code names; no options, no record contents.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path

from joinery.errors import RunError

_KEPT_BYTES = 20 * 1024 * 1024
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class JsonFormatter(logging.Formatter):
    """One JSON object a record: time, level, logger, event, then the facts."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line."""
        at = datetime.fromtimestamp(record.created, UTC)
        facts = {name: value for name, value in vars(record).items() if name not in _STANDARD}
        told = {
            "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            **facts,
        }
        return json.dumps(told, ensure_ascii=False, default=str)


class _QuietHandler(RotatingFileHandler):
    """Loses what a full disk does not take: the run's last line tells it, without a trace each."""

    def handleError(self, record: logging.LogRecord) -> None:
        if not isinstance(sys.exception(), OSError):
            super().handleError(record)


def log_to(file: Path) -> None:
    """Let everything under the logger `joinery` go to `file`; warnings to nowhere else.

    Raises:
        RunError: The file cannot be written.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handler = _QuietHandler(file, maxBytes=_KEPT_BYTES, backupCount=2, encoding="utf-8")
    except OSError as error:
        raise RunError(
            f"could not write into {file.parent}: {error.strerror}",
            hint="Set run.checkpoint to a folder that can be written; with a checkpoint in an"
            " object store or HDFS, set TMPDIR to one.",
        ) from error
    handler.setFormatter(JsonFormatter())
    logger = logging.getLogger("joinery")
    for old in list(logger.handlers):
        logger.removeHandler(old)
        old.close()
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    # A library that logs where nobody listens would write to the terminal.
    logging.getLogger().addHandler(logging.NullHandler())
    logging.getLogger("py4j").propagate = False
