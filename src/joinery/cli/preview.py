"""`joinery preview`: the documents that the logs make, without Spark and without a sink.

JSON for people: what fits a line stands on one, numbers keep the digits they were given.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joinery.cli.ending import DONE, FAILED
from joinery.errors import SpecError
from joinery.model.change import DocumentChange
from joinery.plan.product import Product
from joinery.project.load import load_spec
from joinery.project.product import ProjectSpec
from joinery.provenance.told import asked_text, names_key
from joinery.semantics.json_text import pretty_json
from joinery.semantics.render import document_json
from joinery.testing.case import Target
from joinery.testing.case_load import Targets, check_project
from joinery.testing.case_run import key_label

if TYPE_CHECKING:
    from joinery.spark.frames.file_preview import FilePreview

_KEYS = 3


class PreviewArgumentError(SpecError):
    """The arguments of `preview` do not fit the project."""

    code = "PREVIEW_ARGUMENT"


@dataclass(frozen=True, slots=True)
class PreviewArguments:
    """What the command was given.

    Attributes:
        name: Of the product or stream; may be empty where there is only one.
        file: The project file, or a folder of them.
        keys: Only documents with these keys; all where empty.
        limit: The most documents that are shown.
        records: The most records that are read of a topic.
        until_closed: Whether all logs end with them, so that no window stays open.
        as_of: Only what was written up to this moment; empty for all.
    """

    name: str
    file: Path
    keys: Sequence[str] = ()
    limit: int = 20
    records: int = 50_000
    until_closed: bool = False
    as_of: str = ""


def run_preview(arguments: PreviewArguments) -> int:
    """Print the documents of a product, or the events of a stream; return 1 where a key has none.

    Raises:
        ProjectErrors: The project is wrong.
        PreviewArgumentError: There is no such product or stream.
        JoineryError: It cannot be shown without a run, or the files cannot be read.
    """
    from joinery.spark.frames.file_preview import preview_files

    spec = load_spec(arguments.file)
    sys.path.insert(0, str(spec.folder))  # for the functions of streams
    check_project(spec)
    target = _target(spec, arguments.name or _only(spec))
    found = preview_files(
        spec,
        target.plan,
        most=arguments.records,
        until_closed=arguments.until_closed,
        as_of=arguments.as_of,
    )
    chosen = _chosen(found.documents, target, arguments.keys)
    for each in islice(chosen, arguments.limit):
        _write_document(each, target)
    sys.stdout.flush()
    for line in _summary(found, target, min(len(chosen), arguments.limit)):
        sys.stderr.write(f"{line}\n")
    absent = _absent(chosen, target, arguments.keys)
    for key in absent:
        sys.stderr.write(f"{target} has no {_noun(target)} with the key {key}\n")
    if absent and (known := _known(found.documents, target)):
        sys.stderr.write(f"Keys look like {known}.\n")
    return FAILED if absent else DONE


def _only(spec: ProjectSpec) -> str:
    names = [*(each.name for each in spec.products), *(each.name for each in spec.streams)]
    if len(names) == 1:
        return names[0]
    raise PreviewArgumentError(
        "which product or stream?",
        detail=f"The project has {', '.join(names)}.",
        hint=f"Write joinery preview {names[0]}.",
    )


def _target(spec: ProjectSpec, name: str) -> Target:
    """Return the product or stream of a name, whichever it is."""
    products, streams = ([each.name for each in part] for part in (spec.products, spec.streams))
    if name not in products + streams:
        near = get_close_matches(name, products + streams, n=1)
        raise PreviewArgumentError(
            f'there is no product or stream "{name}"',
            detail=f"Known: {', '.join(products + streams)}.",
            hint=f'Use "{near[0]}".' if near else "",
        )
    return Targets(spec).find("stream" if name in streams else "product", name)


def _chosen(
    documents: Sequence[DocumentChange], target: Target, keys: Sequence[str]
) -> list[DocumentChange]:
    return [
        each for each in documents if not keys or any(_named(key, each, target) for key in keys)
    ]


def _absent(documents: Sequence[DocumentChange], target: Target, keys: Sequence[str]) -> list[str]:
    return [key for key in keys if not any(_named(key, each, target) for each in documents)]


def _known(documents: Sequence[DocumentChange], target: Target) -> str:
    """Return a few keys as `--key` takes them; nothing where a key has no column."""
    columns = target.key.fields
    if not columns:
        return ""
    types = [each.type for each in columns]
    keys = ([each.key[column.name] for column in columns] for each in islice(documents, _KEYS))
    return ", ".join(asked_text(key, types) for key in keys)


def _named(text: str, document: DocumentChange, target: Target) -> bool:
    columns = target.key.fields
    values = [document.key[each.name] for each in columns]
    return names_key(text, values, [each.type for each in columns])


def _write_document(document: DocumentChange, target: Target) -> None:
    """Write a document: indented on a terminal, else a line as of the files sink."""
    value = document_json(document.value, target.output)
    if sys.stdout.isatty():
        label = key_label(document.key, target)
        sys.stdout.write(f"{target.plan.name} {label}\n{pretty_json(value)}\n")
    else:
        key = document_json(document.key, target.key)
        sys.stdout.write(f'{{"key":{key},"value":{value}}}\n')


def _noun(target: Target) -> str:
    return "document" if isinstance(target.plan, Product) else "event"


def _summary(found: FilePreview, target: Target, shown: int) -> Iterator[str]:
    """Yield what was read, and what became of it."""
    for warning in found.warnings:
        yield f"warning: {warning}"
    for folder in found.missing:
        if not any(each.message.endswith(f"no folder {folder} yet") for each in found.warnings):
            yield f"warning: there is no folder {folder}"
    counts = found.records.counts
    read = ", ".join(f"{name} {counts[name].get('read', 0):,}" for name in sorted(counts))
    yield f"read: {read or 'nothing'}"
    for name, left in found.records.left.items():
        yield f"warning: {left:,} more records of {name} were not read; --records takes more"
    for table in found.stores:
        yield f"{table}: its change files are read, not its store"
    noun, total = _noun(target), len(found.documents)
    told = [f"{total:,} {noun}{'' if total == 1 else 's'}"]
    told += [f"{shown:,} shown"] if shown < total else []
    told += [f"{found.waiting:,} waiting"] if found.waiting else []
    told += [f"{found.filtered:,} filtered out"] if found.filtered else []
    told += [f"{count:,} {name}" for name, count in _counted(_all_counts(found))]
    yield f"{', '.join(told)}; {found.seconds:.1f} s, nothing was written"
    yield from _dead(found, target)


_UNTOLD = frozenset({"applied"})
_COUNTERS = {
    "stale": "change{s} out of date",
    "repeated": "repeated",
    "ignored_updates": "update{s} without effect",
    "ignored_deletes": "delete{s} without effect",
    "tombstones_ignored": "tombstone{s} without effect",
    "event_without_time": "without a time",
    "event_without_sequence": "without a number",
    "sequence_gaps": "gap{s} in numbers",
    "late": "late",
    "overtaken": "overtaken",
    "too_late": "too late",
    "instance_limit": "beyond what is counted or searched",
    "events_dropped": "dropped",
    "lookup_misses": "without a row",
    "superseded": "sent again later",
    "multiple_matches": "with several matches",
    "expression_errors": "failed expression{s}",
    "unique_violations": "violation{s} of unique",
    "waits_over": "sent without a row after their wait",
    "late_versions": "late version{s} of rows",
    "overtaken_versions": "overtaken version{s} of rows",
    "versions_without_time": "version{s} of rows without a time",
}


def _all_counts(found: FilePreview) -> Counter[str]:
    """Return the counts of what was applied, and of what a log's changes had no effect of."""
    counts = Counter(found.counters)
    for read in found.records.counts.values():
        counts.update({name: read.get(name, 0) for name in ("ignored_updates", "ignored_deletes")})
    return counts


def _counted(counters: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return the counts in words, in a fixed order; a name without words tells itself.

    Example:
        >>> _counted({"stale": 1, "applied": 9, "sequence_gaps": 2})
        [('change out of date', 1), ('gaps in numbers', 2)]
    """
    names = [*_COUNTERS, *sorted(counters.keys() - _COUNTERS.keys() - _UNTOLD)]
    told = ((_COUNTERS.get(name, name), counters.get(name, 0)) for name in names)
    return [(text.format(s="" if count == 1 else "s"), count) for text, count in told if count]


def _dead(found: FilePreview, target: Target) -> Iterator[str]:
    """Yield a line per reason of dead letters, each with the first of them."""
    records = [(each["reason"], _place(each), each["detail"]) for each in found.records.letters]
    documents = [(each.reason, key_label(each.key, target), each.detail) for each in found.dead]
    letters = records + documents
    for reason, count in Counter(each[0] for each in letters).items():
        place, detail = next(each[1:] for each in letters if each[0] == reason)
        noun = "dead letter" if count == 1 else "dead letters"
        yield f"warning: {count:,} {noun} {reason}, such as {place}: {detail}"


def _place(letter: Mapping[str, Any]) -> str:
    if "file" in letter:
        return f"{letter['topic']}/{letter['file']}:{letter['line']}"
    return f"{letter['topic']}/{letter['partition']}/{letter['offset']}"
