package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.program.Program;
import java.util.List;

/**
 * Remembers nothing; sends the rows of an append relation to what they are for, from where they are
 * decoded.
 *
 * <p>A row that comes again, in this batch or a later one, is told again as it was.
 */
public final class Inserting {
  private final int relation;
  private final RelationRows rows;
  private final List<RowUse> uses;

  public Inserting(Program.InsertsProgram program, NodeContext context) {
    relation = program.relation();
    rows = context.rows(relation);
    uses = program.uses().stream().map(each -> RowUse.of(each, relation, context)).toList();
  }

  public int relation() {
    return relation;
  }

  /**
   * Sends a row.
   *
   * @param row as decoded, which has the key
   * @param seen as products see it
   */
  public void send(Slice row, Slice seen, long timestamp, Outbox outbox) {
    RowUse.Change change = new RowUse.Change(rows.keyOf(row), null, seen, timestamp, timestamp);
    uses.forEach(each -> each.send(change, outbox));
  }
}
