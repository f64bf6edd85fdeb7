"""Rewrites of the logical plan, one rule a module."""
