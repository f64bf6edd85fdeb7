"""What `joinery status` is asked is read without Typer as Typer reads it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import typer

from joinery.cli.commands import app
from joinery.cli.status_arguments import StatusArguments, status_arguments


def by_typer(arguments: list[str]) -> StatusArguments:
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    read = group.commands["status"].make_context("status", arguments).params
    return StatusArguments(
        products=tuple(read["product"] or ()),
        file=Path(read["file"]),
        check=read["check"],
        as_json=read["as_json"],
        every=read["every"],
        actions=read["actions"],
        history=read["history"],
        since=read["since"],
    )


@pytest.mark.parametrize(
    "line",
    [
        "",
        "orders",
        "orders --check customers",
        "--json --all --check",
        "--file other.yaml orders",
        "--file=folder/other.yaml --check",
        "--file a.yaml --file b.yaml",
        "--check --check",
        "--file=a=b.yaml",
        "--actions orders",
        "--history --since 2h orders",
        "--since=7d --history",
    ],
)
def test_arguments_are_read_as_typer_reads_them(line: str) -> None:
    arguments = shlex.split(line)

    assert by_typer(list(arguments)) == status_arguments(["status", *arguments])


@pytest.mark.parametrize(
    "line",
    ["--help", "-h", "--file", "--file= orders", "--unknown", "--check=1", "-- orders", "''"],
)
def test_what_is_unusual_is_left_to_typer(line: str) -> None:
    assert status_arguments(["status", *shlex.split(line)]) is None


def test_other_commands_are_left_to_typer() -> None:
    assert status_arguments(["top"]) is None
    assert status_arguments([]) is None
