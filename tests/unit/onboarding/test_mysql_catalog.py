"""What `show create table` of MySQL and MariaDB says of keys."""

from __future__ import annotations

from joinery.model.table import Column, ForeignKey, TableName
from joinery.onboarding.mysql_catalog import described

LINE = """\
CREATE TABLE `line` (
  `shop` smallint(6) NOT NULL,
  `num` int(11) NOT NULL,
  `pos` tinyint(3) unsigned NOT NULL,
  PRIMARY KEY (`shop`,`num`,`pos`),
  UNIQUE KEY `once` (`shop`,`num`),
  CONSTRAINT `line_ibfk_1` FOREIGN KEY (`shop`, `num`) REFERENCES `purchase` (`shop`, `number`),
  CONSTRAINT `line_ibfk_2` FOREIGN KEY (`pos`) REFERENCES `other`.`places` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci"""


def test_keys_of_several_columns_are_read() -> None:
    name = TableName("crm", "line")
    columns = [Column("shop", "short"), Column("num", "int"), Column("pos", "short")]

    line = described(name, columns, frozenset(), LINE)

    assert (("shop", "num", "pos"), (("shop", "num"),)) == (line.key, line.unique)
    pairs = (("shop", "shop"), ("num", "number"))
    assert (
        ForeignKey(name, TableName("crm", "purchase"), pairs, unique=True),
        ForeignKey(name, TableName("other", "places"), (("pos", "id"),)),
    ) == line.foreign_keys
