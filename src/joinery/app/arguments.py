"""What calls on a stream and on groups take in more than one form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from joinery.errors import SpecError
from joinery.project.argument import given
from joinery.project.typing import Sink


def listed(names: Iterable[object]) -> list[str | Mapping[str, str]]:
    """Return names and maps as one list, given as arguments, lists or maps.

    Raises:
        SpecError: Something else is given.
    """
    found: list[Any] = []
    for each in names:
        if isinstance(each, str | Mapping):
            found.append(each)
        elif isinstance(each, Iterable) and not isinstance(each, bytes):
            found += each
        else:
            kind = type(each).__name__
            message = f"a name, a map or a list of them is needed, not an object of type {kind}"
            raise SpecError(message, code="SPEC_SHAPE")
    return found


def sinks_given(
    sinks: Sequence[str | Sink], kinds: Mapping[str, object], *, needing: str
) -> list[str | Mapping[str, object]]:
    """Return the sinks of a call: those that are named or maps, then those given by their kind.

    Args:
        sinks: Names, and kinds with their options.
        kinds: The options of each kind; None where it was not given.
        needing: What cannot be without, for the error: `the stream needs`.

    Raises:
        SpecError: There is none.
    """
    found = [*sinks, *({kind: each} for kind, each in given(kinds).items())]
    if not found:
        hint = 'Write one such as files={"path": "out"}.'
        raise SpecError(f"{needing} a sink", code="SPEC_MISSING_KEY", hint=hint)
    return found
