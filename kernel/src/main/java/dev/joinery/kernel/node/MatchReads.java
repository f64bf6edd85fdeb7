package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.program.PatternProgram;
import dev.joinery.kernel.program.PatternProgram.ReadKind;
import dev.joinery.kernel.program.PatternProgram.ReadProgram;
import dev.joinery.kernel.program.PatternProgram.TestProgram;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;

/**
 * What the conditions and the fields of a pattern read of a match: tests whether a row may be a
 * variable's, and gives the values of a whole match. It remembers nothing between rows: what the
 * rows so far add up to goes with each {@link Taken}, so a search may go back to any of them.
 */
final class MatchReads {
  private static final int FIRST = 0;
  private static final int LAST = 1;
  private static final int COUNT = 2;
  private static final int KINDS = 3;
  private static final int NONE = -1;

  private final PatternProgram program;
  private final Assembler[] tests;
  private final Aggregates[] aggregates;
  private final boolean[] tracked;
  private final boolean follows;

  /** By variable, what of its test depends on its row; null where all does, or nothing. */
  private final RowTest[] rowTests;

  private final DataType[] types;
  private int failures;

  /** What is known of the rows that a match has taken so far. */
  static final class Known {
    /** By variable, and last of all rows: the first, the last, how many. */
    private final int[] places;

    /** By read, what its aggregate is so far; null for none. */
    private final byte[][] sums;

    private Known(int[] places, byte[][] sums) {
      this.places = places;
      this.sums = sums;
    }
  }

  MatchReads(int node, PatternProgram program, NodeContext context) {
    List<ReadProgram> reads = program.reads();
    this.program = program;
    this.follows = program.followsMatch();
    this.tests =
        program.tests().stream()
            .map(each -> each.assembler() < 0 ? null : context.assembler(each.assembler()))
            .toArray(Assembler[]::new);
    this.rowTests = new RowTest[tests.length];
    for (int i = 0; i < tests.length; i++) {
      if (program.followsMatch(i)) {
        TestProgram test = program.tests().get(i);
        rowTests[i] =
            RowTest.of(
                context.compiledAssembler(test.assembler()),
                input -> reads.get(test.reads()[input]).read() != ReadKind.PREV);
      }
    }
    this.aggregates = new Aggregates[reads.size()];
    this.tracked = new boolean[reads.size()];
    for (int i = 0; i < aggregates.length; i++) {
      if (reads.get(i).read() == ReadKind.AGGREGATE) {
        aggregates[i] = context.aggregates(node, i);
      }
    }
    for (TestProgram test : program.tests()) {
      for (int read : test.reads()) {
        tracked[read] = aggregates[read] != null;
      }
    }
    this.types =
        Arrays.stream(context.program().assemblers().get(program.known()).type().fields())
            .map(StructField::dataType)
            .toArray(DataType[]::new);
  }

  /** How many expressions have failed over rows that were never tested before, since asked last. */
  int takeFailures() {
    int found = failures;
    failures = 0;
    return found;
  }

  /** The rows of a match with one more. */
  Taken taken(int variable, int at, Taken before, KeyRows rows) {
    Known known = follows ? known(variable, at, before, rows, tracked) : null;
    return new Taken(variable, at, before, known);
  }

  private Known known(int variable, int at, Taken before, KeyRows rows, boolean[] kept) {
    int variables = program.tests().size();
    Known old = before == null ? null : before.known;
    int[] places;
    byte[][] sums;
    if (old == null) {
      places = new int[KINDS * (variables + 1)];
      Arrays.fill(places, NONE);
      for (int i = COUNT; i < places.length; i += KINDS) {
        places[i] = 0;
      }
      sums = new byte[aggregates.length][];
    } else {
      places = old.places.clone();
      sums = old.sums;
    }
    note(places, variable, at);
    note(places, variables, at);
    boolean copied = false;
    for (int i = 0; i < aggregates.length; i++) {
      if (kept[i] && isOf(program.reads().get(i), variable)) {
        sums = copied ? sums : sums.clone();
        copied = true;
        sums[i] = added(i, sums[i], at, rows);
      }
    }
    return new Known(places, sums);
  }

  private static boolean isOf(ReadProgram read, int variable) {
    return read.variable() < 0 || read.variable() == variable;
  }

  private static void note(int[] places, int variable, int at) {
    int base = KINDS * variable;
    places[base + FIRST] = places[base + FIRST] == NONE ? at : places[base + FIRST];
    places[base + LAST] = at;
    places[base + COUNT]++;
  }

  private byte[] added(int read, byte[] before, int at, KeyRows rows) {
    Aggregates sum = aggregates[read];
    open(sum, before);
    sum.add(rows.row(at));
    ByteWriter out = new ByteWriter(32);
    sum.write(out);
    return out.toBytes();
  }

  private static void open(Aggregates sum, byte[] stored) {
    sum.clear();
    if (stored != null) {
      sum.read(new ByteReader(stored));
    }
  }

  /** Whether the last row taken may be its variable's. */
  boolean isTrue(Taken taken, KeyRows rows) {
    TestProgram test = program.tests().get(taken.variable);
    if (test.column() >= 0) {
      return !rows.row(taken.at).isNullAt(test.column())
          && rows.row(taken.at).getBoolean(test.column());
    }
    if (test.assembler() < 0) {
      return true;
    }
    int[] reads = test.reads();
    Object[] values = new Object[reads.length];
    for (int i = 0; i < reads.length; i++) {
      values[i] = value(reads[i], taken, taken.known, rows);
    }
    Assembler assembler = tests[taken.variable];
    boolean found = assembler.assemble(Slice.EMPTY, rows.row(taken.at), values);
    if (assembler.failures() > 0 && rows.isFresh(taken.at)) {
      failures += assembler.failures();
    }
    return found;
  }

  /** Whether a row may be a variable's, after some rows or other. */
  boolean mayBe(int variable, int at, KeyRows rows) {
    Taken alone = new Taken(variable, at, null, null);
    if (!program.followsMatch(variable)) {
      return isTrue(alone, rows);
    }
    RowTest test = rowTests[variable];
    return test == null || test.mayBeTrue(rows.row(at), before(variable, alone, rows));
  }

  /** What the test of a variable reads of the row before; null in place of all else. */
  private Object[] before(int variable, Taken alone, KeyRows rows) {
    int[] reads = program.tests().get(variable).reads();
    Object[] values = new Object[reads.length];
    for (int i = 0; i < reads.length; i++) {
      boolean previous = program.reads().get(reads[i]).read() == ReadKind.PREV;
      values[i] = previous ? value(reads[i], alone, null, rows) : null;
    }
    return values;
  }

  private Object value(int read, Taken taken, Known known, KeyRows rows) {
    ReadProgram program = this.program.reads().get(read);
    if (program.read() == ReadKind.PREV) {
      return taken.at > 0 ? column(program.argument(), taken.at - 1, rows) : null;
    }
    int variable =
        program.variable() < 0 ? this.program.tests().size() : program.variable();
    return switch (program.read()) {
      case FIRST -> column(program.argument(), known.places[KINDS * variable + FIRST], rows);
      case LAST -> column(program.argument(), known.places[KINDS * variable + LAST], rows);
      case ROWS -> (long) known.places[KINDS * variable + COUNT];
      case AGGREGATE -> result(read, known.sums[read]);
      case PREV -> throw new IllegalStateException("what is read of the row before");
    };
  }

  private Object column(int column, int at, KeyRows rows) {
    return at == NONE || rows.row(at).isNullAt(column)
        ? null
        : rows.row(at).get(column, types[column]);
  }

  private Object result(int read, byte[] stored) {
    open(aggregates[read], stored);
    return result(read);
  }

  private Object result(int read) {
    Slice found = aggregates[read].result();
    DataType type = program.reads().get(read).aggregate().type();
    failures += aggregates[read].overflows();
    return BinaryRow.of(found, 1).isNullAt(0) ? null : BinaryRow.of(found, 1).get(0, type);
  }

  /** All that is read of a match, but for the row before. */
  Object[] of(Taken last, KeyRows rows) {
    List<Taken> all = last.all();
    Taken whole = null;
    boolean[] none = new boolean[aggregates.length];
    for (Taken each : all) {
      Known known = known(each.variable, each.at, whole, rows, none);
      whole = new Taken(each.variable, each.at, whole, known);
    }
    Object[] values = new Object[aggregates.length];
    for (int i = 0; i < values.length; i++) {
      ReadProgram read = program.reads().get(i);
      if (aggregates[i] != null) {
        aggregates[i].clear();
        for (Taken each : all) {
          if (isOf(read, each.variable)) {
            aggregates[i].add(rows.row(each.at));
          }
        }
        values[i] = result(i);
      } else if (read.read() != ReadKind.PREV) {
        values[i] = value(i, whole, whole.known, rows);
      }
    }
    return values;
  }
}
