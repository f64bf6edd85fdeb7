package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.FannedMessage;
import dev.joinery.kernel.program.DocumentProgram;
import dev.joinery.kernel.state.Pages;
import dev.joinery.kernel.state.PagesOfOne;
import java.util.List;

/**
 * The children that a Fold gathers of several join values: remembers what each FanOut that the row
 * is led to has told, in one order; how many there are in all; and the hot join values.
 *
 * <p>It is read for one address at a time. Nobody would tell it again, so it outlives the row.
 */
final class LedChildren {
  private final DocumentProgram.Gathers program;
  private final HotValues hot;
  private final int branch;
  private GatheredRows rows;
  private long total;

  /** {@code branch} keeps the pages of the embeds of one row apart; see the program of a branch. */
  LedChildren(DocumentProgram.BranchProgram program, int branch) {
    this.program = program.gathers();
    this.hot = new HotValues(this.program.valueTypes(), program.hot());
    this.branch = branch;
  }

  /** Opens what {@link #write} left, or where {@code in} is null, with nothing. */
  void read(ByteReader in, Pages pages) {
    total = in == null ? 0 : in.readVarLong();
    hot.read(in);
    ByteReader head = in == null ? null : new ByteReader(in.readBlob());
    rows = GatheredRows.readPacked(head, new PagesOfOne(pages, branch * 2));
  }

  void write(ByteWriter out) {
    ByteWriter head = new ByteWriter(1024);
    rows.write(head);
    hot.write(out.writeVarLong(total));
    out.writeBlob(new Slice(head.array(), 0, head.size()));
  }

  void apply(List<FannedMessage.Reader> messages) {
    for (FannedMessage.Reader each : messages) {
      total += each.more();
      switch (each.heat()) {
        case HOT -> hot.add(each.value());
        case COLD -> hot.remove(each.value());
        case SAME -> {}
      }
      while (each.hasNext()) {
        rows.apply(each.value(), each.next());
      }
    }
  }

  /** Removes all, and their pages. */
  void clear() {
    rows.clear();
    total = 0;
    hot.read(null);
  }

  boolean isEmpty() {
    return rows.isEmpty() && total == 0 && hot.isEmpty();
  }

  boolean isPaged() {
    return rows.isPaged();
  }

  long total() {
    return total;
  }

  /** Those that are shown. */
  List<TopRows.Item> first() {
    return rows.first(program.limit());
  }

  /** A row with the list of hot values; empty where that is. */
  Slice hotRow() {
    return hot.row();
  }
}
