"""What a batch sends, staged as lines for sinks outside Spark.

Invariant: the same documents give the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from joinery.model.change import Key
from joinery.plan.product import Product
from joinery.semantics.document import SentDocument
from joinery.semantics.render import document_json
from joinery.semantics.row_key import key_row, key_type


def stage_documents(
    product: Product, documents: Mapping[Key, SentDocument], folder: Path
) -> tuple[Path, ...]:
    """Write a product's documents below `folder`, and return the file, or none without any."""
    if not documents:
        return ()
    relation = product.root.relation
    kind = key_type(relation)
    file = folder / product.name / "part-00000.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8", newline="\n") as lines:
        lines.writelines(
            f'{{"key":{document_json(key_row(relation, key), kind)},'
            f'"value":{sent.text or "null"},"version":{sent.version}}}\n'
            for key, sent in documents.items()
        )
    return (file,)
