"""Tells a file that the system does not let a command use, by its name, with what to do."""

from __future__ import annotations

import errno

from joinery.errors import JoineryError

_REFUSALS = {
    errno.EACCES: "Give the user that runs joinery access to it, or name another place.",
    errno.EPERM: "Give the user that runs joinery access to it, or name another place.",
    errno.EROFS: "Name another place, or mount it so that it can be written.",
    errno.EEXIST: "Name a folder, or move the file.",
    errno.EISDIR: "Name a file, or move the folder.",
    errno.ENOTDIR: "Name a folder, or move the file.",
    errno.ENOSPC: "Make room there, and repeat the command.",
    errno.EDQUOT: "Make room there, and repeat the command.",
}
"""What to do where the system does not let a file be read or written, by its error."""


class FileRefusedError(JoineryError):
    """The system does not let a file or a folder be read or written."""

    code = "FILE"


def refused_file(error: Exception) -> FileRefusedError | None:
    """Return an error of the system about a file as one that a user can act on.

    Returns:
        None for any other error.
    """
    if not isinstance(error, OSError) or error.filename is None or error.errno not in _REFUSALS:
        return None
    return FileRefusedError(
        f"could not use {error.filename}: {error.strerror}", hint=_REFUSALS[error.errno]
    )
