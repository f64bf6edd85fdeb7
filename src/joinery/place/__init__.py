"""Where files are kept that a run shares: a folder of a disk, or names in an object store.

Never knows what the files are for.
"""
