"""`python -m joinery`, which is the command `joinery`."""

from __future__ import annotations

from joinery.cli.main import main

if __name__ == "__main__":
    main()
