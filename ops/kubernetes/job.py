"""Runs the project that is mounted at /project until it is stopped, as the driver of a pod."""

from __future__ import annotations

import signal

from pyspark.sql import SparkSession

import joinery as jn

run = jn.run(SparkSession.builder.getOrCreate(), jn.load("/project/joinery.yaml"))
signal.signal(signal.SIGTERM, lambda number, frame: run.request_stop())
run.await_termination()
