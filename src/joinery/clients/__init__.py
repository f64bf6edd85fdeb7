"""Connections to servers, shared by sinks, lookups and solutions: one server a module."""
