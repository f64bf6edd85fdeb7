package dev.joinery.kernel.stream;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.format.Formats;
import dev.joinery.kernel.format.RowReader;
import dev.joinery.kernel.node.RelationRows;
import dev.joinery.kernel.node.RowCell;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.StreamProgram;

/** Reads the rows of a table as a store gave them, a JSON object each. */
public final class StoreRows {
  private final RowReader rows;
  private final KeyCodec key;
  private final int columns;

  /**
   * @param node a lookup of {@code program}
   * @param relationsJson what {@link Formats#of} reads, with flat rows for the table
   */
  public StoreRows(Program program, int node, String relationsJson) {
    int relation = ((StreamProgram.CurrentLookupProgram) program.nodes().get(node)).relation();
    this.rows = new RowReader(Formats.of(relationsJson)[relation], relation);
    Program.RelationProgram table = program.relations().get(relation);
    this.key = RelationRows.keyOf(table);
    this.columns = table.columns().size();
  }

  /** The code of the key of a row, or of a key alone. */
  public Slice key(String line) {
    return Slice.of(key.encode(BinaryRow.of(Slice.of(rows.row(line)), columns)));
  }

  /** A row as the state that a lookup reads. */
  public byte[] cell(String line) {
    RowCell cell = new RowCell();
    cell.known = true;
    cell.exists = true;
    cell.row = Slice.of(rows.row(line));
    return cell.toBytes();
  }
}
