"""Every command that a page shows exists, with its options and no more arguments than it takes."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.core import TyperCommand, TyperGroup

from joinery.cli.commands import command

REPOSITORY = Path(__file__).parents[3]
PAGES = [
    REPOSITORY / "README.md",
    *sorted((REPOSITORY / "docs").rglob("*.md")),
    *sorted((REPOSITORY / "examples").glob("*/README.md")),
]
ROOT = command()
_SHOWN = re.compile(r"`joinery ([^`]+)`|^\$ joinery ([^#\n]+)", re.MULTILINE)
_ANOTHER = re.compile(r"\s(?:&&|[|>;&])")
_LEFT_OPEN = re.compile(r"[\[\]…]|\.\.\.")


def shown(text: str) -> Iterator[list[str]]:
    """Yield the words of each command in a page but those behind it in the same line of a shell."""
    for found in _SHOWN.finditer(text):
        line = _ANOTHER.split(" ".join((found[1] or found[2]).split()))[0]
        yield shlex.split(_LEFT_OPEN.sub("", line))


def mistake(words: list[str]) -> str:
    """Return what is wrong with a command, nothing if it could be run."""
    at: object = ROOT
    given = list(words)
    while isinstance(at, TyperGroup):
        if not given or given[0].startswith("-"):
            return ""
        if given[0] not in at.commands:
            return f"no command {given[0]}"
        at = at.commands[given.pop(0)]
    assert isinstance(at, TyperCommand)
    return _mistake_in(at, given)


def _mistake_in(at: TyperCommand, given: list[str]) -> str:
    options = {name: each for each in at.params for name in (*each.opts, *each.secondary_opts)}
    arguments, rest = [], iter(given)
    for word in rest:
        name, value = word.partition("=")[::2]
        if not name.startswith("-"):
            arguments.append(word)
        elif name not in options:
            return f"no option {name}"
        elif value or getattr(options[name], "is_flag", False):
            continue
        elif next(rest, "") == "parquet":
            next(rest, None)  # the folder behind it
    takes = [each for each in at.params if each.param_type_name == "argument"]
    if [each.name for each in takes] == ["file"] and any(map(str.isidentifier, arguments)):
        return f"{arguments[0]} is no file"
    most = 1000 if any(each.nargs < 0 for each in takes) else len(takes)
    return "too many arguments" if len(arguments) > most else ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_every_command_in_a_page_can_be_typed(page: Path) -> None:
    text = page.read_text(encoding="utf-8")

    found = {" ".join(words): mistake(words) for words in shown(text)}

    assert {} == {words: told for words, told in found.items() if told}


def test_a_product_in_the_place_of_the_file_is_a_mistake() -> None:
    assert "account is no file" == mistake(["run", "account", "--rebuild"])
    assert "no option --rebuld" == mistake(["run", "--rebuld"])
    assert "no command runn" == mistake(["runn"])
    assert "too many arguments" == mistake(["why", "a", "b"])
