package dev.joinery.kernel.program;

/**
 * Rows that give parameters to the conditions of a pattern.
 *
 * @param target the Pattern
 * @param place which of its rules they are
 * @param relation that of the pattern's rows
 * @param keptMicros how far below the relation's watermark the last row of a key is that sees a row
 *     when the key is forgotten; -1 for never
 */
public record RuleProgram(
    String name, int level, int target, int place, int relation, long keptMicros)
    implements Program.NodeProgram {
  /** Whether keys are forgotten by the watermark of the relation. */
  public boolean isForgetting() {
    return keptMicros >= 0;
  }
}
