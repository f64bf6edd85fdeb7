"""Reads a product: its form, by the key that declares it, and what products of all forms have."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from joinery.project import grammar
from joinery.project.expect import Expectations
from joinery.project.form import (
    AggregateSpec,
    DocumentSpec,
    FoldSpec,
    FormSpec,
    HistorySpec,
    OutboxSpec,
    PatternSpec,
    RuleSpec,
    SearchSpec,
)
from joinery.project.part import read_part
from joinery.project.product import NodeSpec, ProductSpec
from joinery.project.read_aggregate import read_emit, read_product_window
from joinery.project.read_fold import read_fold
from joinery.project.read_kind import read_sinks, read_solution
from joinery.project.read_node import (
    Parts,
    read_order,
    read_shown,
    read_texts,
    read_values,
    read_word,
)
from joinery.project.reader import Reader
from joinery.project.stream import LOG_TIME_WORD
from joinery.project.tree import Entry, MapTree, Path, Scalar, Tree
from joinery.project.value import At, Pairs, read_fields, read_on
from joinery.project.window import Emit


@dataclass(frozen=True, slots=True)
class _Declared:
    """A product as it is declared, with where problems with it go.

    Attributes:
        parts: What its keys have.
        emit: What the keys of its `emit` have.
    """

    reader: Reader
    entry: Entry
    path: Path
    parts: Parts
    emit: Parts

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

    def at(self, word: str) -> At:
        """Return where the value of a key is read."""
        return At(self.reader, word, self.what, (*self.path, word))

    def fields(self, word: str) -> Pairs:
        """Return names and expressions of a key."""
        if word not in self.parts:
            return ()
        return read_fields(self.at(word), self.parts[word])

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the texts of a key."""
        return read_texts(self.reader, self.parts, name, self.what)

    def timed(self) -> Emit:
        """Return when a product that goes by time is sent."""
        return read_emit(self.reader, self.emit)

    def untimed(self) -> None:
        """Refuse what goes by time of a product that does not."""
        for name in sorted(self.emit.keys() - {"settle"}):
            message = (
                f'"{name}" of "emit" is of products with "aggregate", or with "within" in an embed'
            )
            place = self.emit[name].mark.value
            self.reader.refuse("SPEC_VALUE", message, place, hint=f'Remove "{name}".')

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
    emit: Parts = {}
    if "emit" in parts:
        emit = reader.named(parts["emit"], f'"emit" of {what}', grammar.EMIT)
    return _product(_Declared(reader, entry, path, parts, emit))


def _product(declared: _Declared) -> ProductSpec:
    reader, parts, what = declared.reader, declared.parts, declared.what
    word = next((each for each in _FORMS if each in parts), DocumentSpec.word)
    form = _FORMS[word]
    if word == DocumentSpec.word:
        _refuse_without_form(declared)
        _need_root(declared)
    else:
        declared.refuse(_not_of(word), word, form.hints)
    made = form.read(declared)
    group = declared.text("group") if "group" in parts else None
    if group:
        reader.folder_name(group, "a group", parts["group"].mark.value)
    solution, options = read_solution(reader, parts.get("solution"), what)
    expect = None
    if "expect" in parts:
        part = f'"expect" of {what}'
        expect = read_part(reader, parts["expect"], part, Expectations)
    settle = declared.emit.get("settle")
    erased = read_word(reader, parts, "erased", what, grammar.ERASED)
    path = (*declared.path, "sink")
    return ProductSpec(
        name=declared.entry.name,
        root=_root(declared, word),
        sinks=read_sinks(reader, parts["sink"], what, path) if "sink" in parts else (),
        group=group,
        solution=solution,
        solution_options=options,
        settle_ms=None if settle is None else reader.duration_ms(settle, '"settle"'),
        ready=declared.texts("ready"),
        erased="remove" if erased == "remove" else "redact",
        form=made,
        expect=expect,
    )


def _root(declared: _Declared, word: str) -> NodeSpec:
    """Return the tree of documents; of another form, the relation that its word names."""
    name, tree = declared.entry.name, declared.parts.get(word)
    if word == DocumentSpec.word:
        node = NodeSpec(name, "root", declared.text(word))
        return read_shown(declared.reader, declared.parts, declared.what, declared.path, node)
    assert tree is not None, "the key declares the form"
    declared.reader.alias((*declared.path, "root"), tree)
    if word == OutboxSpec.word:
        return NodeSpec(name, "root", _outbox_relation(declared, tree))
    return NodeSpec(name, "root", declared.text(word))


def _not_of(word: str) -> frozenset[str]:
    """Return the keys that a product of the form has not."""
    known = {*grammar.FORMS, *(key for keys in grammar.FORMS.values() for key in keys)}
    known |= grammar.PRODUCT.keys() - {"sink", "expect"} if word == OutboxSpec.word else set()
    return frozenset(known - {word, *grammar.FORMS[word]})


def _refuse_without_form(declared: _Declared) -> None:
    """Refuse, of documents, the keys that other forms alone have."""
    own = grammar.FORMS[DocumentSpec.word]
    for name in declared.parts:
        form = next((word for word, keys in grammar.FORMS.items() if name in keys), None)
        if form is not None and name not in own:
            message = f'{declared.what} has "{name}" without "{form}"'
            hint = f"Write {form}: RELATION instead of root."
            place = declared.parts[name].mark.value
            declared.reader.refuse("SPEC_VALUE", message, place, hint=hint)


def _need_root(declared: _Declared) -> None:
    *others, last = (word for word in grammar.FORMS if word != DocumentSpec.word)
    declared.need("root", f"Write root: RELATION, or one of {', '.join(others)} and {last}.")


def _documents(declared: _Declared) -> DocumentSpec:
    return DocumentSpec(declared.timed())


def _outbox(declared: _Declared) -> OutboxSpec:
    hint = "Write sink: {kafka: {topic: outbox.event.{aggregatetype}}}, the topic in quotes."
    declared.need("sink", hint)
    reader, tree, part = declared.reader, declared.parts["outbox"], f'"outbox" of {declared.what}'
    if not isinstance(tree, MapTree):
        return OutboxSpec()
    found = reader.named(tree, part, grammar.OUTBOX)
    texts = {
        name: reader.text(found[name], f'"{name}" of {part}')
        for name in ("key", "value")
        if name in found
    }
    default = OutboxSpec()
    headers = default.headers
    if "headers" in found:
        entries = reader.entries(found["headers"], f'"headers" of {part}')
        named = ((each.name, f'header "{each.name}" of {part}', each.value) for each in entries)
        headers = tuple((name, reader.text(value, what)) for name, what, value in named)
    return OutboxSpec(
        key=texts.get("key", default.key), value=texts.get("value", default.value), headers=headers
    )


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


def _aggregate(declared: _Declared) -> AggregateSpec:
    reader, parts, what = declared.reader, declared.parts, declared.what
    where, window = parts.get("where"), parts.get("window")
    return AggregateSpec(
        by=declared.fields("by"),
        where=None if where is None else reader.expression(where, f'"where" of {what}'),
        window=None if window is None else read_product_window(reader, window, what),
        values=read_values(reader, parts["values"], what) if "values" in parts else (),
        emit=declared.timed(),
    )


def _search(declared: _Declared) -> SearchSpec:
    reader, parts, what = declared.reader, declared.parts, declared.what
    for name in ("queries", "query"):
        declared.need(name, "Write queries: RELATION, query: its column with the query.")
    declared.untimed()
    language = read_word(reader, parts, "language", what, grammar.LANGUAGES)
    kept = "retroactive" not in parts or reader.flag(
        parts["retroactive"], f'"retroactive" of {what}'
    )
    return SearchSpec(
        queries=declared.text("queries"),
        query=declared.text("query"),
        on=read_on(declared.at("on"), parts["on"]) if "on" in parts else (),
        language="lucene" if language == "lucene" else "sql",
        retroactive=kept,
        fields=declared.fields("fields"),
    )


def _history(declared: _Declared) -> HistorySpec:
    declared.need("valid", "Write valid: COLUMN, the time from which a version is valid.")
    declared.untimed()
    return HistorySpec(
        valid=declared.text("valid"),
        track=declared.texts("track") if "track" in declared.parts else None,
        known_at=_known_at(declared),
    )


def _known_at(declared: _Declared) -> str | None:
    """Return the column that tells when a change became known; `true` is the time of the log."""
    tree = declared.parts.get("known_at")
    if isinstance(tree, Scalar) and isinstance(tree.value, bool):
        return LOG_TIME_WORD if tree.value else None
    return declared.text("known_at") or None


def _fold(declared: _Declared) -> FoldSpec:
    declared.untimed()
    return read_fold(declared.reader, declared.parts, declared.entry, declared.fields("by"))


def _pattern(declared: _Declared) -> PatternSpec:
    reader, parts, what = declared.reader, declared.parts, declared.what
    declared.need("match", "Write match: A -> B, with the variables under define.")
    within = None
    if "within" in parts:
        within = reader.elapsed_us(parts["within"], f'"within" of {what}', least=1)
    after = read_word(reader, parts, "after", what, grammar.AFTERS)
    return PatternSpec(
        match=declared.text("match"),
        by=declared.fields("by"),
        order=read_order(reader, parts, what),
        define=reader.pairs(parts["define"], f'"define" of {what}') if "define" in parts else (),
        within_us=within,
        after="next_row" if after == "next_row" else "past_last",
        fields=declared.fields("fields"),
        emit=declared.timed(),
        rules=_rules(declared),
    )


def _rules(declared: _Declared) -> tuple[RuleSpec, ...]:
    if "rules" not in declared.parts:
        return ()
    entries = declared.reader.entries(declared.parts["rules"], f'"rules" of {declared.what}')
    path = (*declared.path, "rules")
    return tuple(_rule(declared.reader, each, (*path, each.name)) for each in entries)


def _rule(reader: Reader, entry: Entry, path: Path) -> RuleSpec:
    what, hint = f'rule "{entry.name}"', "Write {one: RELATION, on: {its column: the row's}}."
    reader.output_name(entry.name, "a rule", entry.place)
    if not isinstance(entry.value, MapTree):
        reader.shape(entry.value, what, "a map", hint)
        return RuleSpec(entry.name, "", ())
    parts = reader.named(entry.value, what, grammar.RULE)
    for name in ("one", "on"):
        if name not in parts:
            reader.refuse("SPEC_MISSING_KEY", f'{what} needs "{name}"', entry.place, hint=hint)
    relation = reader.text(parts["one"], f'"one" of {what}') if "one" in parts else ""
    on = read_on(At(reader, "on", what, (*path, "on")), parts["on"]) if "on" in parts else ()
    return RuleSpec(entry.name, relation, on)


@dataclass(frozen=True, slots=True)
class _Form:
    """How a form is read.

    Attributes:
        read: Returns it, and notes what it lacks.
        hints: By the key of another form, where what it means is written in this one.
    """

    read: Callable[[_Declared], FormSpec]
    hints: Mapping[str, str] = field(default_factory=dict)


_FORMS: Mapping[str, _Form] = {
    OutboxSpec.word: _Form(_outbox, {"root": "Keep one of them."}),
    AggregateSpec.word: _Form(_aggregate, {"fields": "Write them under by and values."}),
    PatternSpec.word: _Form(
        _pattern,
        {
            "values": "Write it under fields.",
            "where": "Write it under where of the relation, or under define.",
        },
    ),
    SearchSpec.word: _Form(_search),
    FoldSpec.word: _Form(
        _fold,
        {
            **dict.fromkeys(("fields", "values"), "Write columns of the state under state."),
            "where": "Write it under where of the relation; what it leaves out is a gap.",
        },
    ),
    HistorySpec.word: _Form(_history, {"fields": "Write track: [column]."}),
    DocumentSpec.word: _Form(_documents),
}
"""By the key that declares each form; a product with the keys of two is of the first."""
