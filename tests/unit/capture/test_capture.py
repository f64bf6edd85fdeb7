"""What a capture tells its process, also where that is gone."""

from __future__ import annotations

import subprocess

from joinery.capture.capture import _tell


def test_a_process_that_is_gone_is_told_in_vain_and_its_end_is_no_failure() -> None:
    with subprocess.Popen(["true"], stdin=subprocess.PIPE) as process:
        process.wait()
        assert process.stdin is not None

        _tell(process.stdin, "seal {}")

        assert process.stdin.closed
