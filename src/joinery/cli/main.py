"""The command `joinery`: runs what its arguments name, and says what became of errors.

Only `joinery status` is read without Typer, whose import takes as long as all that it does.
"""

from __future__ import annotations

import atexit
import gc
import os
import select
import signal
import sys
from collections.abc import Sequence

from joinery.cli.ending import DONE, FAILED, tell_error
from joinery.cli.refused_file import refused_file
from joinery.cli.status_arguments import DEFAULT, names_a_project, status_arguments
from joinery.errors import JoineryError, Location, ProjectErrors

_WITH_PRODUCTS = frozenset({"apply", "explain", "run"})
"""The commands whose argument is the file, and that take products as an option."""
# By default Python looks for circles 200 times while modules are imported, where there are none: a
# sixth of what that takes.
_OBJECTS_BETWEEN_COLLECTIONS = 50_000


def main() -> None:
    """Run the command line and exit with its code."""
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    atexit.register(_keep_exit_code)
    debug = "--debug" in sys.argv
    arguments = [each for each in sys.argv[1:] if each != "--debug"]
    _give_java_utf8()
    try:
        _run(arguments)
    except JoineryError as error:
        if debug:
            raise
        code = tell_error(error)
        if meant := _meant(error, arguments):
            sys.stderr.write(f"  hint: For {meant}, write --file {meant}.\n")
        elif product := _product_meant(error, arguments):
            sys.stderr.write(f"  hint: For a product, write --product {product}.\n")
        sys.exit(code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(DONE)
    except SystemExit as ended:
        # Typer ends a command as failed, and without a word, at any broken pipe.
        if not isinstance(broken := ended.__context__, BrokenPipeError):
            raise
        if _is_unread():
            sys.exit(DONE)
        _tell_defect(broken)
        sys.exit(FAILED)
    except KeyboardInterrupt:
        sys.exit(FAILED)
    except Exception as error:
        if debug:
            raise
        if (refused := refused_file(error)) is not None:
            sys.exit(tell_error(refused))
        _tell_defect(error)
        sys.exit(FAILED)


def _is_unread() -> bool:
    """Return whether nobody reads any more what is written, as behind `joinery state P | head`."""
    written = select.poll()
    for descriptor in (1, 2):
        written.register(descriptor, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in written.poll(0))


def _tell_defect(error: Exception) -> None:
    sys.stderr.write(
        f"error: {type(error).__name__}: {' '.join(str(error).split())[:300]}."
        " This is a defect of joinery; --debug shows where. [INTERNAL]\n"
    )


def _keep_exit_code() -> None:
    """Have a signal that comes once all is done not take the place of the exit code.

    Python gives up its handlers before the process is gone; a signal that is ignored stays so.
    """
    for each in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(each) not in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(each, signal.SIG_IGN)


def _meant(error: JoineryError, arguments: Sequence[str]) -> str:
    """Return the argument that names a project where the command looked for another; else nothing.

    Commands whose arguments are products or keys take the file as an option.
    """
    if _missing(error) != [Location(str(DEFAULT))]:
        return ""
    others = (each for each in arguments[1:] if each != str(DEFAULT))
    return next(filter(names_a_project, others), "")


def _product_meant(error: JoineryError, arguments: Sequence[str]) -> str:
    """Return the argument that may name a product where the command took a file; else nothing."""
    if not arguments or arguments[0] not in _WITH_PRODUCTS or not DEFAULT.exists():
        return ""
    words = (each for each in arguments[1:] if each.isidentifier())
    return next((each for each in words if _missing(error) == [Location(each)]), "")


def _missing(error: JoineryError) -> list[Location | None]:
    """Return the files that an error says are not there."""
    problems = error.problems if isinstance(error, ProjectErrors) else ()
    return [each.location for each in problems if each.code == "SPEC_FILE_MISSING"]


def _give_java_utf8() -> None:
    """Let Java name files in UTF-8, as Python does here also under `LC_ALL=C`."""
    if os.environ.get("LC_ALL") in {"C", "POSIX"}:
        os.environ["LC_ALL"] = "C.UTF-8"


def _run(arguments: Sequence[str]) -> None:
    asked = status_arguments(arguments)
    if asked is not None:
        from joinery.cli.status import run_status

        sys.exit(run_status(asked))
    from joinery.cli.commands import command

    command()(arguments, prog_name="joinery")


if __name__ == "__main__":
    main()
