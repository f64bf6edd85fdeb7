package dev.joinery.kernel.stream;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.format.ChangeSink;
import dev.joinery.kernel.format.Format;
import dev.joinery.kernel.format.Formats;
import dev.joinery.kernel.node.RelationRows;
import dev.joinery.kernel.node.RowCell;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.StreamProgram;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Reads the rows of a table as a store gave them, a JSON object each; remembers the last one. */
public final class StoreRows implements ChangeSink {
  private final Format format;
  private final int relation;
  private final KeyCodec key;
  private final int columns;
  private byte[] row;

  /**
   * @param node a lookup of {@code program}
   * @param relationsJson what {@link Formats#of} reads, with flat rows for the table
   */
  public StoreRows(Program program, int node, String relationsJson) {
    this.relation = ((StreamProgram.CurrentLookupProgram) program.nodes().get(node)).relation();
    this.format = Formats.of(relationsJson)[relation];
    Program.RelationProgram table = program.relations().get(relation);
    this.key = RelationRows.keyOf(table);
    this.columns = table.columns().size();
  }

  /** The code of the key of a row, or of a key alone. */
  public Slice key(String line) {
    read(line);
    return Slice.of(key.encode(BinaryRow.of(Slice.of(row), columns)));
  }

  /** A row as the state that a lookup reads. */
  public byte[] cell(String line) {
    read(line);
    RowCell cell = new RowCell();
    cell.known = true;
    cell.exists = true;
    cell.row = Slice.of(row);
    return cell.toBytes();
  }

  private void read(String line) {
    row = null;
    format.decode(relation, null, line.getBytes(StandardCharsets.UTF_8), this);
  }

  @Override
  public void change(
      int changed,
      int op,
      boolean positioned,
      long position,
      byte[] bytes,
      int length,
      long[] absent) {
    row = Arrays.copyOf(bytes, length);
  }

  @Override
  public void deadLetter(int of, String reason, String detail) {
    throw new IllegalStateException("a row of a store: " + reason + ": " + detail);
  }

  @Override
  public void count(int of, String counter) {}
}
