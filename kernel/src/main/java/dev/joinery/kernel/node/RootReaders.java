package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Child;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.program.DocumentProgram;
import dev.joinery.kernel.program.Program;
import java.util.List;
import java.util.Objects;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * What the documents of a Root are for as rows of a relation: as the Root knows the document before
 * and after a batch, no Retract has to remember it once more.
 */
final class RootReaders {
  private final UnsafeProjection columns;
  private final UnsafeRow key;
  private final UnsafeRow value;
  private final RelationRows rows;
  private final List<RowUse> uses;

  RootReaders(DocumentProgram.RootProgram program, NodeContext context) {
    Program.ProductRead read =
        context.program().reads().stream()
            .filter(each -> each.relation() == program.read())
            .findFirst()
            .orElseThrow();
    Program.ProductProgram types = context.program().products().get(program.product());
    columns = Readers.columnsOf(context.program(), read);
    key = new UnsafeRow(types.key().length());
    value = new UnsafeRow(types.value().length());
    rows = context.rows(read.relation());
    uses = program.uses().stream().map(each -> use(each, read.relation(), context)).toList();
  }

  private static RowUse use(Program.Use use, int relation, NodeContext context) {
    return use instanceof Program.GroupUse group
        ? RowUse.groupUse(RowWay.to(group.target(), context))
        : RowUse.of(use, relation, context);
  }

  /** Sends what became of a document, null where there is none; epochs rise with each. */
  void tell(Child before, Child after, long epoch, long timestamp, Outbox outbox) {
    Slice old = row(before);
    Slice now = row(after);
    if (!Objects.equals(old, now)) {
      byte[] address = rows.keyOf(now == null ? old : now);
      RowUse.Change change = new RowUse.Change(address, old, now, epoch, timestamp);
      uses.forEach(each -> each.send(change, outbox));
    }
  }

  private Slice row(Child document) {
    if (document == null) {
      return null;
    }
    UnsafeRow keyRow = BinaryRow.point(key, document.order());
    return BinaryRow.copy(
        columns.apply(new JoinedRow(keyRow, BinaryRow.point(value, document.row()))));
  }
}
