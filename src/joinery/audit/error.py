"""What an audit refuses."""

from __future__ import annotations

from joinery.errors import RunError, SpecError


class DiffError(SpecError):
    """A product cannot be compared as it is asked."""

    code = "DIFF"


class DiffFailedError(RunError):
    """A comparison was broken off; what it had found is kept, and `--resume` goes on."""

    code = "DIFF_FAILED"
