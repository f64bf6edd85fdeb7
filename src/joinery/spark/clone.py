"""A clone of the user's session, with the settings that the kernel needs.

Invariant: the user's session, its settings and what is active stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession
from pyspark.sql.session import _monkey_patch_RDD

_PARTITIONS = "spark.sql.shuffle.partitions"


def clone_session(spark: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    """Return a clone of `spark` with `settings`, those apart that only a new session can have."""
    jvm_clone = spark._jsparkSession.cloneSession()
    chosen = dict(settings)
    if not jvm_clone.sessionState().conf().contains(_PARTITIONS):
        chosen.setdefault(_PARTITIONS, str(spark.sparkContext.defaultParallelism))
    for name, value in chosen.items():
        if name.startswith("spark.sql.") and jvm_clone.conf().isModifiable(name):
            jvm_clone.conf().set(name, value)
    clone = SparkSession(spark.sparkContext, jvm_clone)
    # A new session of Python takes RDD.toDF for itself; it stays with the user's.
    _monkey_patch_RDD(spark)
    return clone
