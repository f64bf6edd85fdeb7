"""Spark's JVM is started by itself where nothing needs Spark's own scripts."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from joinery.errors import RunError
from joinery.java import Java
from joinery.spark import launch
from joinery.spark.jar import spark_home
from joinery.spark.launch import (
    archive_file,
    archive_option,
    class_path,
    session_settings,
    start_driver,
    unsigned_folder,
)


def test_without_an_archive_java_is_told_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))

    assert "" == archive_option()


def test_the_archive_of_this_java_this_spark_and_this_kernel_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "with a space"))
    archive_file().parent.mkdir(parents=True)
    archive_file().touch()

    assert f'"-XX:SharedArchiveFile={archive_file()}"' in archive_option()


def test_copies_without_signatures_come_before_the_jars_of_this_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    without = archive_file()
    unsigned_folder().mkdir(parents=True)
    janino = next((spark_home() / "jars").glob("janino-*.jar")).name
    for name in (janino, "janino-0.0.jar"):  # the second is of a Spark that was here before
        (unsigned_folder() / name).touch()

    first, second, *_ = class_path().split(os.pathsep)

    assert [str(unsigned_folder() / janino), f"{spark_home() / 'jars'}{os.sep}*"] == [first, second]
    assert without != archive_file()


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    scripts = ("HADOOP_CONF_DIR", "YARN_CONF_DIR", "PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR")
    for name in (*scripts, "JDK_JAVA_OPTIONS"):  # Java says that it has taken the last
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "spark.log"


def test_a_session_remembers_what_a_hundred_products_compile_unless_told_otherwise(
    log: Path,
) -> None:
    name = "spark.sql.codegen.cache.maxEntries"

    assert "10000" == session_settings("shop", log, master="local[2]", settings=None)[name]
    assert "7" == session_settings("shop", log, master="local[2]", settings={name: "7"})[name]


def test_the_jvm_is_told_the_settings_of_the_session_and_its_heap(log: Path) -> None:
    settings = session_settings(
        "shop",
        log,
        master="local[2]",
        settings={
            "spark.driver.memory": "3g",
            "spark.driver.extraJavaOptions": '-Da="b c" -XX:+UseG1GC',
        },
    )

    command = launch._command(Java(Path("/jdk/bin/java"), 17, ""), Path("/spark"), settings)

    assert "/jdk/bin/java" == command[0]
    assert command[2].startswith("/spark/jars/*:")
    assert {"-Xmx3g", "-Da=b c", "-XX:+UseG1GC", "-Dspark.master=local[2]"} <= set(command)
    assert "-Dspark.app.name=joinery shop" in command
    assert "--enable-native-access=ALL-UNNAMED" not in command
    assert not any("jdk.incubator.vector" in each for each in command)


def test_a_newer_java_is_allowed_what_spark_does_with_memory(log: Path) -> None:
    settings = session_settings("shop", log, master=None, settings=None)

    command = launch._command(Java(Path("/jdk/bin/java"), 25, ""), Path("/spark"), settings)

    assert "--sun-misc-unsafe-memory-access=allow" in command


@pytest.mark.parametrize(
    ("settings", "environment"),
    [
        ({"spark.master": "spark://host:7077"}, {}),
        ({"spark.jars.packages": "a:b:1"}, {}),
        ({"spark.driver.extraClassPath": "/jars/*"}, {}),
        ({"spark.driver.extraJavaOptions": "-Xmx4g"}, {}),
        ({}, {"SPARK_CONF_DIR": "/etc/spark"}),
        ({}, {"HADOOP_CONF_DIR": "/etc/hadoop"}),
        ({}, {"PYSPARK_SUBMIT_ARGS": "--jars a.jar pyspark-shell"}),
    ],
)
def test_what_only_the_scripts_understand_is_left_to_them(
    settings: dict[str, str],
    environment: dict[str, str],
    log: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert start_driver(session_settings("s", log, master=None, settings=settings), log) is None


def test_a_folder_of_settings_is_left_to_the_scripts(log: Path, tmp_path: Path) -> None:
    assert launch._is_plain({"spark.master": "local[2]"}, tmp_path)
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text("spark.driver.memory 1g\n")

    assert not launch._is_plain({"spark.master": "local[2]"}, tmp_path)


def test_a_jvm_that_ends_at_once_says_why(log: Path) -> None:
    settings = session_settings(
        "shop", log, master="local[2]", settings={"spark.driver.memory": "much"}
    )
    driver = start_driver(settings, log)
    assert driver is not None

    with pytest.raises(RunError, match=r"Java ended with 1: Invalid maximum heap size: -Xmxmuch"):
        driver.address()


def test_a_jvm_whose_address_nobody_asks_for_ends(log: Path) -> None:
    driver = start_driver(session_settings("shop", log, master="local[2]", settings={}), log)
    assert driver is not None

    driver.end()

    driver.process.wait(timeout=60)


def test_a_short_session_leaves_the_second_compiler_out_unless_it_is_asked_for(log: Path) -> None:
    asked = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=4"}

    short = session_settings("shop", log, master=None, settings=asked, short=True)
    long = session_settings("shop", log, master=None, settings=None)

    options = short["spark.driver.extraJavaOptions"].split()
    assert options.index("-XX:TieredStopAtLevel=1") < options.index("-XX:TieredStopAtLevel=4")
    assert "-XX:TieredStopAtLevel=1" not in long["spark.driver.extraJavaOptions"]
