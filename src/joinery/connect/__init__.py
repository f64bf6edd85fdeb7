"""The edges: sources, formats and sinks, one vendor or format a module."""
