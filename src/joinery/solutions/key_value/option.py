"""The options of a key-value store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from joinery.errors import SpecError


class StoreOptionError(SpecError):
    """The options of a key-value store are not what it takes."""

    code = "SPEC_STORE_OPTION"


def check_options(store: str, options: Mapping[str, object], known: Sequence[str]) -> None:
    """Refuse an option that the store does not take."""
    for name in options:
        if name != "store" and name not in known:
            takes = f"It takes {', '.join(known)}." if known else "It takes no options."
            raise StoreOptionError(f'store "{store}" of "kv" has no option "{name}"', detail=takes)
