"""`joinery dlq`: the dead letters of a project, to be listed, shown, replayed or dropped."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from joinery.cli.ending import FAILED, tell_error
from joinery.cli.project import analyser
from joinery.errors import JoineryError, SpecError
from joinery.text.columns import aligned

if TYPE_CHECKING:
    from joinery.dead_letters.dead_letter import DeadLetter
    from joinery.dead_letters.queue import DeadLetterGroup, DeadLetterQueue, Selection

dlq = typer.Typer(no_args_is_help=True, help="List, show, replay and drop dead letters.")
File = Annotated[
    Path,
    typer.Option("--file", metavar="FILE", help="The project file, or a folder of such files."),
]
Ids = Annotated[list[str] | None, typer.Argument(metavar="ID", help="Ids of dead letters.")]
Reason = Annotated[str, typer.Option("--reason", metavar="R", help="Only those with this reason.")]
Of = Annotated[
    str, typer.Option("--of", metavar="NAME", help="Only those of this topic or product.")
]
Closed = Annotated[
    bool, typer.Option("--closed", help="Include those already replayed or dropped.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Every = Annotated[bool, typer.Option("--all", help="All open dead letters.")]
RealTime = Annotated[
    bool, typer.Option("--real-time", help="Those of a run started with --real-time.")
]
_FILE = Path("joinery.yaml")
_LONGEST = 100
_PAGE = 100
_NONE = "No dead letters matched."


@dlq.command("list")
def list_dead_letters(
    file: File = _FILE,
    reason: Reason = "",
    of: Of = "",
    closed: Closed = False,
    every: Annotated[
        bool, typer.Option("--all", help="List each dead letter with its id, in log order.")
    ] = False,
    limit: Annotated[
        int,
        typer.Option("--limit", metavar="N", min=1, help="With --all: maximum number to list."),
    ] = _PAGE,
    after: Annotated[
        str, typer.Option("--after", metavar="ID", help="With --all: continue after this one.")
    ] = "",
    as_json: Json = False,
    real_time: RealTime = False,
) -> None:
    """List dead letters by reason: how many, since when, the newest of each."""
    with _Command(file, real_time) as queue:
        from joinery.dead_letters.queue import Selection, grouped

        letters = queue.find(Selection(reason=reason, of=of, closed=closed))
        if every or after:
            _list_each(letters, limit, after, as_json=as_json)
            return
        groups = grouped(letters)
        if as_json:
            _say(json.dumps([_group_row(each) for each in groups], ensure_ascii=False))
        elif not groups:
            done = [] if closed else queue.find(Selection(reason=reason, of=of, closed=True))
            such = ("such " if reason or of else "") + ("open " if done else "")
            more = f" --closed lists {_letters(len(done))} replayed or dropped." if done else ""
            _say(f"There are no {such}dead letters in {queue.target}.{more}")
        else:
            _write_groups(groups)


@dlq.command()
def show(
    ids: Ids = None,
    file: File = _FILE,
    reason: Reason = "",
    of: Of = "",
    every: Every = False,
    as_json: Json = False,
    raw: Annotated[bool, typer.Option("--raw", help="Print only the bytes of the value.")] = False,
    real_time: RealTime = False,
) -> None:
    """Show dead letters in full: reason, place, key and value as they arrived."""
    with _Command(file, real_time) as queue:
        letters = queue.find(_chosen(ids, reason, of, every=every))
        if raw:
            for letter in letters:
                sys.stdout.buffer.write(letter.raw("value") or b"")
        elif as_json:
            _say(json.dumps([_letter_row(each) for each in letters], ensure_ascii=False))
        else:
            _say("\n".join(_shown(each) for each in letters) or _NONE)


@dlq.command()
def replay(
    ids: Ids = None,
    file: File = _FILE,
    reason: Reason = "",
    of: Of = "",
    every: Every = False,
    value: Annotated[
        Path | None,
        typer.Option(
            "--value", metavar="FILE", help="Replay one dead letter with the value in FILE."
        ),
    ] = None,
    real_time: RealTime = False,
) -> None:
    """Replay dead letters in order: records are read again, documents are sent again."""
    with _Command(file, real_time) as queue:
        letters = queue.find(_chosen(ids, reason, of, every=every))
        kept = queue.replay(_edited(letters, value) if value else letters)
        for each in kept:
            sys.stderr.write(f"{each.letter.id} {each.letter.of}: not put back: {each.why}\n")
        put = len(letters) - len(kept)
        _say(f"{put} of {len(letters)} dead letters replayed." if letters else _NONE)
        if kept:
            raise typer.Exit(FAILED)


@dlq.command()
def drop(
    ids: Ids = None,
    file: File = _FILE,
    reason: Reason = "",
    of: Of = "",
    every: Every = False,
    real_time: RealTime = False,
) -> None:
    """Mark dead letters as not needed; they are kept, but no longer listed."""
    with _Command(file, real_time) as queue:
        letters = queue.find(_chosen(ids, reason, of, every=every))
        queue.drop(letters)
        _say(f"{_letters(len(letters))} dropped." if letters else _NONE)


def _letters(count: int) -> str:
    return f"{count} dead letter{'' if count == 1 else 's'}"


class _Command:
    """Opens the queue of a project for a command, and tells its errors."""

    def __init__(self, file: Path, real_time: bool) -> None:
        self._file = file
        self._settings = ("run.real_time=true",) if real_time else ()

    def __enter__(self) -> DeadLetterQueue:
        from joinery.dead_letters.queue import DeadLetterQueue
        from joinery.plan.build import build_plan
        from joinery.project.load import load_spec

        try:
            spec = load_spec(self._file, settings=self._settings)
            with analyser() as asked:
                return DeadLetterQueue(spec, build_plan(spec, asked))
        except JoineryError as error:
            raise typer.Exit(tell_error(error, file=str(self._file))) from None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, JoineryError):
            raise typer.Exit(tell_error(error, file=str(self._file))) from None


def _chosen(ids: list[str] | None, reason: str, of: str, *, every: bool) -> Selection:
    from joinery.dead_letters.queue import DeadLetterSelectionError, Selection

    if not (ids or reason or of or every):
        raise DeadLetterSelectionError(
            "no dead letters are named", hint="Name ids, --reason, --of, or --all."
        )
    return Selection(ids=tuple(ids or ()), reason=reason, of=of)


def _edited(letters: list[DeadLetter], file: Path) -> list[DeadLetter]:
    """Return the one letter with another value."""
    from joinery.dead_letters.queue import DeadLetterSelectionError

    if len(letters) != 1:
        raise DeadLetterSelectionError(
            f"--value is for one dead letter, not for {len(letters)}",
            hint="Name its id.",
        )
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise SpecError(f"cannot read {file}", detail=f"{error}.") from error
    return [letters[0].with_value(_text_of(raw))]


def _text_of(raw: bytes) -> str | bytes:
    """Return what a file holds as a text; as it is where it is none, such as Avro."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw
    return raw if "\0" in text else text.strip()


def _list_each(letters: list[DeadLetter], limit: int, after: str, *, as_json: bool) -> None:
    """Write one page of letters, each with its id."""
    page = _behind(letters, after)[:limit]
    if as_json:
        _say(json.dumps([_letter_row(each) for each in page], ensure_ascii=False))
        return
    if not page:
        _say(_NONE)
        return
    rows = [("id", "reason", "of", "time", "place")]
    rows += [(each.id, each.reason, each.of, _when(each.time), each.place) for each in page]
    _say("\n".join(aligned(rows)))
    if left := len(_behind(letters, page[-1].id)):
        _say(f"\n{left} more behind these: add --after {page[-1].id}")


def _behind(letters: list[DeadLetter], after: str) -> list[DeadLetter]:
    """Return the letters behind the one whose id begins so; all where none is named."""
    from joinery.dead_letters.queue import DeadLetterSelectionError

    if not after:
        return letters
    place = next((at for at, each in enumerate(letters) if each.id.startswith(after)), None)
    if place is None:
        raise DeadLetterSelectionError(
            f'the list has no dead letter "{after}"',
            hint="Name the last one of the previous page, with the same --reason and --of.",
        )
    return letters[place + 1 :]


def _write_groups(groups: list[DeadLetterGroup]) -> None:
    rows = [("reason", "of", "count", "first", "last", "newest")]
    rows += [
        (each.reason, each.of, _counted(each), _when(each.first), _when(each.last), each.newest.id)
        for each in groups
    ]
    _say("\n".join(aligned(rows)))
    _say("\nThe newest of each:")
    for each in groups:
        _say(f"  {each.newest.id}  {each.newest.place}: {_short(_visible(each.newest.detail))}")
    if any(each.count > 1 for each in groups):
        _say("\nThe id of every one: joinery dlq list --all")


def _counted(group: DeadLetterGroup) -> str:
    closed = ", ".join(
        f"{count} {state}" for state, count in sorted(group.states.items()) if state != "open"
    )
    return f"{group.count} ({closed})" if closed else str(group.count)


def _when(time: str) -> str:
    """Return a time to the second, with its zone: letters are kept in UTC."""
    return f"{time[:19].replace('T', ' ')}Z" if time else ""


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _group_row(group: DeadLetterGroup) -> dict[str, Any]:
    return {
        "reason": group.reason,
        "of": group.of,
        "count": group.count,
        "first": group.first,
        "last": group.last,
        "states": dict(group.states),
        "newest": _letter_row(group.newest),
    }


def _letter_row(letter: DeadLetter) -> dict[str, Any]:
    done = {"state": letter.state, "state_at": letter.at, "state_by": letter.by}
    return {"id": letter.id, **done, **letter.facts}


def _shown(letter: DeadLetter) -> str:
    done = f" at {letter.at}" if letter.at else ""
    done += f" by {letter.by}" if letter.by else ""
    lines = [f"{letter.id}  {letter.state}{done}"]
    last = ("key", "value")
    facts = {name: each for name, each in letter.facts.items() if name not in last}
    facts |= {name: letter.facts.get(name) for name in last}
    lines += [
        f"  {name:10} {_visible(str(each))}" for name, each in facts.items() if each is not None
    ]
    return "\n".join(lines)


def _visible(text: str) -> str:
    """Return what a record holds, or is told of it, with control characters spelled out.

    A terminal would obey them.
    """
    return "".join(
        each if each.isprintable() or each in "\n\t" else each.encode("unicode_escape").decode()
        for each in text
    )


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
