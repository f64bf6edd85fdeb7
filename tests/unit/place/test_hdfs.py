"""Where HDFS answers is said as Hadoop's own client is told."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from joinery.errors import RunError
from joinery.place.hdfs import HdfsOptions
from joinery.place.remote_path import RemotePath
from joinery.testing.conformance.project import load_text

WEB = "dfs.namenode.http-address"
PROJECT = """\
relations: {user: {key: [id], fields: {id: long}}}
products: {person: {root: user, sink: {files: {path: out}}}}
"""


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, "name:9870"),
        ({WEB: "web:1"}, "web:1"),
        ({WEB: "0.0.0.0:1"}, "name:1"),
        ({WEB: ":1"}, "name:1"),
    ],
)
def test_a_name_node_answers_beside_its_port_unless_another_is_said(
    said: dict[str, str], expected: str
) -> None:
    settings = {f"spark.hadoop.{name}": value for name, value in said.items()}

    assert (expected,) == HdfsOptions.of("name:8020", settings).name_nodes


def test_what_hadoop_s_files_say_counts_where_the_project_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {
        "dfs.ha.namenodes.prod": "a, b,c",
        f"{WEB}.prod.a": "a.example:1",
        f"{WEB}.prod.b": "b.example:1",
        "dfs.namenode.rpc-address.prod.c": "c.example:8020",
    }
    properties = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in said.items()
    )
    (tmp_path / "hdfs-site.xml").write_text(f"<configuration>{properties}</configuration>")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))

    options = HdfsOptions.of("prod", {f"spark.hadoop.{WEB}.prod.b": "other:2"})

    assert ("a.example:1", "other:2", "c.example:9870") == options.name_nodes


def test_a_broken_file_of_hadoop_s_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "core-site.xml").write_text("<configuration>")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))

    with pytest.raises(RunError, match=r"cannot read .*core-site\.xml"):
        HdfsOptions.of("prod", {})


def test_hadoop_s_user_is_joinery_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADOOP_USER_NAME", "ada")

    assert HdfsOptions.of("name:8020", {}).user == "ada"


def test_a_checkpoint_in_hdfs_has_the_address_that_the_project_says() -> None:
    spec = load_text(f"run: {{checkpoint: 'hdfs://name:8020/a/b/'}}\n{PROJECT}")

    assert RemotePath("name:8020", "a/b") == spec.checkpoint
    assert isinstance(spec.checkpoint, RemotePath)
    assert str(spec.checkpoint / "c") == "hdfs://name:8020/a/b/c"


def test_an_address_of_another_name_node_in_hadoop_s_files_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hdfs-site.xml").write_text(
        "<configuration><property><name>dfs.namenode.http-address</name><value>a:1</value>"
        "</property></configuration>"
    )
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))

    assert ("a:1",) == HdfsOptions.of("a:8020", {}).name_nodes
    assert ("b:9870",) == HdfsOptions.of("b:8020", {}).name_nodes
    said = {"spark.hadoop.dfs.namenode.http-address": "web:2"}
    assert ("web:2",) == HdfsOptions.of("b:8020", said).name_nodes


class Breaking(BaseHTTPRequestHandler):
    """Promises a file of 1,000 bytes, and breaks off at first."""

    begun = 0

    def do_GET(self) -> None:
        type(self).begun += 1
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"x" * (10 if self.begun == 1 else 1000))

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def test_an_answer_that_breaks_off_is_asked_for_again(tmp_path: Path) -> None:
    with HTTPServer(("127.0.0.1", 0), Breaking) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        store = HdfsOptions((f"127.0.0.1:{server.server_port}",)).store("name")
        store.fetch("file", tmp_path / "file")
        server.shutdown()

    assert 1000 == (tmp_path / "file").stat().st_size
    assert 2 == Breaking.begun
