"""Adds entries to a project file and leaves every other byte of it as it was.

An entry is put at the end of its map, in that map's own style and indentation, so comments,
order and blank lines stay.

Invariant: the new text reads as the old one with the entry added, or an error is raised.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from joinery.errors import SpecError
from joinery.project.load import compose, flow_text, read_tree
from joinery.project.tree import Entry, MapTree, Tree, tree_of
from joinery.project.write import Data

_WIDTH = 100
_GLUED = ":\0"
_MOST_LINES = 6
_STEP = 2
_COMPLEX = "Add the entry by hand."


class EditError(SpecError):
    """An entry cannot be added to a file without changing more of it."""

    code = "SPEC_EDIT"


def insert(text: str, path: Sequence[str], name: str, value: Data) -> str:
    r"""Return `text` with an entry added to the map at `path`; missing maps are made.

    Args:
        text: A YAML map.
        path: The names that lead to the map, from the top.
        name: The entry's name.
        value: The entry's value, as `spec.write` gives it.

    Raises:
        EditError: The entry is there already, or the map stands behind an alias.

    Example:
        >>> insert("a:\n  b: 1  # one\nc: 2\n", ["a"], "d", {"e": "f"})
        'a:\n  b: 1  # one\n  d: {e: f}\nc: 2\n'
    """
    names = [*path, name]
    old = read_tree(text)
    for wrapped in (True, False):
        made = _spliced(text, names, value, wrapped=wrapped)
        if read_tree(made) == _added(old, names, tree_of(value)):
            return made
    raise EditError(f'"{".".join(names)}" cannot be added to the file', hint=_COMPLEX)


def _spliced(text: str, names: list[str], value: Data, *, wrapped: bool) -> str:
    root = compose(text)
    if root is None:
        return _after_line(text, len(text), _lines(names, value, 0, wrapped=wrapped))
    depth, key, node = 0, None, root
    while depth < len(names) and isinstance(node, MappingNode):
        found = next((pair for pair in node.value if pair[0].value == names[depth]), None)
        if found is None:
            break
        key, node = found
        depth += 1
    if depth == len(names):
        raise EditError(f'"{".".join(names)}" exists already')
    if key is not None and node.start_mark.index < key.end_mark.index:
        where = ".".join(names[:depth])
        raise EditError(f'"{where}" is defined elsewhere, behind an alias', hint=_COMPLEX)
    return _put(text, key, node, _Addition(names[depth:], value, wrapped))


class _Addition:
    """What is put into a map: a name, or a chain of them, and the value under the last."""

    def __init__(self, names: list[str], value: Data, wrapped: bool) -> None:
        self.names, self.value, self.wrapped = names, value, wrapped

    def lines(self, indent: int) -> str:
        return _lines(self.names, self.value, indent, wrapped=self.wrapped)

    def flow(self) -> str:
        return flow_text(_chain(self.names, self.value))[1:-1]


def _put(text: str, key: Node | None, node: Node, addition: _Addition) -> str:
    if isinstance(node, MappingNode):
        if node.flow_style:
            return _into_flow(text, node, addition.flow())
        if node.value:
            last_key, last = node.value[-1]
            indent = node.value[0][0].start_mark.column
            return _after_line(text, _end(last_key, last), addition.lines(indent))
    if key is not None and isinstance(node, ScalarNode) and not node.value and not node.style:
        indent = key.start_mark.column + _STEP
        return _after_line(text, key.end_mark.index, addition.lines(indent))
    raise EditError("there is a map where an entry should be added", hint=_COMPLEX)


def _into_flow(text: str, node: MappingNode, entry: str) -> str:
    if not node.value:
        at = node.start_mark.index + 1
        return text[:at] + entry + text[at:]
    at = _end(*node.value[-1])
    return f"{text[:at]}, {entry}{text[at:]}"


def _end(key: Node, value: Node) -> int:
    """Return where an entry ends, without a comment after it."""
    if value.start_mark.index < key.start_mark.index:  # an alias: what it names stands above
        return int(key.end_mark.index)
    if isinstance(value, MappingNode | SequenceNode) and not value.flow_style and value.value:
        last = value.value[-1]
        return _end(*last) if isinstance(value, MappingNode) else _end(value, last)
    return int(value.end_mark.index)


def _after_line(text: str, at: int, lines: str) -> str:
    """Put lines after the one that ends at, or after, a place."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = lines.replace("\n", newline)
    if at > 0 and text[at - 1] == "\n":
        return text[:at] + lines + text[at:]
    end = text.find("\n", at)
    if end < 0:
        return text + (newline if text else "") + lines
    return text[: end + 1] + lines + text[end + 1 :]


def _lines(names: Sequence[str], value: Data, indent: int, *, wrapped: bool) -> str:
    """Return an entry in block style, its value in flow style."""
    above = "".join(
        f"{' ' * (indent + _STEP * depth)}{_name(each)}:\n" for depth, each in enumerate(names[:-1])
    )
    margin = " " * (indent + _STEP * (len(names) - 1))
    line = margin + flow_text({names[-1]: value})[1:-1]
    lines = folded(line, margin + " " * _STEP)
    short = wrapped and len(lines) <= _MOST_LINES
    return above + "\n".join(lines if short else [line]) + "\n"


def folded(line: str, margin: str) -> list[str]:
    """Return an entry in flow style on as many lines as it needs; a key and its value on one.

    Args:
        line: The entry, with its own margin.
        margin: That of the lines after the first.
    """
    lines = textwrap.wrap(
        line.replace(": ", _GLUED),
        _WIDTH,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [each.replace(_GLUED, ": ") for each in lines]


def _name(name: str) -> str:
    """Return a name as a key of a map is written."""
    return flow_text({name: 0})[1:-1].removesuffix(": 0")


def _chain(names: Sequence[str], value: Data) -> Data:
    for name in reversed(names[1:]):
        value = {name: value}
    return {names[0]: value}


def _added(tree: Tree | None, names: Sequence[str], value: Tree) -> Tree:
    """Return a tree with an entry added."""
    if not names:
        return value
    entries = tree.entries if isinstance(tree, MapTree) else ()
    first, rest = names[0], names[1:]
    if all(each.name != first for each in entries):
        return MapTree((*entries, Entry(first, _added(None, rest, value))))
    return MapTree(
        tuple(
            Entry(each.name, _added(each.value, rest, value)) if each.name == first else each
            for each in entries
        )
    )
