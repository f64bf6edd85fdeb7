package dev.joinery.kernel.chain;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.state.PatchedValues;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;

/**
 * Says which program's state this is; stands in each partition of each level, where no address is.
 *
 * <p>What state means depends on all of the program, and a query of a user's own takes any
 * checkpoint that it is given. Binary rows of another shape would be read beyond their ends.
 *
 * @param program the format of the state and a hash of the program, as text
 */
public record StateMark(String program) implements Serializable {
  /** Of the output, which has no state, and of no page. */
  private static final byte[] PLACE = {0, 0, 0, 0, Address.OUTPUT};

  /** Marks a partition that has no mark yet; refuses one that another program marked. */
  void check(PatchedValues values) {
    byte[] stored = values.get(PLACE);
    if (stored == null) {
      values.put(PLACE, program.getBytes(StandardCharsets.UTF_8));
      return;
    }
    String other = new String(stored, StandardCharsets.UTF_8);
    if (!other.equals(program)) {
      throw new IllegalStateException(
          "STATE_MISMATCH the checkpoint holds state that another plan wrote: it has "
              + other
              + ", this query has "
              + program
              + ". Nothing was changed; give the query a checkpoint of its own, or the plan it had");
    }
  }
}
