package dev.joinery.kernel.program;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** The nodes that documents are joined and put together by, and the branches they fill. */
public interface DocumentProgram {
  /** Where an assembled row goes: a node, its address, and a Fold's branch or a Match's arm. */
  public record Upward(int target, int branch, Program.Address address) implements Serializable {}

  /**
   * {@code childRelation} and {@code parentRelation} are at least 0 where raw changes arrive here.
   * Exactly one of {@code fold} (with {@code branch}) and {@code merged} is set.
   */
  public record ToOneProgram(
      String name,
      int level,
      int childRelation,
      int childAssembler,
      StructType childType,
      int parentRelation,
      int fold,
      int branch,
      Merge merge)
      implements Program.NodeProgram {}

  public record Merge(int assembler, int relation, Upward upward) implements Serializable {}

  /** The embeds of one fold that hang on the same columns of its row are arms of one Match. */
  public record MatchProgram(String name, int level, List<ArmProgram> arms, int fold)
      implements Program.NodeProgram {}

  /**
   * The children of one join value, told to all that rows of another relation lead here.
   *
   * @param target the Gather, or the Fold that gathers them itself, in the branch of {@code arm}
   * @param hotAbove more rows than this that lead here make the value hot; 0 for never
   */
  public record FanOutProgram(String name, int level, ArmProgram arm, int target, int hotAbove)
      implements Program.NodeProgram {}

  /**
   * The children of several join values in one order.
   *
   * @param limit how many a parent is told; 0 for all
   * @param valueTypes those of a join value of children
   * @param hot the type of a list of values; null where none is hot ever
   * @param branch that of the fold which the node answers for
   */
  public record GatherProgram(
      String name,
      int level,
      int limit,
      boolean entries,
      boolean total,
      DataType[] valueTypes,
      DataType hot,
      int fold,
      int branch)
      implements Program.NodeProgram {}

  /** {@code entries} is false where only totals and aggregates are used. */
  public record ArmProgram(
      String name,
      StructType childType,
      int limit,
      boolean one,
      boolean entries,
      boolean total,
      List<Program.AggregateProgram> aggregates,
      int branch)
      implements Serializable {}

  /**
   * An embed of a fold whose rows must be near its own in time: those in [t + from, t + to] of a row
   * of time t.
   */
  public record IntervalProgram(
      String name,
      int level,
      int fold,
      int branch,
      long fromMicros,
      long toMicros,
      KeptProgram kept)
      implements Program.NodeProgram {}

  /**
   * {@code product} is at least 0 at a root; else {@code upward} says where the row goes; {@code
   * kept} is null where rows are kept until they are deleted.
   */
  public record FoldProgram(
      String name,
      int level,
      int relation,
      boolean raw,
      List<BranchProgram> branches,
      int assembler,
      int product,
      Upward upward,
      KeptProgram kept)
      implements Program.NodeProgram {}

  /**
   * The root of a product whose rows a ToOne assembles.
   *
   * @param read what its documents are as rows of a relation, which it sends to {@code uses} itself;
   *     null where none does, or a node of its own keeps these rows
   * @param wasRead true where nobody reads it any more, and state holds what they knew; null for not
   */
  public record RootProgram(
      String name,
      int level,
      int relation,
      int product,
      Integer read,
      List<Program.Use> uses,
      Boolean wasRead)
      implements Program.NodeProgram {}

  public enum Shape {
    ONE,
    LIST,
    MAP,
    NONE
  }

  /**
   * What a Fold keeps of one embed. Inputs of the assembler in order: the value (unless NONE), the
   * total (where {@code total}), the aggregates.
   *
   * @param fused children come straight from their rows, without a Match between
   * @param keyTypes the child's key columns, for a MAP
   * @param failAbove more rows than this fail the document; 0 for never
   * @param hot the type of the list of those that are left out, the last input; null for none
   * @param within which children a row has by their times; null for all
   * @param valid where a Valid tells them, all that a row has; null elsewhere
   */
  public record BranchProgram(
      String name,
      Shape shape,
      StructType type,
      boolean fused,
      DataType[] keyTypes,
      boolean total,
      int failAbove,
      List<Program.AggregateProgram> aggregates,
      DataType hot,
      Within within,
      Valid valid,
      Gathers gathers)
      implements Serializable {
    /** Whether children come one by one: their total and their aggregates are worked out here. */
    public boolean isCounting() {
      return within != null || valid != null;
    }
  }

  /**
   * Children in [t + from, t + to] of a row of time t; in front of their order they have their own.
   *
   * @param time of the row, over its columns as products see it
   * @param limit how many of them are kept; 0 for all
   */
  public record Within(long fromMicros, long toMicros, int time, int limit)
      implements Serializable {}

  /**
   * Children of several join values, of which each FanOut that the row is led to tells.
   *
   * @param limit how many of them are shown
   * @param valueTypes those of a join value
   */
  public record Gathers(int limit, DataType[] valueTypes) implements Serializable {}

  /** Children that were valid at a time of the row; {@code limit} of them are kept, 0 for all. */
  public record Valid(int limit) implements Serializable {}
}
