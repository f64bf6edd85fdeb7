package dev.joinery.kernel.program;

import java.io.Serializable;

/**
 * The personal columns of a relation.
 *
 * @param subject the column that says whose they are
 * @param columns those that are sealed, all of them texts
 * @param indexes for each of them the column with its blind index, -1 for none
 */
public record SealedProgram(int subject, int[] columns, int[] indexes) implements Serializable {}
