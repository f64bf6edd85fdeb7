"""A drill of docs/drills: its commands in order, and what they say."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from tests.unit.page import Page
from typer.testing import CliRunner

from joinery.cli.commands import app

ROW = re.compile(r"^(.) (\w+) +(\w+) +\S+(?: s)? +(\S+) +\S+ +(\S+) +\S+ +\S+(?: kB)? +(\S+)$")
VARYING = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
    (re.compile(r"process \d+ on \S+ was last seen at [^;]+;"), "process P on H, last seen;"),
    (re.compile(r"\d+ s( ago)?$"), r"some s\1"),
    (re.compile(r"[\d.]+ MiB"), "some MiB"),
    (re.compile(r"documents   .*"), "documents"),
    (ROW, r"\1 \2 \3 behind \4 sent \5 dead \6"),
    (re.compile(r"spool +\d+ files"), "spool some files"),
    (re.compile(r" {2,}"), "  "),
)


class Drill:
    """A page of a drill, whose commands are typed one after the other.

    Attributes:
        names: What servers and folders are called on the page.
        ids: What ids are called there, also in commands.
        page: The page.
    """

    def __init__(self, name: str, names: Mapping[str, str]) -> None:
        self.page = Page(f"drills/{name}.md")
        self.names, self.ids = names, dict[str, str]()
        self._left = [text for kind, text in self.page.found if kind == "console"]

    def next(self) -> tuple[str, str]:
        """Return the next command of the page, with what is here, and what it shows."""
        line, _, shown = self._left.pop(0).partition("\n")
        for each, name in self.ids.items():
            line = line.replace(name, each)
        return line.removeprefix("$ joinery "), plain(shown)

    def type(self) -> None:
        """Type the next command: it must say what the page shows, and end well."""
        line, shown = self.next()
        done = CliRunner().invoke(app, shlex.split(line))
        told = plain(self._called(done.stdout))
        assert (shown, 0) == (told, done.exit_code), f"joinery {line} says:\n{done.output}"

    def over(self) -> bool:
        """Return whether all commands of the page were typed."""
        return not self._left

    def _called(self, text: str) -> str:
        for each, name in {**self.names, **self.ids}.items():
            text = text.replace(each, name)
        return text


def plain(text: str) -> str:
    """Return a text without times, sizes and numbers of processes."""
    lines = text.splitlines()
    for pattern, shown in VARYING:
        lines = [pattern.sub(shown, line) for line in lines]
    return "\n".join(lines)
