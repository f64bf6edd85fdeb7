"""What a sink is given of personal values: nulls, or the values while their keys are there."""

from __future__ import annotations

import os
import traceback
from pathlib import Path

import pytest

from joinery.errors import FencedError, SinkError, SinkUnavailableError
from joinery.model.type import LONG, PERSONAL, STRING, Field, Struct
from joinery.sinks.line import StagedRow, read_rows
from joinery.sinks.protocol import Guarantee, Refusal, StagedBatch, Written
from joinery.vault.keys import Vault, mark_of, sealed_text
from joinery.vault.sink import OpeningSink
from joinery.vault.tables import SqliteVault

MASTER = "a master key of a test, which is no secret"
KEY = Struct((Field("id", LONG),))
VALUE = Struct((Field("id", LONG), Field("email", PERSONAL), Field("price", LONG)))


class Taking:
    """Remembers the rows that it is given, and may refuse them."""

    guarantee = Guarantee(summary="All that it is given.")
    target = "a test"

    def __init__(self, *, refuses: bool = False) -> None:
        self.rows: list[StagedRow] = []
        self.value = Struct(())
        self._refuses = refuses
        self.fails: BaseException | None = None

    def open(self) -> None:
        """Nothing is opened."""

    def write(self, batch: StagedBatch) -> Written:
        rows = list(read_rows(batch.files))
        if self.fails is not None:
            raise self.fails from ValueError(str(rows[0].value))
        self.rows += rows
        self.value = batch.value
        refused = tuple(Refusal(each, "document_refused", f"not {each.value}") for each in rows)
        return Written(refused=refused if self._refuses else ())

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return Vault(SqliteVault(tmp_path / "vault.db"), MASTER)


def sealed(vault: Vault, subject: str, clear: str) -> str:
    name = vault.name_of("person", subject)
    key = vault.keys([name])[name]
    assert key is not None
    return vault.seal(key, name, clear)


def batch(folder: Path, *values: str) -> StagedBatch:
    part = folder / "part-00000.jsonl"
    rows = (StagedRow(f'{{"id":{at}}}', each, 7) for at, each in enumerate(values))
    part.write_text("".join(each.line() for each in rows), encoding="utf-8")
    return StagedBatch(
        product="p", query="p", query_id="q", batch_id=0, files=(part,), key=KEY, value=VALUE
    )


def test_without_reveal_personal_values_are_null(vault: Vault, tmp_path: Path) -> None:
    sink = Taking()
    document = '{{"id":1,"email":"{}","price":1.50}}'.format(sealed(vault, "1", "ann@example.org"))

    OpeningSink(sink, None).write(batch(tmp_path, document))

    assert ['{"id":1,"email":null,"price":1.50}'] == [each.value for each in sink.rows]
    assert Field("email", STRING) in sink.value.fields


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="reveal needs Linux")
def test_with_reveal_they_are_shown_until_their_key_is_destroyed(
    vault: Vault, tmp_path: Path
) -> None:
    sink = Taking()
    opening = OpeningSink(sink, lambda: Vault(SqliteVault(tmp_path / "vault.db"), MASTER))
    quoted = '{{"id":0,"email":"{}"}}'.format(sealed(vault, "0", 'a "b" é'))
    other = '{{"id":1,"email":"{}"}}'.format(sealed(vault, "1", "bob@example.org"))

    opening.write(batch(tmp_path, quoted, other))
    vault.destroy("person", "0")
    opening.write(batch(tmp_path, quoted, other))

    shown = '{"id":1,"email":"bob@example.org"}'
    first = '{"id":0,"email":"a \\"b\\" é"}'
    assert [first, shown, '{"id":0,"email":null}', shown] == [each.value for each in sink.rows]


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="reveal needs Linux")
def test_a_refused_document_is_told_as_it_was_staged(vault: Vault, tmp_path: Path) -> None:
    sink = Taking(refuses=True)
    opening = OpeningSink(sink, lambda: Vault(SqliteVault(tmp_path / "vault.db"), MASTER))
    document = '{{"id":0,"email":"{}"}}'.format(sealed(vault, "0", "ann@example.org"))

    written = opening.write(batch(tmp_path, document))

    assert [document] == [each.row.value for each in written.refused]
    assert "ann" not in written.refused[0].detail


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="reveal needs Linux")
@pytest.mark.parametrize(
    ("fails", "told"),
    [
        (SinkError("no ann", detail="ann@x.org", hint="ann"), SinkError),
        (SinkUnavailableError("later", detail="ann@x.org"), SinkUnavailableError),
        (KeyError("ann@x.org"), SinkError),
        (SystemExit("ann@x.org"), SinkError),
    ],
)
def test_what_a_target_says_of_a_failure_is_told_without_its_words(
    fails: BaseException, told: type[SinkError], vault: Vault, tmp_path: Path
) -> None:
    sink = Taking()
    sink.fails = fails
    opening = OpeningSink(sink, lambda: Vault(SqliteVault(tmp_path / "vault.db"), MASTER))
    document = '{{"id":0,"email":"{}"}}'.format(sealed(vault, "0", "ann@x.org"))

    with pytest.raises(SinkError) as caught:
        opening.write(batch(tmp_path, document))

    assert told is type(caught.value)
    error = caught.value
    everything = [*traceback.format_exception(error), error.message, error.detail, error.hint]
    assert "ann" not in "".join(everything)
    assert "ValueError" in error.detail


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="reveal needs Linux")
def test_what_a_target_says_as_it_is_closed_is_told_without_its_words(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    def close(sink: Taking) -> None:
        raise ValueError("ann@x.org")

    monkeypatch.setattr(Taking, "close", close)

    with pytest.raises(SinkError) as caught:
        OpeningSink(Taking(), lambda: vault).close()

    assert "ann" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="reveal needs Linux")
def test_another_run_that_took_over_is_told_as_it_is(vault: Vault, tmp_path: Path) -> None:
    sink = Taking()
    sink.fails = FencedError("another run")
    opening = OpeningSink(sink, lambda: vault)

    with pytest.raises(FencedError):
        opening.write(batch(tmp_path, '{"id":0}'))


def test_a_sink_that_does_not_reveal_tells_why_it_failed(tmp_path: Path) -> None:
    sink = Taking()
    sink.fails = SinkError("no table", hint="Make it.")

    with pytest.raises(SinkError, match="no table"):
        OpeningSink(sink, None).write(batch(tmp_path, '{"id":0}'))


def test_a_document_with_an_erased_value_is_a_tombstone_where_it_is_to_be_removed(
    vault: Vault, tmp_path: Path
) -> None:
    sink = Taking()
    name = vault.name_of("person", "1")
    held = [sealed_text(name, b""), mark_of(name, 17), mark_of(name, 17, text=False)]
    gone = [f'{{"id":1,"email":"{each}"}}' for each in held]
    kept = '{{"id":1,"email":"{}"}}'.format(sealed(vault, "1", ""))

    OpeningSink(sink, None, removes=True).write(batch(tmp_path, *gone, kept))

    assert [None, None, None, '{"id":1,"email":null}'] == [each.value for each in sink.rows]


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="reveal needs Linux")
def test_what_is_no_text_is_shown_as_it_was(vault: Vault, tmp_path: Path) -> None:
    sink = Taking()
    token = sealed(vault, "1", "73912.64").replace("jy1:", "jy2:")

    opening = OpeningSink(sink, lambda: Vault(SqliteVault(tmp_path / "vault.db"), MASTER))
    opening.write(batch(tmp_path, f'{{"id":1,"paid":"{token}"}}'))

    assert ['{"id":1,"paid":73912.64}'] == [each.value for each in sink.rows]


def test_a_text_within_another_text_is_no_sealed_value(vault: Vault, tmp_path: Path) -> None:
    sink = Taking()
    text = sealed(vault, "1", "x")
    document = f'{{"id":1,"note":"\\"{text}\\" it said"}}'

    OpeningSink(sink, None).write(batch(tmp_path, document))

    assert [document] == [each.value for each in sink.rows]
