"""A checkpoint that was moved names its own folder again."""

from __future__ import annotations

from pathlib import Path

from joinery.spark.recovery.relocate import relocate

TEXT = (
    'v2\n{"operatorInfo":{"operatorId":0},"stateStoreInfo":[{"storeName":"default",'
    '"stateSchemaFilePaths":["file:/old/my data/q/state/0/_stateSchema/default/0_ab"]}]}'
)


def metadata(checkpoint: Path) -> Path:
    file = checkpoint / "state" / "0" / "_metadata" / "v2" / "0"
    file.parent.mkdir(parents=True)
    file.write_text(TEXT)
    file.with_name(".0.crc").write_bytes(b"crc")
    return file


def test_the_schemas_of_a_moved_checkpoint_are_found_again(tmp_path: Path) -> None:
    file = metadata(tmp_path / "new q")

    assert relocate(tmp_path / "new q") == 1

    assert file.read_text() == TEXT.replace("/old/my data/q", str(tmp_path / "new q"))
    assert not file.with_name(".0.crc").exists()


def test_a_checkpoint_that_stands_where_it_stood_is_left_alone(tmp_path: Path) -> None:
    metadata(tmp_path)
    relocate(tmp_path)

    assert relocate(tmp_path) == 0


def test_a_checkpoint_that_never_ran_needs_nothing(tmp_path: Path) -> None:
    assert relocate(tmp_path) == 0
