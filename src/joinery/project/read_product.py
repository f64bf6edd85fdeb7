"""Reads a product: its form, by the key that declares it, and what products of all forms have."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import get_args

from joinery.project import grammar
from joinery.project.emit import AS_CHANGED, Emit, When
from joinery.project.form import (
    FORMS,
    DocumentSpec,
    FormSpec,
    OutboxSpec,
    TimedSpec,
    is_below,
)
from joinery.project.mark import Path
from joinery.project.node import NodeSpec, Parts, read_root
from joinery.project.part import keys_of, made_of
from joinery.project.product import ProductSpec
from joinery.project.reader import Reader
from joinery.project.tree import Entry, MapTree, Scalar, Tree

_OTHERS = tuple(word for word in FORMS if word != DocumentSpec.word)
"""The words of forms but documents; a product with two of them is of the first."""
_SETTLE = "settle"
"""The key of `emit` that products of all forms have."""


@dataclass(frozen=True, slots=True)
class _Declared:
    """A product as it is declared, with where problems with it go.

    Attributes:
        parts: What its keys have.
    """

    reader: Reader
    entry: Entry
    path: Path
    parts: Parts

    @property
    def what(self) -> str:
        """The product, for problems."""
        return f'product "{self.entry.name}"'

    def need(self, name: str, hint: str) -> None:
        """Refuse the product where it has not the key."""
        if name not in self.parts:
            message = f'{self.what} needs "{name}"'
            self.reader.refuse("SPEC_MISSING_KEY", message, self.entry.place, hint=hint)

    def text(self, name: str, default: str = "") -> str:
        """Return the text of a key."""
        if name not in self.parts:
            return default
        return self.reader.text(self.parts[name], f'"{name}" of {self.what}')

    def refuse(self, others: Collection[str], form: str, hints: Mapping[str, str]) -> None:
        """Refuse keys that the form has not; `hints` say where what they mean is written."""
        for name in (each for each in self.parts if each in others):
            message = f'{self.what} has both "{form}" and "{name}"'
            hint = hints.get(name, f'Remove "{name}".')
            self.reader.refuse("SPEC_VALUE", message, self.parts[name].mark.value, hint=hint)


def read_product(reader: Reader, entry: Entry, path: Path) -> ProductSpec:
    """Return the product that an entry of `products` declares."""
    what = f'product "{entry.name}"'
    reader.folder_name(entry.name, "a product", entry.place)
    if not isinstance(entry.value, MapTree):
        reader.shape(entry.value, what, "a map")
        return ProductSpec(entry.name, NodeSpec(entry.name, "root", ""))
    parts = reader.named(entry.value, what, grammar.PRODUCT)
    return _product(_Declared(reader, entry, path, parts))


def _product(declared: _Declared) -> ProductSpec:
    parts = declared.parts
    word = next((each for each in _OTHERS if each in parts), DocumentSpec.word)
    kind = FORMS[word]
    if word == DocumentSpec.word:
        _refuse_without_form(declared)
        _need_root(declared)
    else:
        declared.refuse(_not_of(word), word, kind.hints)
    return made_of(
        declared.reader,
        {name: parts[name] for name in parts if name != "emit"},
        declared.what,
        ProductSpec,
        declared.path,
        place=declared.entry.place,
        name=declared.entry.name,
        root=_root(declared, word),
        form=_form(declared, kind),
        emit=_emit(declared, kind),
    )


def _emit(declared: _Declared, kind: type[FormSpec]) -> Emit:
    """Return when the product is sent; of a form that does not go by time, `settle` alone."""
    reader, parts = declared.reader, declared.parts
    if "emit" not in parts:
        return AS_CHANGED
    what, tree = f'"emit" of {declared.what}', parts["emit"]
    if isinstance(tree, Scalar) and tree.text in get_args(When):
        reader.shape(tree, what, "a map", f"Write {{when: {tree.text}}}.")
        return AS_CHANGED
    found = reader.named(tree, what, keys_of(Emit))
    if not issubclass(kind, TimedSpec):
        if not is_below(kind):
            _refuse_untimed(reader, found)
        found = {name: found[name] for name in found if name == _SETTLE}
    return made_of(reader, found, "", Emit, place=None)


def _refuse_untimed(reader: Reader, emit: Parts) -> None:
    """Refuse what goes by time of a product that does not."""
    for name in sorted(emit.keys() - {_SETTLE}):
        message = (
            f'"{name}" of "emit" is for products with "aggregate" or "pattern",'
            ' or with "within" in an embed'
        )
        reader.refuse("SPEC_VALUE", message, emit[name].mark.value, hint=f'Remove "{name}".')


def _root(declared: _Declared, word: str) -> NodeSpec:
    """Return the tree of documents; of another form, the relation that its word names."""
    name, tree = declared.entry.name, declared.parts.get(word)
    if word == DocumentSpec.word:
        return read_root(
            declared.reader,
            declared.parts,
            declared.what,
            declared.path,
            name=name,
            relation=declared.text(word),
        )
    assert tree is not None, "the key declares the form"
    declared.reader.alias((*declared.path, "root"), tree)
    if word == OutboxSpec.word:
        return NodeSpec(name, "root", _outbox_relation(declared, tree))
    return NodeSpec(name, "root", declared.text(word))


def _not_of(word: str) -> frozenset[str]:
    """Return the keys that a product of the form has not."""
    known = {*grammar.FORM_KEYS, *(key for keys in grammar.FORM_KEYS.values() for key in keys)}
    known |= grammar.PRODUCT.keys() - {"sink", "expect"} if word == OutboxSpec.word else set()
    return frozenset(known - {word, *grammar.FORM_KEYS[word]})


def _refuse_without_form(declared: _Declared) -> None:
    """Refuse, of documents, the keys that other forms alone have."""
    own = grammar.FORM_KEYS[DocumentSpec.word]
    for name in declared.parts:
        form = next((word for word, keys in grammar.FORM_KEYS.items() if name in keys), None)
        if form is not None and name not in own:
            message = f'{declared.what} has "{name}" without "{form}"'
            hint = f"Write {form}: RELATION instead of root."
            place = declared.parts[name].mark.value
            declared.reader.refuse("SPEC_VALUE", message, place, hint=hint)


def _need_root(declared: _Declared) -> None:
    *others, last = _OTHERS
    declared.need("root", f"Write root: RELATION, or one of {', '.join(others)} and {last}.")


def _form(declared: _Declared, kind: type[FormSpec]) -> FormSpec:
    if is_below(kind):
        return _outbox(declared)
    return made_of(
        declared.reader,
        declared.parts,
        declared.what,
        kind,
        declared.path,
        place=declared.entry.place,
    )


def _outbox(declared: _Declared) -> OutboxSpec:
    hint = "Write sink: {kafka: {topic: outbox.event.{aggregatetype}}}, the topic in quotes."
    declared.need("sink", hint)
    reader, tree, part = declared.reader, declared.parts["outbox"], f'"outbox" of {declared.what}'
    found = reader.named(tree, part, grammar.OUTBOX) if isinstance(tree, MapTree) else {}
    return made_of(reader, found, part, OutboxSpec, place=None)


def _outbox_relation(declared: _Declared, tree: Tree) -> str:
    """Return the relation of `outbox`: a name, or a map that has one."""
    reader, part = declared.reader, f'"outbox" of {declared.what}'
    if not isinstance(tree, MapTree):
        return reader.text(tree, part)
    relation = next((each.value for each in tree.entries if each.name == "relation"), None)
    if relation is None:
        reader.refuse("SPEC_MISSING_KEY", f'{part} needs "relation"', tree.mark.value)
        return ""
    return reader.text(relation, f'"relation" of {part}')
