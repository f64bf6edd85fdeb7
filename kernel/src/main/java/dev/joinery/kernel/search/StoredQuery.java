package dev.joinery.kernel.search;

import dev.joinery.kernel.bytes.Slice;

/**
 * A row of the queries, read.
 *
 * @param key the code of its key
 * @param row what a match shows of it, a binary row
 * @param on the code of the values that a document must have, too; null where it can match nothing
 * @param condition null where there is none, or where it is broken
 * @param broken why it cannot be read; null where it can, or where there is none
 */
public record StoredQuery(Slice key, Slice row, Slice on, Condition condition, String broken) {
  boolean canMatch() {
    return on != null && condition != null;
  }
}
