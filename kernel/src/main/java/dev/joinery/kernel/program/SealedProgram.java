package dev.joinery.kernel.program;

import java.io.Serializable;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StringType;

/**
 * The personal columns of a relation.
 *
 * @param subject the column that says whose they are; any number where none is sealed
 * @param columns those that are sealed, after which they are texts
 * @param indexes for each of them the column with its blind index, -1 for none
 * @param types for each of them what it is decoded as; null where all are texts
 * @param knownBy for each of them the column with the blind index that stands in place of it in the
 *     key or as the subject, -1 for none; null where none has one
 * @param derived gives the decoded columns with those that are derived from personal ones, all of
 *     them in clear; null where none is
 * @param derivedFrom for each of them the columns that it is derived from, none for what a record
 *     tells itself; null where none is derived
 */
public record SealedProgram(
    int subject,
    int[] columns,
    int[] indexes,
    DataType[] types,
    int[] knownBy,
    Program.AssemblerProgram derived,
    int[][] derivedFrom)
    implements Serializable {
  private static final int[] NONE = {};

  /** The columns that a sealed one is derived from; none for what a record tells itself. */
  public int[] derivedFrom(int each) {
    return derivedFrom == null ? NONE : derivedFrom[each];
  }

  /** The column with the blind index by which rows or subjects are known; -1 for none. */
  public int knownBy(int each) {
    return knownBy == null ? -1 : knownBy[each];
  }

  /** What a sealed column is decoded as. */
  public DataType typeOf(int each) {
    return types == null ? DataTypes.StringType : types[each];
  }

  /** Whether a sealed column is a text when it is decoded. */
  public boolean isText(int each) {
    return typeOf(each) instanceof StringType;
  }

  /** Whether nothing that is personal is asked for. */
  public boolean isEmpty() {
    return columns.length == 0;
  }
}
