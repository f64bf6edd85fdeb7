"""Reads a project file, or a folder of them: with `edit`, the only module that knows YAML.

YAML 1.2: `on`, `off`, `yes` and `no` are words. `${NAME}` and `${NAME:-default}` take
environment variables, `$${` is a plain `${`.

Invariant: every problem is found and raised at once, each with the place as the user
named the file.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, StringMark, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from joinery.errors import JoineryError, Location, SpecError
from joinery.project.folder import yaml_files
from joinery.project.mark import Mark
from joinery.project.product import ProjectSpec
from joinery.project.read import raise_all, read_parts
from joinery.project.tree import Entry, FromEnvironment, ListTree, MapTree, Scalar, Tree
from joinery.project.write import project_data

_VARIABLE = re.compile(r"\$\$\{|\$\{(?:([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\})?")
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_LONGEST_NUMBER = 4_000  # digits: Python converts no more than 4,300
_KNOWN_TAGS = frozenset(
    f"tag:yaml.org,2002:{each}"
    for each in "str int float bool null map seq set omap merge value timestamp binary".split()
)
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


def load_spec(path: str | Path, *, settings: Iterable[str] = ()) -> ProjectSpec:
    """Return the project that a file, or a folder of them, declares.

    Args:
        path: A YAML file, or a folder whose `*.yaml` and `*.yml` are read as one.
        settings: Replacements such as `run.trigger=1s`, as from the command line.

    Raises:
        ProjectErrors: With every problem and its place.
    """
    spec, problems = load_parts(path, settings=settings)
    raise_all(problems)
    assert spec is not None  # a file that gives no spec gives a problem
    return spec


def load_parts(
    path: str | Path,
    *,
    settings: Iterable[str] = (),
    instead: Mapping[str, str] | None = None,
) -> tuple[ProjectSpec | None, tuple[JoineryError, ...]]:
    """Return what a file or folder declares as far as it can be read, and the problems.

    There is no spec where a file could not be read at all.

    Args:
        path: The file, or a folder of them.
        settings: Replacements such as `run.trigger=1s`.
        instead: By file, the text that it is to have, where it is not written yet.
    """
    problems: list[JoineryError] = []
    files = project_files(path, problems)
    folder = Path(path) if Path(path).is_dir() else Path(path).parent
    return _parts(files, instead or {}, folder, problems, settings)


def load_texts(texts: Mapping[str, str], folder: Path) -> ProjectSpec:
    """Return the project that texts declare which are not, or not as they are, on the disk.

    Args:
        texts: By the file that problems name.
        folder: Where relative paths begin.

    Raises:
        ProjectErrors: With every problem and its place.
    """
    spec, problems = _parts(list(texts), texts, folder, [], ())
    raise_all(problems)
    assert spec is not None  # as in load_spec
    return spec


def _parts(
    files: list[str],
    given: Mapping[str, str],
    folder: Path,
    problems: list[JoineryError],
    settings: Iterable[str],
) -> tuple[ProjectSpec | None, tuple[JoineryError, ...]]:
    alone = len(files) == 1
    trees = [
        tree for file in files if (tree := _tree(file, problems, given, alone=alone)) is not None
    ]
    if len(trees) < max(len(files), 1):
        return None, tuple(problems)
    tree = _merge(trees)
    for setting in settings:
        tree = _replace(tree, setting, problems)
    return read_parts(tree, folder=folder, problems=tuple(problems))


def variables_of(spec: ProjectSpec) -> frozenset[str]:
    """Return the environment variables that the files of a project take."""
    texts = (each.text for each in spec.locations.marks.values())
    written = (each.written for each in texts if isinstance(each, FromEnvironment))
    found = (each.group(1) for text in written for each in _VARIABLE.finditer(text))
    return frozenset(name for name in found if name)


def dump_spec(spec: ProjectSpec) -> str:
    """Return the project as YAML that reads back as an equal project.

    A text that took environment variables takes them again: what they hold is not shown.
    """
    return block_text(_written(project_data(spec)))


def dump_values(spec: ProjectSpec) -> str:
    """Return the same with the values of environment variables, for another process of a run."""
    return block_text(_escaped(project_data(spec)))


def block_text(data: Any) -> str:
    """Return data as YAML in block style."""
    yaml = YAML()
    yaml.width = 100
    yaml.indent(mapping=2, sequence=4, offset=2)
    text = io.StringIO()
    yaml.dump(data, text)
    return text.getvalue()


def flow_text(value: Any) -> str:
    """Return data as YAML in flow style, on one line."""
    yaml = YAML()
    yaml.default_flow_style = True
    yaml.width = 1_000_000
    text = io.StringIO()
    yaml.dump(_escaped(value), text)
    return text.getvalue().removesuffix("\n").removesuffix("...").removesuffix("\n")


def compose(text: str) -> Node | None:
    """Return the nodes of a YAML text, with their places; None where it is empty."""
    found: Node | None = YAML(typ="safe", pure=True).compose(text)
    return found


def read_tree(text: str) -> Tree | None:
    """Return the tree of a YAML text; a variable that is not set is empty."""
    node = compose(text)
    return None if node is None else _Composer("", text, []).tree(node)


def file_tree(file: str, problems: list[JoineryError]) -> Tree | None:
    """Return the tree of one YAML file with its places, or note why there is none."""
    return _tree(file, problems, {}, alone=True)


def _written(value: Any) -> Any:
    """Return data as files say it: variables where they were, and none in any other text."""
    if isinstance(value, dict):
        return {name: _written(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_written(each) for each in value]
    return str(value.written) if isinstance(value, FromEnvironment) else _escaped(value)


def _escaped(value: Any) -> Any:
    """Return data in which no text takes an environment variable."""
    if isinstance(value, dict):
        return {name: _escaped(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_escaped(each) for each in value]
    return value.replace("${", "$${") if isinstance(value, str) else value


def project_files(path: str | Path, problems: list[JoineryError]) -> list[str]:
    """Return the files of a project, or note why there are none."""
    if not Path(path).is_dir():
        return [str(path)]
    found = [str(each) for each in yaml_files(Path(path))]
    if not found:
        message = f'folder "{path}" has no *.yaml'
        problems.append(_problem("SPEC_FILE_MISSING", message, Location(str(path))))
    return found


def _problem(code: str, message: str, place: Location, hint: str = "") -> SpecError:
    return SpecError(message, code=code, location=place, hint=hint)


def _tree(
    file: str, problems: list[JoineryError], instead: Mapping[str, str], *, alone: bool
) -> Tree | None:
    """Return the tree of one file, or note why there is none; it may be empty among others."""
    text = instead[file] if file in instead else _text(file, problems)
    if text is None:
        return None
    try:
        node = compose(text)
        tree = None if node is None else _Composer(file, text, problems).tree(node)
    except YAMLError as error:
        problems.append(_syntax(error, file))
        return None
    except RecursionError:
        message = "maps and lists are nested too deeply"
        problems.append(_problem("SPEC_SYNTAX", message, Location(file)))
        return None
    if tree is None and not alone:
        return MapTree((), Mark(Location(file)))
    if tree is None:
        problems.append(_problem("SPEC_SHAPE", f'file "{file}" is empty', Location(file)))
    return tree


def _text(file: str, problems: list[JoineryError]) -> str | None:
    start = Location(file)
    try:
        return Path(file).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f'file "{file}" is not UTF-8 (byte {error.start + 1})'
        problems.append(_problem("SPEC_NOT_UTF8", message, start, "Save it as UTF-8."))
    except FileNotFoundError:
        hint = "Name a file, or write one with joinery init."
        problems.append(_problem("SPEC_FILE_MISSING", f'there is no file "{file}"', start, hint))
    except (OSError, ValueError) as error:  # a path with a NUL, or with what is not a character
        reason = error.strerror if isinstance(error, OSError) else error
        message = f'could not read file "{file}": {reason}'
        problems.append(_problem("SPEC_FILE_MISSING", message, start))
    return None


def _syntax(error: YAMLError, file: str) -> SpecError:
    if not isinstance(error, MarkedYAMLError) or error.problem_mark is None:
        return _problem("SPEC_SYNTAX", f"not YAML: {str(error).splitlines()[0]}", Location(file))
    mark = error.problem_mark
    told = ", ".join(part for part in (error.context, error.problem) if part)
    hint = "Put a text with ${…} in quotes." if "'{'" in told else ""
    if "mapping values are not allowed" in told:
        hint = "Put a text with a colon in quotes."
    if "but got" in told and not hint:
        hint = "Put a text with brackets, braces, a comma or a colon in quotes."
    if r"'\t'" in told:
        hint = "Indent with spaces, not with tabs."
    place = Location(file, mark.line + 1, mark.column + 1)
    return _problem("SPEC_SYNTAX", f"not YAML: {told}", place, hint)


class _Composer:
    """Makes a tree of the nodes of one file."""

    def __init__(self, file: str, text: str, problems: list[JoineryError]) -> None:
        self.file, self.text, self.problems = file, text, problems
        self.open: list[Node] = []

    def place(self, mark: StringMark) -> Location:
        return Location(self.file, mark.line + 1, mark.column + 1)

    def tree(self, node: Node) -> Tree:
        if any(node is each for each in self.open):
            message = "an alias is inside what it names"
            self.problems.append(_problem("SPEC_SHAPE", message, self.place(node.start_mark)))
            return Scalar(None, "")
        self.open.append(node)
        try:
            return self.part(node)
        finally:
            self.open.pop()

    def part(self, node: Node) -> Tree:
        place = self.place(node.start_mark)
        self.check_tag(node, place)
        if isinstance(node, MappingNode):
            return MapTree(tuple(self.entry(*each) for each in node.value), Mark(place))
        if isinstance(node, SequenceNode):
            return ListTree(tuple(self.tree(each) for each in node.value), Mark(place))
        assert isinstance(node, ScalarNode)  # the third and last kind of YAML node
        return self.scalar(node, place)

    def scalar(self, node: ScalarNode, place: Location) -> Scalar:
        raw = self.text[node.start_mark.index : node.end_mark.index].rstrip()
        text = self.substituted(node.value, place)
        tagged = str(node.tag).endswith(":str") and text == node.value
        value = text if node.style or tagged else _resolved(text)
        self.check_characters(text, place)
        return Scalar(value, text, Mark(place, raw=raw, text=text))

    def entry(self, key: Node, value: Node) -> Entry:
        place = self.place(key.start_mark)
        if not isinstance(key, ScalarNode):
            self.problems.append(_problem("SPEC_SHAPE", "a name needs to be a text", place))
            return Entry("", self.tree(value), place)
        self.check_characters(str(key.value), place)
        return Entry(str(key.value), self.tree(value), place)

    def check_characters(self, text: str, place: Location) -> None:
        """Note a text that nothing could write."""
        if any("\ud800" <= each <= "\udfff" for each in text):
            message = "half a surrogate pair is not a character"
            self.problems.append(_problem("SPEC_SYNTAX", message, place))

    def check_tag(self, node: Node, place: Location) -> None:
        """Note a tag that means nothing here."""
        tag = str(node.tag)
        if tag not in _KNOWN_TAGS:
            message = f'the tag "{tag}" means nothing here'
            self.problems.append(_problem("SPEC_SYNTAX", message, place, "Remove it."))

    def substituted(self, text: str, place: Location) -> str:
        """Return `text` with its environment variables."""

        def value(found: re.Match[str]) -> str:
            if found.group() == "$${":
                return "${"
            name, default = found.groups()
            if name is None:
                message = '"${" begins no environment variable'
                hint = "Write ${NAME} or ${NAME:-default}; $${ is a plain ${."
                self.problems.append(_problem("SPEC_ENVIRONMENT", message, place, hint))
                return found.group()
            known = os.environ.get(name) or (os.environ.get(name) if default is None else default)
            if known is None:
                message = f'environment variable "{name}" is not set'
                hint = f"Set it, or write ${{{name}:-default}}."
                self.problems.append(_problem("SPEC_ENVIRONMENT", message, place, hint))
            return known or ""

        if "${" not in text:
            return text
        return FromEnvironment.of(_VARIABLE.sub(value, text), text)


def _resolved(text: str) -> str | int | float | bool | None:
    """Return what a plain scalar means in YAML 1.2."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text) and len(text) <= _LONGEST_NUMBER:
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _merge(trees: list[Tree]) -> Tree:
    """Return the trees of several files as one: sections grow together."""
    if len(trees) == 1:
        return trees[0]
    merged: list[Entry] = []
    for tree in trees:
        for entry in tree.entries if isinstance(tree, MapTree) else ():
            known = next((each for each in merged if each.name == entry.name), None)
            both = (known.value, entry.value) if known else ()
            if known and all(isinstance(each, MapTree) for each in both):
                value = _joined(known.value, entry.value)
                merged[merged.index(known)] = replace(known, value=value)
            else:
                merged.append(entry)
    odd = next((tree for tree in trees if not isinstance(tree, MapTree)), None)
    return odd or MapTree(tuple(merged), trees[0].mark)


def _joined(first: Tree, second: Tree) -> Tree:
    if isinstance(first, MapTree) and isinstance(second, MapTree):
        return MapTree(first.entries + second.entries, first.mark)
    return first


def _replace(tree: Tree, setting: str, problems: list[JoineryError]) -> Tree:
    """Return `tree` with one `dotted.key=value` put in."""
    key, equals, text = setting.partition("=")
    if not (key and equals):
        hint = "Write dotted.key=value."
        message = f'setting "{setting}" has no value'
        problems.append(_problem("SPEC_VALUE", message, Location("--set"), hint))
        return tree
    names = key.split(".")
    if names == ["run", "spark"]:
        hint = "Write run.spark.NAME=value, such as run.spark.spark.driver.memory=4g."
        message = '"run.spark" is a mapping, and a setting replaces one of its entries'
        problems.append(_problem("SPEC_VALUE", message, Location("--set"), hint))
        return tree
    if names[:2] == ["run", "spark"]:
        names = [*names[:2], ".".join(names[2:])]
    place = Location(f"--set {key}")
    return _put(tree, tuple(names), Scalar(_resolved(text), text, Mark(place)), place)


def _put(tree: Tree, names: tuple[str, ...], value: Tree, place: Location) -> Tree:
    if not names:
        return value
    entries = tree.entries if isinstance(tree, MapTree) else ()
    mark = tree.mark if isinstance(tree, MapTree) else Mark(place)
    index = next((i for i, each in enumerate(entries) if each.name == names[0]), None)
    if index is None:
        below = _put(MapTree((), Mark(place)), names[1:], value, place)
        return MapTree((*entries, Entry(names[0], below, place)), mark)
    known = entries[index]
    changed = replace(known, value=_put(known.value, names[1:], value, place))
    return MapTree((*entries[:index], changed, *entries[index + 1 :]), mark)
