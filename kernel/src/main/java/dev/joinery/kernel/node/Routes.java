package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Change;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.program.Buckets;
import dev.joinery.kernel.program.EventFoldProgram;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.SealedProgram;
import dev.joinery.kernel.program.StreamProgram;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/** Sends the changes of one relation, each to every first node of it, by the row's own columns. */
public final class Routes {
  private record Target(int node, int role, KeyCodec address, Buckets buckets) {
    byte[] keyOf(UnsafeRow row) {
      return buckets.of(address.encode(row));
    }
  }

  private final int relation;
  private final UnsafeRow decoded;
  private final List<Target> targets = new ArrayList<>();
  private final int[] sealedColumns;
  private final KeyCodec key;
  private Target subjects;

  public Routes(Program program, int relation) {
    this.relation = relation;
    List<Program.Slot> columns = program.relations().get(relation).columns();
    this.decoded = new UnsafeRow(columns.size());
    SealedProgram sealed = program.relations().get(relation).sealed();
    sealedColumns = sealed == null ? new int[0] : sealed.columns();
    key = RelationRows.keyOf(program.relations().get(relation));
    for (Program.Route route : program.routes()) {
      Program.NodeProgram node = program.nodes().get(route.node());
      if (route.relation() != relation
          || node instanceof StreamProgram.AsOfProgram
          || RowWay.leadsTo(node)
          || node instanceof EventFoldProgram) {
        // A log's time goes with its changes: see LogClock. Rows of groups and patterns go their
        // own way: RowWay. Events go to what they are about: EventGate.
        continue;
      }
      KeyCodec codec = route.address().codec(columns);
      Buckets buckets = program.buckets().get(route.node());
      Target target = new Target(route.node(), route.role(), codec, buckets);
      if (node instanceof Program.SubjectsProgram) {
        subjects = target;
      } else {
        targets.add(target);
      }
    }
  }

  public void send(Change change, Slice row, long timestamp, Outbox outbox) {
    UnsafeRow columns = BinaryRow.point(decoded, row);
    if (subjects != null && change.op() == Message.OP_ERASE) {
      byte[] erasure = Message.raw(timestamp, relation, subjects.role(), change, row);
      outbox.send(subjects.node(), subjects.keyOf(columns), erasure);
      return;
    }
    if (subjects != null && change.op() == Message.OP_UPSERT && isSealed(columns)) {
      byte[] told = Message.subject(timestamp, key.encode(columns));
      outbox.send(subjects.node(), subjects.keyOf(columns), told);
    }
    byte[] message = null;
    int role = -1;
    for (Target target : targets) {
      if (message == null || target.role() != role) {
        role = target.role();
        message = Message.raw(timestamp, relation, role, change, row);
      }
      outbox.send(target.node(), target.keyOf(columns), message);
    }
  }

  /** Whether anything in a row is sealed; then it has a subject. */
  private boolean isSealed(UnsafeRow columns) {
    for (int column : sealedColumns) {
      if (!columns.isNullAt(column)) {
        return true;
      }
    }
    return false;
  }
}
