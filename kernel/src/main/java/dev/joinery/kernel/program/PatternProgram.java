package dev.joinery.kernel.program;

import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * What is looked for in the rows of a key, in their order.
 *
 * @param relation whose rows they are
 * @param input the assembler, over a row as products see it, of what is kept of it: the columns
 *     that rows are partitioned by, then what {@code time}, {@code key}, {@code tests} and {@code
 *     reads} name; its order is that of the rows, by their time first where {@code byTime}
 * @param by how many columns rows are partitioned by
 * @param time the column with a row's time; -1 where rows have none
 * @param byTime whether rows stand by their times first
 * @param key the columns with the key of a row
 * @param steps what is gone through to find a match, from {@code first} on
 * @param tests what a row must be, by variable
 * @param reads what tests and fields read of a match
 * @param absent the variable that no later row may be; -1 for none
 * @param withinMicros how long after its first row a match may end; -1 for any time
 * @param pastLast whether the search goes on behind the last row of a match, else behind the first
 * @param mostRows how many rows a search looks at, at most; -1 without a bound
 * @param mostTests how many tests of a row a start may need
 * @param assembler the object of a match, over its key, with {@code reads} as inputs
 * @param late what becomes of rows that come late; null where nothing tells their time
 * @param rules what rows see beside their columns; null for nothing
 */
public record PatternProgram(
    String name,
    int level,
    int relation,
    int input,
    int by,
    int time,
    boolean byTime,
    int[] key,
    List<StepProgram> steps,
    int first,
    List<TestProgram> tests,
    List<ReadProgram> reads,
    int absent,
    long withinMicros,
    boolean pastLast,
    int mostRows,
    int mostTests,
    int assembler,
    int product,
    GroupProgram.LateProgram late,
    RulesProgram rules)
    implements Program.NodeProgram {
  /** What a step does. */
  public enum StepKind {
    TAKE,
    PASS,
    TRY,
    MATCHED,
    FAILED
  }

  /**
   * A step: {@code TAKE} takes the next row as {@code variable}, {@code PASS} goes on and where
   * that fails passes over a row, {@code TRY} goes on and where that fails to {@code other}.
   */
  public record StepProgram(StepKind step, int variable, int next, int other)
      implements Serializable {}

  /**
   * What a row must be for a variable: any row where there is neither.
   *
   * @param column which of the row's columns says it; -1 for none
   * @param assembler whose {@code where} says it, over the row with {@code reads} as inputs; -1 for
   *     none
   */
  public record TestProgram(int column, int assembler, int[] reads) implements Serializable {}

  /** What is read of a match. */
  public enum ReadKind {
    FIRST,
    LAST,
    PREV,
    ROWS,
    AGGREGATE
  }

  /**
   * A value over the rows of a match, or of the row before the one under test.
   *
   * @param variable whose rows; -1 for all of the match
   * @param argument the column of a row that is read; -1 where rows are counted
   * @param aggregate of {@code AGGREGATE}; else null
   */
  public record ReadProgram(
      ReadKind read, int variable, int argument, Program.AggregateProgram aggregate)
      implements Serializable {}

  /**
   * What is known of a row beside what comes of it: {@code assembler} makes of that, and of the rows
   * that {@code uses} find, what {@code tests} and {@code reads} name.
   */
  public record RulesProgram(int assembler, List<RuleUse> uses) implements Serializable {}

  /** {@code on} is where the Rule {@code target} keeps what a row sees, over what comes of it. */
  public record RuleUse(int target, Program.Address on) implements Serializable {}

  /** The assembler of what tests and reads name. */
  public int known() {
    return rules == null ? input : rules.assembler();
  }

  /** Whether a test depends on what the match has taken before. */
  public boolean followsMatch() {
    return IntStream.range(0, tests.size()).anyMatch(this::followsMatch);
  }

  /** Whether the test of a variable does. */
  public boolean followsMatch(int variable) {
    return Arrays.stream(tests.get(variable).reads())
        .anyMatch(each -> reads.get(each).read() != ReadKind.PREV);
  }

  /** Whether a test reads the row before. */
  public boolean looksBack() {
    return reads.stream().anyMatch(each -> each.read() == ReadKind.PREV);
  }

  /** Whether rows are forgotten by the watermark of the relation. */
  public boolean isForgetting() {
    return late != null && byTime && withinMicros >= 0;
  }

  /** How far below the watermark the last row is that a match which may still change begins with. */
  public long forgottenAfterMicros() {
    return late.retentionMicros() + late.allowedMicros() + withinMicros;
  }
}
