"""One Spark session for all tests that need a real one, and no thread that outlives its test."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.doctest import DoctestModule
from tests import class_archives, warm_doors
from tests.warm_doors import own_jvms as own_jvms

from joinery.model.warning import log as warnings_log
from joinery.spark.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ENDING_S = 60.0
# Java's second compiler costs more than it gives back, in the runs and captures that a test starts
# for some seconds and in the session of all tests, which starts query after query and reads few
# rows. There the code cache is as large as with both compilers: what Spark generates for each query
# fills the smaller one, and nothing is compiled from then on.
_ONE_COMPILER = "-XX:TieredStopAtLevel=1"
_SESSION_JVM = f"{_ONE_COMPILER} -XX:ReservedCodeCacheSize=240m"
# Nor are classes verified, of which each start loads thousands: JUnit verifies those of the kernel.
_UNVERIFIED = "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
# The files that need OpenSearch, Connect, the registry or DynamoDB, which start slowly: one process
# has them all, so that one of each is started. Kafka and PostgreSQL are needed everywhere.
_SHARING = """avro debezium diff_opensearch dynamodb kafka_avro_sink key_value lookups opensearch
prove real_time_opensearch stack store_owner topic_add""".split()
_SHARED = frozenset(f"tests/services/test_{name}.py" for name in _SHARING)


_JAVA_OPTIONS = "JDK_JAVA_OPTIONS"
_SCRATCH = pytest.StashKey[Path]()


class _Examples:
    """Looks for examples in the docstrings of those modules only that have any.

    To look through a module takes as long as to collect a file of tests, in each process.
    """

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(
        self,
    ) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
        found = yield
        return [e for e in found if not isinstance(e, DoctestModule) or _has_examples(e.path)]


def _has_examples(module: Path) -> bool:
    return module.suffix == ".py" and b">>> " in module.read_bytes()


def pytest_configure(config: pytest.Config) -> None:
    """Let what tests start in a JVM of its own do without the second compiler and the verifier.

    Its temporary files go where they are removed in the end: one that a test kills leaves all.
    What reads logs for these processes shares one, and captures have their classes from an archive.
    """
    config.pluginmanager.register(_Examples())  # a hook of this file has no say on files of `src`
    for each in (warm_doors, class_archives):
        each.install(pytest.MonkeyPatch())
    if _JAVA_OPTIONS not in os.environ:  # where processes beside this one run tests, they have it
        scratch = config.stash[_SCRATCH] = Path(tempfile.mkdtemp(prefix="joinery-tests-"))
        os.environ[_JAVA_OPTIONS] = f"{_ONE_COMPILER} {_UNVERIFIED} -Djava.io.tmpdir={scratch}"


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove what Java's processes have left."""
    warm_doors.end_all()
    if (scratch := config.stash.get(_SCRATCH, None)) is not None:
        del os.environ[_JAVA_OPTIONS]
        shutil.rmtree(scratch, ignore_errors=True)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show why a test that passed at its second try failed at its first: it may be a real fault."""
    for each in terminalreporter.getreports("rerun"):
        terminalreporter.write_sep("_", f"failed at first: {each.nodeid}")
        terminalreporter.write_line(each.longreprtext)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `--dist loadfile`, give files that need servers which start slowly to one process."""
    from xdist.scheduler import LoadFileScheduling

    class BySharing(LoadFileScheduling):  # type: ignore[misc]  # it comes without types
        def _split_scope(self, nodeid: str) -> str:
            file: str = super()._split_scope(nodeid)
            return "shared" if file in _SHARED else file

    return BySharing(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.fixture(autouse=True)
def no_thread_outlives_its_test() -> Iterator[None]:
    """Fail a test that leaves a thread of ours: it would log, write and wait in later tests."""
    before = set(threading.enumerate())
    yield
    until = time.monotonic() + _ENDING_S
    while left := _ours(set(threading.enumerate()) - before):
        assert time.monotonic() < until, f"threads go on after their test: {left}"
        time.sleep(0.01)


def _ours(threads: set[threading.Thread]) -> list[str]:
    return sorted(each.name for each in threads if each.name.startswith("joinery-"))


@pytest.fixture
def warned(caplog: pytest.LogCaptureFixture) -> Callable[[], list[logging.LogRecord]]:
    """What was warned of in this test, among all that libraries and servers may log in it."""
    return lambda: [each for each in caplog.records if each.name == warnings_log.name]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session as a run makes it, on two cores."""
    session = open_session(
        "tests",
        log=tmp_path_factory.mktemp("spark") / "spark.log",
        master="local[2]",
        settings={"spark.driver.extraJavaOptions": _SESSION_JVM},
    )
    yield session
    session.stop()
