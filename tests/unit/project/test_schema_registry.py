"""The options of a schema registry."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinery.errors import ProjectErrors
from joinery.project.load import load_spec
from joinery.project.schema_registry import RegistryOptions, registry_options

PROJECT = """\
sources: {{changes: {{kafka: {{bootstrap: "h:1", registry: {registry}}}}}}}
relations: {{user: {{key: [id], fields: {{id: long}}}}}}
products: {{}}
"""


def options(folder: Path, registry: str) -> RegistryOptions | None:
    file = folder / "joinery.yaml"
    file.write_text(PROJECT.format(registry=registry), encoding="utf-8")
    return registry_options(dict(load_spec(file).sources[0].options).get("registry"))


def problems(folder: Path, registry: str) -> list[str]:
    with pytest.raises(ProjectErrors) as caught:
        options(folder, registry)
    return [f"{each.location} {each.message}" for each in caught.value.problems]


def test_a_url_is_enough(tmp_path: Path) -> None:
    assert options(tmp_path, '"http://h:8081"') == RegistryOptions(url="http://h:8081")
    assert options(tmp_path, '{url: "http://h:8081"}') == RegistryOptions(url="http://h:8081")


def test_all_options_are_read(tmp_path: Path) -> None:
    told = '{url: "http://h:1, http://i:1", user: ada, password: 1815, wait: 5s, id_bytes: 8}'

    expected = RegistryOptions(
        url="http://h:1, http://i:1", user="ada", password="1815", wait_ms=5000, id_bytes=8
    )

    assert expected == options(tmp_path, told)


def test_addresses_are_told_alike_however_they_are_separated() -> None:
    assert ("http://h:1", "http://i:1/v7") == RegistryOptions(
        url=" http://h:1// ,, http://i:1/v7/, "
    ).addresses


def test_a_secret_is_never_shown() -> None:
    shown = repr(RegistryOptions(url="http://h", user="ada", password="engine", token="loom"))

    assert shown == "RegistryOptions(url='http://h', wait_ms=60000, id_bytes=4)"


def test_a_secret_in_the_url_is_refused_without_showing_it(tmp_path: Path) -> None:
    (told,) = problems(tmp_path, '"http://ada:engine@h:8081"')

    assert told.endswith(
        '1:57 "registry" of "kafka" of source "changes" cannot hold a user or a password'
    )


@pytest.mark.parametrize(
    ("registry", "message"),
    [
        ("{}", 'needs "url"'),
        ("8081", "needs a text"),
        ('"h:8081"', "is not a URL"),
        ('{url: "http://h", password: x}', 'needs "user"'),
        ('{url: "http://h", user: a, token: x}', "has both a token and a user"),
        ('{url: "http://h", id_bytes: 5}', "needs 4 or 8"),
        ('{url: "http://h", wait: soon}', "needs a duration"),
        ('{url: "http://h", user: [a]}', "needs a text"),
        ('{url: "http://h", uzer: a}', 'has no key "uzer"'),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, registry: str, message: str) -> None:
    assert message in problems(tmp_path, registry)[0]
