"""A table of DynamoDB that is a dictionary, and a product that is kept in it."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from joinery.plan.build import build_plan
from joinery.testing.conformance.project import load_text

PRODUCT = build_plan(
    load_text("""
relations:
  page: {key: [url], fields: {url: string}}
products:
  p: {root: page}
""")
).products[0]


FENCE = ("p/fence", "=")
FENCE_KEY = {"pk": {"S": FENCE[0]}, "sk": {"S": FENCE[1]}}


class StandIn:
    """One table, whose indexes show what stood when `settle` was called last."""

    def __init__(self) -> None:
        self.items: dict[tuple[str, str], Any] = {}
        self.full = False
        self.writes = 0
        self.taken_over_after = 0
        self._shown: dict[tuple[str, str], Any] = {}

    def settle(self) -> None:
        self._shown = deepcopy(self.items)

    def batch_write_item(self, *, RequestItems: dict[str, Any], **more: Any) -> Any:
        if self.full:
            return {"UnprocessedItems": RequestItems}
        self.writes += 1
        if self.writes == self.taken_over_after:
            self.put_item(Item={**FENCE_KEY, "value": {"S": "theirs"}})
        for each in RequestItems["table"]:
            if "PutRequest" in each:
                item = each["PutRequest"]["Item"]
                self.items[item["pk"]["S"], item["sk"]["S"]] = item
            else:
                key = each["DeleteRequest"]["Key"]
                self.items.pop((key["pk"]["S"], key["sk"]["S"]), None)
        return {}

    def batch_get_item(self, *, RequestItems: dict[str, Any], **more: Any) -> Any:
        keys = [(each["pk"]["S"], each["sk"]["S"]) for each in RequestItems["table"]["Keys"]]
        return {"Responses": {"table": [self.items[key] for key in keys if key in self.items]}}

    def put_item(self, *, Item: dict[str, Any], **more: Any) -> Any:
        self.items[Item["pk"]["S"], Item["sk"]["S"]] = Item
        return {}

    def query(self, *, IndexName: str = "pk", **more: Any) -> Any:
        (value,) = more["ExpressionAttributeValues"].values()
        items = self.items if IndexName == "pk" else self._shown
        return {"Items": [each for each in items.values() if each.get(IndexName) == value]}

    def close(self) -> None:
        pass
