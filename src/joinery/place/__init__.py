"""Where files are kept that a run shares: a folder of a disk, an object store, or HDFS.

Never knows what the files are for.
"""
