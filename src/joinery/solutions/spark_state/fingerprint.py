"""The fingerprint of join state: which program wrote a checkpoint, in words.

It stands beside the state, in `joinery.json`. Invariant: a program is let at a checkpoint
only if the state there is what it would have written itself.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from typing import Any

from joinery.errors import StateMismatchError
from joinery.files import write_whole
from joinery.place.place import Place, numbers_in
from joinery.solutions.spark_state.addition import Telling
from joinery.solutions.spark_state.describe import parts_of
from joinery.solutions.spark_state.ledger import Ledger
from joinery.solutions.spark_state.program import KernelProgram, Removed
from joinery.solutions.spark_state.shaping import shaping
from joinery.solutions.spark_state.stream_program import AsOf
from joinery.solutions.spark_state.words import FIRST_KINDS

# Rises whenever addresses, pages, patches or messages change their meaning.
STATE_FORMAT = 9
# Of each kind of node, rises whenever the layout of its own state does; one that is not here has
# the first. So a change of one kind concerns only programs that have it.
NODE_FORMATS: Mapping[str, int] = {"fold": 2, "root": 2}
# The first format of a kind that its nodes still read; one that is not here reads its own alone.
_READ_FROM: Mapping[str, int] = {"fold": 1, "root": 1}
# Before kinds had formats of their own there was one number for products, one for streams, and
# one for those that look up versions. All kinds had their first format then.
_PRODUCTS_FORMAT, _STREAMS_FORMAT, _VERSIONS_FORMAT = 6, 7, 8
_FIRST = 1
FILE_NAME = "joinery.json"
SPARK_STATE = "spark-state"
_TOLD = 4
_BEFORE = "the project is as it was before the last joinery apply, which is not built yet"


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What of a program shapes its state.

    Attributes:
        format: The version of what all kinds of nodes have together.
        program: A hash of all of it.
        parts: The same in words, by name.
        solution: Who keeps the state.
        statements: A hash of the user's own that make documents in place of the program's; empty
            where there are none, None where that was not noted.
        kinds: The format of each kind of node that is in it; empty where that was not noted.
        append: The relations that are logs, whose updates and deletes are ignored; None where that
            was not noted.
        ledger: The numbers of its nodes; None where there are none, or they were not noted.
        telling: The rows that a batch tells to nodes which came after them; None where none does.
        before: What was noted before it was to be told; None where nothing was.
    """

    format: int
    program: str
    parts: Mapping[str, str]
    solution: str = SPARK_STATE
    statements: str | None = ""
    kinds: Mapping[str, int] = field(default_factory=dict)
    append: tuple[str, ...] | None = None
    ledger: Ledger | None = None
    telling: Telling | None = None
    before: Fingerprint | None = None

    def to_json(self) -> str:
        """Return the text of the file."""
        return json.dumps(self.to_plain(), indent=1, ensure_ascii=False) + "\n"

    def to_plain(self) -> dict[str, Any]:
        """Return it as values of JSON."""
        return {
            "format": self.format,
            "kinds": dict(self.kinds),
            "solution": self.solution,
            "program": self.program,
            "parts": dict(self.parts),
            "statements": self.statements,
            "append": self.append,
            "ledger": None if self.ledger is None else self.ledger.to_plain(),
            "telling": None if self.telling is None else asdict(self.telling),
            "before": None if self.before is None else self.before.to_plain(),
        }


def fingerprint(
    program: KernelProgram, solution: str = SPARK_STATE, statements: str = ""
) -> Fingerprint:
    """Return the fingerprint of a program; limits that state does not know are left out.

    Args:
        program: Of the query.
        solution: Who keeps the state.
        statements: The user's own that make its documents; empty where there are none.
    """
    nodes = tuple(shaping(each, program) for each in program.nodes)
    # Hashes were without it before it shaped state; what it shapes is compared by name.
    relations = tuple(replace(each, append=None) for each in program.relations)
    shape = replace(
        program,
        relations=relations,
        nodes=nodes,
        tombstone_retention_micros=0,
        max_document_bytes=0,
        reasons=(),
    )
    text = shape.to_json()
    for kind, first in FIRST_KINDS.items():
        text = text.replace(f'"kind":"{kind}"', f'"kind":"{first}"')
    digest = hashlib.sha256(text.encode()).hexdigest()
    own = hashlib.sha256(statements.encode()).hexdigest() if statements else ""
    parts = dict(parts_of(program))
    logs = tuple(sorted(each.name for each in program.relations if each.append))
    return Fingerprint(STATE_FORMAT, digest, parts, solution, own, _kinds(program), logs)


def readable_formats(program: KernelProgram) -> tuple[str, ...]:
    """Return in words the formats of state that the nodes of a program read, theirs first."""
    return _readable(_kinds(program), _first_format(program))


def _readable(kinds: Mapping[str, int], first: int) -> tuple[str, ...]:
    read = (range(number, _READ_FROM.get(kind, number) - 1, -1) for kind, number in kinds.items())
    formats = [_format_text(dict(zip(kinds, each, strict=True))) for each in product(*read)]
    reads_first = all(_READ_FROM.get(kind, number) == _FIRST for kind, number in kinds.items())
    return (*formats, f"format {first}") if reads_first else tuple(formats)


def state_marks(program: KernelProgram, earlier: Sequence[str] = ()) -> list[str]:
    """Return what tells state of a program from that of others, in words for an error.

    Args:
        program: The first mark is that of its own state; then come those of earlier formats.
        earlier: The marks of programs that wrote some of the state before.
    """
    return [*_marks(readable_formats(program), fingerprint(program).program), *earlier]


def _marks(formats: Sequence[str], digest: str) -> Iterator[str]:
    return (f"{each}, program {digest[:16]}" for each in formats)


def _format_text(kinds: Mapping[str, int]) -> str:
    told = [f"{kind} {number}" for kind, number in kinds.items() if number > _FIRST]
    return f"format {STATE_FORMAT}" + (f" ({', '.join(told)})" if told else "")


def _kinds(program: KernelProgram) -> dict[str, int]:
    return {kind: NODE_FORMATS.get(kind, _FIRST) for kind in sorted(_kind_names(program))}


def _kind_names(program: KernelProgram) -> set[str]:
    return {
        FIRST_KINDS.get(each.kind, each.kind)
        for each in program.nodes
        if not isinstance(each, Removed)
    }


def _first_format(program: KernelProgram) -> int:
    """Return the number that the state of a program had before kinds had their own."""
    if any(isinstance(each, AsOf) for each in program.nodes):
        return _VERSIONS_FORMAT
    return _STREAMS_FORMAT if program.entries else _PRODUCTS_FORMAT


def claim_checkpoint(
    folder: Place,
    query: str,
    program: KernelProgram,
    solution: str = SPARK_STATE,
    *,
    statements: str = "",
    former: KernelProgram | None = None,
) -> KernelProgram:
    """Let `program` use the checkpoint in `folder`, or refuse it.

    A checkpoint that nothing was read for yet is claimed for the program.

    Args:
        folder: The checkpoint of one query.
        query: The query's name, for the error.
        program: What is about to run.
        solution: Who keeps its state.
        statements: As `fingerprint`.
        former: The same products as they were lowered before; goes on where it began.

    Returns:
        The program that may run: `program` or `former`.

    Raises:
        StateMismatchError: The checkpoint holds state that another program wrote, or documents
            of other statements.
    """
    file, begun = folder / FILE_NAME, _has_begun(folder)
    if former is not None and begun and _has_written(file, former):
        program = former
    ours = fingerprint(program, solution, statements)
    if begun:
        differences = list(_differences(folder, ours, _first_format(program)))
        if differences:
            raise _mismatch(folder, query, differences, solution)
        stored = _stored(file)
        ours = replace(ours, ledger=stored.ledger, telling=stored.telling)
        ours = replace(ours, before=_before(folder, stored))
        if stored == ours and (stored.ledger is not None or solution != SPARK_STATE):
            return program
    if ours.ledger is None and solution == SPARK_STATE:
        ours = replace(ours, ledger=Ledger.of(program))
    write_whole(file, ours.to_json(), synced=True)
    return program


def _has_written(file: Place, program: KernelProgram) -> bool:
    """Return whether a program wrote the state beside a fingerprint; no if it cannot be read."""
    try:
        return _stored(file).program == fingerprint(program).program
    except (OSError, ValueError, KeyError, TypeError):
        return False


def differences(
    folder: Place, program: KernelProgram, solution: str = SPARK_STATE, *, statements: str = ""
) -> list[str]:
    """Return in words why a checkpoint that has begun is not one for a program; none if it is.

    Args:
        folder: The checkpoint of one query.
        program: What is about to run.
        solution: Who keeps its state.
        statements: As `fingerprint`.
    """
    if not _has_begun(folder):
        return []
    ours = fingerprint(program, solution, statements)
    return list(_differences(folder, ours, _first_format(program)))


def differences_from(
    stored: Fingerprint,
    program: KernelProgram,
    solution: str = SPARK_STATE,
    *,
    statements: str = "",
) -> list[str]:
    """Return in words how a program differs from what was noted; see `differences`."""
    ours = fingerprint(program, solution, statements)
    return list(_between(stored, ours, _first_format(program)))


def carried_fingerprint(
    stored: Fingerprint, ledger: Ledger, program: KernelProgram
) -> tuple[Fingerprint, list[str]]:
    """Return the fingerprint with which another program goes on from a checkpoint.

    Args:
        stored: What is noted of the checkpoint.
        ledger: That of it.
        program: It has the numbers of the ledger.

    Returns:
        What is to be noted, and in words what else differs; only without that may it be.
    """
    ours = fingerprint(program)
    first = _first_format(program)
    earlier = (*ledger.earlier, *_marks(_readable(stored.kinds, first), stored.program))
    noted = replace(ours, ledger=Ledger.of(program, tuple(dict.fromkeys(earlier)), ledger.places))
    append = (
        None if stored.append is None else tuple(sorted(_logs_left(stored.append, ledger, program)))
    )
    alike = replace(stored, program=ours.program, append=append)
    return noted, list(_between(alike, ours, first))


def _logs_left(stored: Sequence[str], ledger: Ledger, program: KernelProgram) -> Iterator[str]:
    """Yield the relations of a program that were logs, and logs that the checkpoint never had."""
    for each in {one.name: one for one in program.relations}.values():
        if each.name in stored or (each.append and each.name not in ledger.places):
            yield each.name


def standing_fingerprint(folder: Place) -> Fingerprint | None:
    """Return what is noted of a checkpoint that has begun; None where nothing can be read."""
    if not _has_begun(folder):
        return None
    try:
        stored = _stored(folder / FILE_NAME)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return replace(stored, before=_before(folder, stored))


def built_fingerprint(folder: Place, stored: Fingerprint) -> Fingerprint:
    """Return what is noted of the state that there is.

    What no batch has begun to build yet leaves no trace but the note.

    Args:
        folder: The checkpoint of one query.
        stored: What is noted of it.
    """
    before = _before(folder, stored)
    begun = max(numbers_in(folder / "offsets"), default=-1)
    if before is None or stored.telling is None or begun >= stored.telling.batch:
        return stored
    return before


def _before(folder: Place, stored: Fingerprint) -> Fingerprint | None:
    """Return what was noted before products were to be built; None once these are, or none are."""
    if stored.telling is None:
        return None
    begun = max(numbers_in(folder / "offsets"), default=-1)
    told = stored.telling.batch in numbers_in(folder / "commits") or begun > stored.telling.batch
    return None if told else stored.before


def standing_solution(folder: Place) -> str | None:
    """Return the solution of a checkpoint that has begun; None where there is none."""
    if not _has_begun(folder):
        return None
    try:
        told: Any = json.loads((folder / FILE_NAME).read_text(encoding="utf-8"))
        return str(told.get("solution", SPARK_STATE))
    except (OSError, ValueError, AttributeError):
        return SPARK_STATE


def _has_begun(folder: Place) -> bool:
    return bool(numbers_in(folder / "offsets"))


def _differences(folder: Place, ours: Fingerprint, first: int) -> Iterator[str]:
    """Yield what differs, in words; nothing where the state fits.

    `first` is the format that its program had before kinds had their own. What products that are
    not built yet make of the program is not told where the project is another by now.
    """
    try:
        stored = _stored(folder / FILE_NAME)
    except FileNotFoundError:
        yield f"it has no {FILE_NAME}, which describes its state"
    except (ValueError, KeyError, TypeError):
        yield f"its {FILE_NAME} cannot be read"
    else:
        found, before = list(_between(stored, ours, first)), _before(folder, stored)
        if found and before is not None:
            found = list(_between(before, ours, first)) or [_BEFORE]
        yield from found


def _between(stored: Fingerprint, ours: Fingerprint, first: int) -> Iterator[str]:
    if stored.solution != ours.solution:
        yield f"its state is kept by {stored.solution}, not by {ours.solution}"
    elif stored.format not in (ours.format, first):
        yield f"its state has format {stored.format}, this version uses {ours.format}"
    elif stored.program != ours.program:
        yield from _changed_parts(stored.parts, ours.parts)
    elif stored.statements not in (ours.statements, None):
        yield 'the statements of its solution\'s option "sql" changed'
    else:
        yield from _other_logs(stored.append, ours.append)
        yield from _other_kinds(stored.kinds, ours.kinds)


def _other_logs(stored: Sequence[str] | None, ours: Sequence[str] | None) -> Iterator[str]:
    """Yield the relations whose updates and deletes count where they did not, or vice versa."""
    if stored is not None and ours is not None:
        for name in sorted({*ours} - {*stored}):
            yield f'relation "{name}" is append, was not'
        for name in sorted({*stored} - {*ours}):
            yield f'relation "{name}" is not append, was'


def _other_kinds(stored: Mapping[str, int], ours: Mapping[str, int]) -> Iterator[str]:
    """Yield the kinds of nodes whose state was laid out as this version does not read it."""
    for kind, number in ours.items():
        found = stored.get(kind, _FIRST)
        if not _READ_FROM.get(kind, number) <= found <= number:
            yield f'the state of its "{kind}" nodes has format {found}, this version uses {number}'


def _stored(file: Place) -> Fingerprint:
    """Return the fingerprint in a file; raises what tells that there is none."""
    return _from_plain(json.loads(file.read_text(encoding="utf-8")))


def _from_plain(told: Any) -> Fingerprint:
    return Fingerprint(
        int(told["format"]),
        str(told["program"]),
        dict(told["parts"]),
        str(told.get("solution", SPARK_STATE)),
        told.get("statements"),
        {str(kind): int(number) for kind, number in told.get("kinds", {}).items()},
        None if told.get("append") is None else tuple(map(str, told["append"])),
        _ledger(told.get("ledger")),
        _telling(told.get("telling")),
        None if told.get("before") is None else _from_plain(told["before"]),
    )


def _ledger(told: Any) -> Ledger | None:
    """Return a ledger as it was noted; None where another version noted it in other words.

    Only `apply` needs it, and a run notes it again.
    """
    try:
        return None if told is None else Ledger.from_plain(told)
    except (ValueError, KeyError, TypeError):
        return None


def _telling(told: Any) -> Telling | None:
    if told is None:
        return None
    retracts, part = tuple(map(int, told["retracts"])), told.get("part")
    anew = tuple(map(str, told.get("anew", ())))
    return Telling(int(told["batch"]), retracts, int(told["first"]), part, anew)


def _changed_parts(stored: Mapping[str, str], ours: Mapping[str, str]) -> Iterator[str]:
    changed = [name for name in ours if name in stored and ours[name] != stored[name]]
    added = [name for name in ours if name not in stored]
    removed = [name for name in stored if name not in ours]
    for name in sorted(added, key=_rank):
        yield _with(name, ours[name], "was added")
    for name in sorted(removed, key=_rank):
        yield _with(name, stored[name], "was removed")
    for name in sorted(changed, key=_rank):
        yield f"{name} is {ours[name]}, was {stored[name]}"
    if not (changed or added or removed):
        yield "the order of its products, embeds or columns changed"


def _with(name: str, told: str, happened: str) -> str:
    """Return what happened to a part.

    Example:
        >>> _with('column "age"', "int", "was added"), _with("where", "id > 5", "was added")
        ('column "age" was added (int)', 'where id > 5 was added')
    """
    return f"{name} {happened} ({told})" if name.endswith('"') else f"{name} {told} {happened}"


def _rank(name: str) -> int:
    """What a user declared comes first, what follows from it later."""
    declared = ('": column', '": derived', ": key", ": where", ": order", ": limit", ": field")
    return 0 if any(each in name for each in declared) else 1


def _mismatch(
    folder: Place, query: str, differences: list[str], solution: str
) -> StateMismatchError:
    moved = any(each.startswith("its state is kept by") for each in differences)
    option = f" --solution {solution}" if moved else ""
    more = len(differences) - _TOLD
    told = "; ".join(differences[:_TOLD]) + (f"; and {more} more" if more > 0 else "")
    return StateMismatchError(
        f'the checkpoint of query "{query}" holds state that another plan wrote',
        detail=f"{told[0].upper()}{told[1:]}. Nothing was read or written.",
        hint=(
            "joinery plan shows what changed, and whether the state can be kept."
            " Build the new plan's documents alongside the old ones:"
            f" joinery run{option} --rebuild."
            f" Or start with a fresh checkpoint: delete {folder} and with it its state."
        ),
    )
