"""The databases whose logs can be captured: a closed set, all asked by the same names."""

from __future__ import annotations

from joinery.capture.mysql import MysqlDatabase
from joinery.capture.postgres import PostgresDatabase

LogDatabase = PostgresDatabase | MysqlDatabase
