package dev.joinery.kernel.egress;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.message.RawChange;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.render.ByteSink;
import dev.joinery.kernel.render.JsonWriter;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Writes decoded changes as JSON lines: {@code [relation, op, position, major, minor, absent, row]},
 * with {@code true} behind the row of a snapshot.
 *
 * <p>The position is null without one; {@code absent} lists the ordinals of columns that the source
 * left out, or is null; the row is an object of all columns, of a delete only with its key and what
 * it tells beside it.
 */
public final class ChangeLines {
  private static final byte[] SNAPSHOT = ",true".getBytes(StandardCharsets.US_ASCII);

  private final JsonWriter[] rows;
  private final int[] columns;

  public ChangeLines(List<Program.RelationProgram> relations) {
    rows = new JsonWriter[relations.size()];
    columns = new int[relations.size()];
    for (int i = 0; i < rows.length; i++) {
      rows[i] = new JsonWriter(relations.get(i).decoded());
      columns[i] = relations.get(i).columns().size();
    }
  }

  /** Appends the line of a change, with its end. */
  public void write(RawChange change, ByteSink out) {
    StringBuilder head = new StringBuilder(64).append('[').append(change.relation());
    head.append(',').append(change.op()).append(',');
    head.append(change.positioned() ? Long.toString(change.position()) : "null");
    head.append(',').append(change.major()).append(',').append(change.minor()).append(',');
    absent(change, head);
    out.append(head.append(',').toString().getBytes(StandardCharsets.US_ASCII));
    rows[change.relation()].write(BinaryRow.of(change.row(), columns[change.relation()]), out);
    if (change.snapshot()) {
      out.append(SNAPSHOT);
    }
    out.append(']');
    out.append('\n');
  }

  private void absent(RawChange change, StringBuilder head) {
    if (change.absent() == null) {
      head.append("null");
      return;
    }
    head.append('[');
    String comma = "";
    for (int i = 0; i < columns[change.relation()]; i++) {
      if (change.isAbsent(i)) {
        head.append(comma).append(i);
        comma = ",";
      }
    }
    head.append(']');
  }
}
