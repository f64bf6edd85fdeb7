package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Change;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.RawChange;
import dev.joinery.kernel.program.Program;
import java.util.List;

/**
 * Remembers nothing; sends the rows of an append relation to what they are for, from where they are
 * decoded.
 *
 * <p>A row that comes again, in this batch or a later one, is told again as it was. Where rows are
 * compared in time, one that is late or comes too late is judged here, and left out: whoever has
 * forgotten a row hears nothing of it any more.
 */
public final class Inserting {
  /** What is known of a row of a log before it comes. */
  private final RowCell nothing = RowCell.read(null);

  private final int relation;
  private final RelationRows rows;
  private final List<RowUse> uses;
  private final Arrivals arrivals;

  public Inserting(Program.InsertsProgram program, NodeContext context) {
    relation = program.relation();
    rows = context.rows(relation);
    uses = program.uses().stream().map(each -> RowUse.of(each, relation, context)).toList();
    arrivals =
        program.judged() == null
            ? null
            : new Arrivals(rows, program.judged(), program.kept(), relation, context);
  }

  public int relation() {
    return relation;
  }

  /**
   * Sends a row, unless it came too late.
   *
   * @param row as decoded, which has the key
   * @param seen as products see it, null where they do not
   */
  public void send(Change told, Slice row, Slice seen, long timestamp, Outbox outbox) {
    if (!counts(told, row, timestamp, outbox) || seen == null) {
      return;
    }
    RowUse.Change change = new RowUse.Change(rows.keyOf(row), null, seen, timestamp, timestamp);
    uses.forEach(each -> each.send(change, outbox));
  }

  private boolean counts(Change told, Slice row, long timestamp, Outbox outbox) {
    if (arrivals == null) {
      return true;
    }
    arrivals.begin(timestamp, outbox);
    RawChange change = RawChange.of(relation, Message.ROLE_PRIMARY, told, row);
    return arrivals.takes(change, row, nothing);
  }
}
