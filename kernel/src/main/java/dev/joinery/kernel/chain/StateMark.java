package dev.joinery.kernel.chain;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.state.PatchedValues;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Says which program's state this is; stands in each partition of each level, where no address is.
 *
 * <p>What state means depends on all of the program, and a query of a user's own takes any
 * checkpoint that it is given. Binary rows of another shape would be read beyond their ends.
 *
 * @param program the format of the state and a hash of the program, as text
 * @param earlier the same of formats that are read as well; what has one of these is marked again
 */
public record StateMark(String program, List<String> earlier) implements Serializable {
  /** Of the output, which has no state, and of no page. */
  private static final byte[] PLACE = {0, 0, 0, 0, Address.OUTPUT};

  /** Of a list that begins with what is written. */
  public static StateMark of(List<String> marks) {
    return new StateMark(marks.get(0), List.copyOf(marks.subList(1, marks.size())));
  }

  /** Marks a partition without a mark, or with an earlier one; refuses another program's. */
  void check(PatchedValues values) {
    byte[] stored = values.get(PLACE);
    String other = stored == null ? null : new String(stored, StandardCharsets.UTF_8);
    if (other == null || earlier.contains(other)) {
      values.put(PLACE, program.getBytes(StandardCharsets.UTF_8));
    } else if (!other.equals(program)) {
      throw new IllegalStateException(
          "STATE_MISMATCH the checkpoint holds state that another plan wrote: it has "
              + other
              + ", this query has "
              + program
              + ". Nothing was changed; give the query a checkpoint of its own, or the plan it had");
    }
  }
}
