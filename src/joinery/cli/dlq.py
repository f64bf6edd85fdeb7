"""`joinery dlq`: the dead letters of a project, to be looked at, put back or dropped."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from joinery.cli.project import analyser
from joinery.cli.report import FAILED, tell_error
from joinery.errors import JoineryError, SpecError
from joinery.plan.build import build_plan
from joinery.spec.load import load_spec

if TYPE_CHECKING:
    from joinery.connect.letter import Letter
    from joinery.connect.letterbox import Letterbox, LetterGroup, Selection

dlq = typer.Typer(no_args_is_help=True, help="Look at dead letters, put them back, drop them.")
File = Annotated[
    Path, typer.Option("--file", metavar="FILE", help="The project file, or a folder of them.")
]
Ids = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Letters, by their ids.")]
Reason = Annotated[str, typer.Option("--reason", metavar="R", help="Only those of this reason.")]
Of = Annotated[str, typer.Option("--of", metavar="NAME", help="Only of this topic or product.")]
Closed = Annotated[bool, typer.Option("--closed", help="Also those that were replayed or dropped.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON value.")]
Every = Annotated[bool, typer.Option("--all", help="All open letters.")]
_FILE = Path("joinery.yaml")
_LONGEST = 100


@dlq.command("list")
def list_letters(
    file: File = _FILE,
    reason: Reason = "",
    of: Of = "",
    closed: Closed = False,
    as_json: Json = False,
) -> None:
    """List dead letters by reason: how many, since when, the newest of each."""
    with _Command(file) as letterbox:
        from joinery.connect.letterbox import Selection, grouped

        groups = grouped(letterbox.find(Selection(reason=reason, of=of, closed=closed)))
        if as_json:
            _say(json.dumps([_group_row(each) for each in groups], ensure_ascii=False))
        elif not groups:
            such = "such " if reason or of else ""
            _say(f"There are no {such}dead letters in {letterbox.target}.")
        else:
            _write_groups(groups)


@dlq.command()
def show(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Letters, by their ids.")],
    file: File = _FILE,
    as_json: Json = False,
    raw: Annotated[bool, typer.Option("--raw", help="The value's own bytes, no more.")] = False,
) -> None:
    """Show letters whole: reason, place, key and value as they arrived."""
    with _Command(file) as letterbox:
        from joinery.connect.letterbox import Selection

        letters = letterbox.find(Selection(ids=tuple(ids)))
        if raw:
            for letter in letters:
                sys.stdout.buffer.write(letter.raw("value") or b"")
        elif as_json:
            _say(json.dumps([_letter_row(each) for each in letters], ensure_ascii=False))
        else:
            _say("\n".join(_shown(each) for each in letters))


@dlq.command()
def replay(
    ids: Ids = None,
    file: File = _FILE,
    reason: Reason = "",
    of: Of = "",
    every: Every = False,
    value: Annotated[
        Path | None,
        typer.Option("--value", metavar="FILE", help="Put back one letter with this value."),
    ] = None,
) -> None:
    """Put letters back, in order: records to be read again, documents to be sent again."""
    with _Command(file) as letterbox:
        letters = letterbox.find(_chosen(ids, reason, of, every=every))
        kept = letterbox.replay(_mended(letters, value) if value else letters)
        for each in kept:
            sys.stderr.write(f"{each.letter.id} {each.letter.of}: not put back: {each.why}\n")
        put = len(letters) - len(kept)
        _say(f"{put} of {len(letters)} letters put back." if letters else "No letter is meant.")
        if kept:
            raise typer.Exit(FAILED)


@dlq.command()
def drop(
    ids: Ids = None,
    file: File = _FILE,
    reason: Reason = "",
    of: Of = "",
    every: Every = False,
) -> None:
    """Mark letters as not needed; they stay where they are, and are listed no more."""
    with _Command(file) as letterbox:
        letters = letterbox.find(_chosen(ids, reason, of, every=every))
        letterbox.drop(letters)
        _say(f"{len(letters)} letters dropped.")


class _Command:
    """Opens the letterbox of a project for a command, and tells its errors."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __enter__(self) -> Letterbox:
        from joinery.connect.letterbox import Letterbox

        try:
            spec = load_spec(self._file)
            with analyser() as asked:
                return Letterbox(spec, build_plan(spec, asked))
        except JoineryError as error:
            raise typer.Exit(tell_error(error, file=str(self._file))) from None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, JoineryError):
            raise typer.Exit(tell_error(error, file=str(self._file))) from None


def _chosen(ids: list[str] | None, reason: str, of: str, *, every: bool) -> Selection:
    from joinery.connect.letterbox import LetterSelectionError, Selection

    if not (ids or reason or of or every):
        raise LetterSelectionError(
            "no dead letters are named", hint="Name ids, --reason, --of, or --all."
        )
    return Selection(ids=tuple(ids or ()), reason=reason, of=of)


def _mended(letters: list[Letter], file: Path) -> list[Letter]:
    """Return the one letter with another value."""
    from joinery.connect.letterbox import LetterSelectionError

    if len(letters) != 1:
        raise LetterSelectionError(
            f"--value mends one letter, not {len(letters)}", hint="Name its id."
        )
    try:
        text = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"cannot read {file}", detail=f"{error}.") from error
    facts = {**letters[0].facts, "value": text, "cut": False}
    facts.pop("value_base64", None)
    return [replace(letters[0], facts=facts)]


def _write_groups(groups: list[LetterGroup]) -> None:
    rows = [("reason", "of", "letters", "first", "last", "newest")]
    rows += [
        (each.reason, each.of, _counted(each), _when(each.first), _when(each.last), each.newest.id)
        for each in groups
    ]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        _say("  ".join(part.ljust(width) for part, width in zip(row, widths, strict=True)).rstrip())
    _say("\nThe newest of each:")
    for each in groups:
        _say(f"  {each.newest.id}  {each.newest.place}: {_short(each.newest.detail)}")


def _counted(group: LetterGroup) -> str:
    closed = ", ".join(
        f"{count} {state}" for state, count in sorted(group.states.items()) if state != "open"
    )
    return f"{group.count} ({closed})" if closed else str(group.count)


def _when(time: str) -> str:
    return time[:19].replace("T", " ")


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _group_row(group: LetterGroup) -> dict[str, Any]:
    return {
        "reason": group.reason,
        "of": group.of,
        "count": group.count,
        "first": group.first,
        "last": group.last,
        "states": dict(group.states),
        "newest": _letter_row(group.newest),
    }


def _letter_row(letter: Letter) -> dict[str, Any]:
    return {"id": letter.id, "state": letter.state, "state_at": letter.at, **letter.facts}


def _shown(letter: Letter) -> str:
    lines = [f"{letter.id}  {letter.state}{f' at {letter.at}' if letter.at else ''}"]
    lines += [
        f"  {name:10} {value}"
        for name, value in letter.facts.items()
        if name not in ("key", "value") and value is not None
    ]
    lines += [
        f"  {name:10} {letter.facts[name]}" for name in ("key", "value") if name in letter.facts
    ]
    return "\n".join(lines)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
