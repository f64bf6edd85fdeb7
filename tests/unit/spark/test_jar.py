"""The kernel's jar: which one is used, and what is said where there is none."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from joinery.spark import jar

JAVA = "package a; public final class A { public static int one() { return 1; } }"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "kernel"
    source = folder / "src" / "main" / "java" / "a" / "A.java"
    source.parent.mkdir(parents=True)
    source.write_text(JAVA, encoding="utf-8")
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    monkeypatch.setattr(jar, "_CHECKOUT", folder)
    monkeypatch.setattr(jar, "_SHIPPED", tmp_path / "shipped.jar")
    jar.kernel_jar.cache_clear()
    return folder


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    jar.kernel_jar.cache_clear()


def test_a_checkout_compiles_its_sources_once(checkout: Path) -> None:
    built = jar.kernel_jar()
    jar.kernel_jar.cache_clear()
    again = jar.kernel_jar()

    assert built == again
    assert checkout / "build" == built.parent
    assert {"META-INF/MANIFEST.MF", "a/A.class"} == set(zipfile.ZipFile(built).namelist())


def test_a_changed_source_makes_another_jar(checkout: Path) -> None:
    before = jar.kernel_jar()
    (checkout / "src/main/java/a/A.java").write_text(JAVA.replace("1", "2"), encoding="utf-8")
    jar.kernel_jar.cache_clear()

    assert before != jar.kernel_jar()


def test_a_source_that_does_not_compile_is_told(checkout: Path) -> None:
    (checkout / "src/main/java/a/A.java").write_text(
        "package a; class A { oops }", encoding="utf-8"
    )

    with pytest.raises(jar.KernelBuildError, match="does not compile") as told:
        jar.kernel_jar()

    assert "A.java" in told.value.detail
    assert [] == list((checkout / "build").glob("*.jar"))


def test_no_jdk_is_told_with_what_to_do(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)

    with pytest.raises(jar.KernelBuildError, match="no JDK") as told:
        jar.kernel_jar()

    assert "JDK 17" in told.value.hint


def test_an_installation_uses_the_jar_it_carries(
    tmp_path: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = tmp_path / "shipped.jar"
    shipped.write_bytes(b"")
    monkeypatch.setattr(jar, "_CHECKOUT", tmp_path / "nowhere")

    assert shipped == jar.kernel_jar()


def test_an_installation_without_its_jar_is_told(
    tmp_path: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jar, "_CHECKOUT", tmp_path / "nowhere")

    with pytest.raises(jar.KernelBuildError, match="missing from this installation"):
        jar.kernel_jar()
