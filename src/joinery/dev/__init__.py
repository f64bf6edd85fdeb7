"""The local stack: the real servers that a project needs, started from package registries.

Each server is a `Recipe` (how it is laid out, started and asked whether it is ready) in a
module of its own; `Service` runs any of them as a process of this machine.
"""
