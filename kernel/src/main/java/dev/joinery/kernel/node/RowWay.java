package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.program.GroupProgram;
import dev.joinery.kernel.program.PatternProgram;
import dev.joinery.kernel.program.Program;

/** The way of a relation's rows to a node that takes them by their own columns and their times. */
public interface RowWay {
  /** Whether rows find their own way to a node. */
  static boolean leadsTo(Program.NodeProgram node) {
    return node instanceof GroupProgram || node instanceof PatternProgram;
  }

  /** The way to a node. */
  static RowWay to(int node, NodeContext context) {
    return context.program().nodes().get(node) instanceof PatternProgram
        ? new Sequencing(node, context)
        : new Grouping(node, context);
  }

  int relation();

  String product();

  /** Whether the place of a row in its log tells anything. */
  boolean needsPlace();

  /** What becomes of rows that come late; null where nothing tells their time. */
  GroupProgram.LateProgram late();

  /** Which rows come late; null where nothing tells their time. */
  Lateness lateness();

  /**
   * Takes a row before and after a change, null where there is none; it is sent by {@link #sendTo}.
   * Returns whether it is too late: all that it touches is forgotten.
   *
   * @param place of the row in its log, where {@link #needsPlace}
   * @param watermark by which it is forgotten; {@link Marks#UNKNOWN} where it is not known
   */
  boolean take(
      Slice before, Slice after, Slice place, long watermark, long timestamp, Outbox outbox);

  /** Sends what was taken and not sent yet. */
  void sendTo(long timestamp, Outbox outbox);
}
