package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.program.PatternProgram;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;

/** What a match is sent as: makes its document and the row of its key. It remembers nothing. */
final class MatchDocument {
  private final PatternProgram program;
  private final DataType[] types;
  private final KeyCodec by;
  private final KeyCodec start;
  private final MatchReads reads;
  private final GroupDocument document;

  /** {@code types} are those of the columns of a row. */
  MatchDocument(
      PatternProgram program, DataType[] types, MatchReads reads, NodeContext context) {
    this.program = program;
    this.types = types;
    this.by = KeyCodec.of(Arrays.copyOf(types, program.by()));
    this.start =
        KeyCodec.of(
            Arrays.stream(program.key()).mapToObj(each -> types[each]).toArray(DataType[]::new));
    this.reads = reads;
    this.document = new GroupDocument(program.assembler(), program.product(), context);
  }

  /** How many expressions failed over the last document. */
  int failures() {
    return document.failures();
  }

  /** The documents of the matches under one address. */
  final class At {
    private final Object[] columns;

    At(Slice key) {
      columns = Arrays.copyOf(by.decode(key), program.by() + 1);
    }

    Slice row(PatternSearch.Occurrence found) {
      columns[program.by()] = new GenericInternalRow(startOf(found.first()));
      return document.row(columns, reads.of(found.last(), found.rows()));
    }

    private Object[] startOf(UnsafeRow row) {
      Object[] values = new Object[program.key().length];
      for (int i = 0; i < values.length; i++) {
        int column = program.key()[i];
        values[i] = row.isNullAt(column) ? null : row.get(column, types[column]);
      }
      return values;
    }

    /** The row of the key of the match that begins with the row of this code. */
    Slice key(Slice code) {
      columns[program.by()] = new GenericInternalRow(start.decode(code));
      return document.key(columns);
    }
  }
}
