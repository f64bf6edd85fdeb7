"""How the Java servers of the stack are kept small, and what their log lines look like."""

from __future__ import annotations

SMALL = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
LOGGING = (
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSX",
)
