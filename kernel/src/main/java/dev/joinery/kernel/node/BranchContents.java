package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.Slice;

/**
 * What a new parent must hear of one branch: all that is kept, read while it is sent.
 *
 * @param aggregates empty where there are none, or nothing to aggregate
 */
record BranchContents(
    int branch, long total, Slice aggregates, Iterable<TopRows.Item> items) {}
