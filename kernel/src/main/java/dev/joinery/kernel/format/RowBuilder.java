package dev.joinery.kernel.format;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.types.DataType;

/**
 * Builds the UnsafeRow of one relation from scanned values; remembers which columns were absent.
 *
 * <p>The same values give the same bytes as Spark's own projections.
 */
final class RowBuilder {
  /** What Debezium writes in place of a value that the source did not send. */
  static final String UNAVAILABLE = "__debezium_unavailable_value";

  final List<String> columns;
  final DataType[] types;
  final int[] key;

  /** What a timestamp's number counts where no schema says so. */
  final Temporals.Unit unit;

  /** The absent columns of the last row, and whether there are any. */
  final long[] absent;

  boolean anyAbsent;

  /** Which columns the rows had. */
  final ColumnsSeen seen;

  /** When the log took the record; the least number where that is not known. */
  long logged = Long.MIN_VALUE;

  /** How many placeholders of unavailable values became null in the last row. */
  int unavailable;

  private final Target[] targets;
  private final boolean[] inKey;
  private final boolean[] told;
  private final int logTime;
  private final UnsafeRowWriter writer;

  RowBuilder(RelationSpec spec) {
    columns = spec.columns();
    unit = spec.unit();
    types = spec.types().toArray(DataType[]::new);
    targets =
        Arrays.stream(types).map(each -> Targets.of(each, null, unit)).toArray(Target[]::new);
    key = spec.key().stream().mapToInt(columns::indexOf).toArray();
    inKey = new boolean[types.length];
    Arrays.stream(key).forEach(each -> inKey[each] = true);
    told = new boolean[types.length];
    spec.told().forEach(each -> told[columns.indexOf(each)] = true);
    absent = new long[(types.length + 63) / 64];
    logTime = spec.logged() == null ? -1 : columns.indexOf(spec.logged());
    seen = new ColumnsSeen(columns, logTime);
    writer = new UnsafeRowWriter(types.length, 256);
  }

  /** Returns the columns' names, and others behind them. */
  List<String> namesAnd(List<String> extra) {
    return Stream.concat(columns.stream(), extra.stream()).toList();
  }

  byte[] bytes() {
    return writer.getBuffer();
  }

  int length() {
    return writer.totalSize();
  }

  long[] absentOrNull() {
    return anyAbsent ? absent : null;
  }

  /** Whether the key's columns stand there, none of them null. */
  boolean hasKey(Image image) {
    for (int column : key) {
      if (!image.present(column) || image.unavailable(column)) {
        return false;
      }
    }
    return true;
  }

  /** Builds a row of the key alone. */
  void writeKey(Image image) {
    writeKey(image, null);
  }

  /** The same, with what a row that went tells beside its key, such as when; null for nothing. */
  void writeKey(Image image, Image beside) {
    start();
    for (int i = 0; i < types.length; i++) {
      if (inKey[i]) {
        write(image, i);
      } else if (told[i] && i == logTime) {
        writeLogged(true);
      } else if (told[i] && beside != null && beside.present(i) && !beside.unavailable(i)) {
        write(beside, i);
      } else {
        targets[i].writeNull(writer, i);
      }
    }
  }

  /**
   * Builds a whole row.
   *
   * @param fallback has the key columns that {@code image} leaves out; null where it has them all
   * @param whole true where the image is all there is: what is missing is null, not absent
   */
  void writeRow(Image image, Image fallback, boolean whole) {
    start();
    seen.add(image);
    for (int i = 0; i < types.length; i++) {
      if (i == logTime) {
        writeLogged(whole);
      } else if (!image.absent(i)) {
        if (image.unavailable(i)) {
          writeUnavailable(i, whole);
        } else {
          write(image, i);
        }
      } else if (inKey[i]) {
        write(fallback, i);
      } else {
        targets[i].writeNull(writer, i);
        if (!whole) {
          markAbsent(i);
        }
      }
    }
  }

  /** The column of the log's own time: what a record says of itself under its name is not it. */
  private void writeLogged(boolean whole) {
    if (logged != Long.MIN_VALUE) {
      writer.write(logTime, logged);
      return;
    }
    targets[logTime].writeNull(writer, logTime);
    if (!whole) {
      markAbsent(logTime);
    }
  }

  private void writeUnavailable(int column, boolean whole) {
    targets[column].writeNull(writer, column);
    if (whole) {
      unavailable++;
    } else {
      markAbsent(column);
    }
  }

  private void start() {
    writer.reset();
    writer.zeroOutNullBytes();
    unavailable = 0;
    if (anyAbsent) {
      Arrays.fill(absent, 0);
      anyAbsent = false;
    }
  }

  private void markAbsent(int column) {
    absent[column >> 6] |= 1L << column;
    anyAbsent = true;
  }

  private void write(Image image, int column) {
    Spans spans = image.spans;
    int from = spans.from[column];
    int to = spans.to[column];
    try {
      image.readers[column].read(from, to, spans.escaped[column], writer, column);
    } catch (Rejected rejected) {
      throw rejected.in(columns.get(column));
    }
  }
}
