package dev.joinery.kernel.chain;

import dev.joinery.kernel.message.Message;
import java.util.List;

/**
 * A change of a table under test.
 *
 * @param row the whole row; for a delete or a tombstone its key
 * @param position the source's; below 0 for none
 * @param place in the log
 */
record LogChange(Table table, int op, List<Object> row, long position, long place) {
  List<Object> key() {
    return table.keyOf(row);
  }

  boolean isUpsert() {
    return op == Message.OP_UPSERT;
  }
}
