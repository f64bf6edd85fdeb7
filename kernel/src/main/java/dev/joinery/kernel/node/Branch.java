package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.BranchMessage;
import dev.joinery.kernel.message.Child;
import dev.joinery.kernel.message.ChildMessage;
import dev.joinery.kernel.message.FannedMessage;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.program.DocumentProgram;
import dev.joinery.kernel.program.DocumentProgram.Shape;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.render.LeastJson;
import dev.joinery.kernel.state.Pages;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * What a Fold remembers of one embed: its children in order, its total, its aggregates, and the list
 * of what is left out, which comes as one more of these. Where it goes by a time of the row's own,
 * total and aggregates are worked out anew each time. Where rows of another relation lead from the
 * row to its children, {@link LedChildren} remembers them.
 */
final class Branch {
  private final DocumentProgram.BranchProgram program;
  private final int columns;
  private final DataType[] aggregateTypes;
  private final Object[] aggregatesOfNothing;
  private final KeyText keyText;
  private long epoch;
  private long total;
  private Slice aggregates = Slice.EMPTY;
  private final Children children;
  private final RowArray array = new RowArray();
  private final int leastChild;

  /** What the row is led to; null where its children come otherwise. */
  private final LedChildren led;

  private final DocumentProgram.Within within;
  private final Aggregates overHad;
  private final RowTime ownTime;
  private boolean several;

  /** What {@link #look} saw; null where that is all. */
  private List<TopRows.Item> shown;

  private long shownTotal;
  private Slice shownAggregates = Slice.EMPTY;
  private int failures;

  /**
   * @param number among the row's embeds
   * @param inPages whether children that are many may be kept in pages
   * @param overHad the aggregates where children come one by one
   * @param ownColumns of the row that has the embed
   */
  Branch(
      DocumentProgram.BranchProgram program,
      int number,
      boolean inPages,
      Aggregates overHad,
      int ownColumns) {
    this.program = program;
    this.children = new Children(number, inPages && isPageable(program));
    this.led = program.gathers() == null ? null : new LedChildren(program, number);
    this.within = program.within();
    this.overHad = overHad;
    this.ownTime = new RowTime(within == null ? null : within.time(), ownColumns);
    this.columns = program.type().length();
    this.leastChild = LeastJson.of(program.type()) + ",".length();
    this.aggregateTypes =
        Stream.concat(
                program.aggregates().stream().map(Program.AggregateProgram::type),
                Stream.ofNullable(program.hot()))
            .toArray(DataType[]::new);
    this.aggregatesOfNothing =
        Stream.concat(
                program.aggregates().stream()
                    .map(each -> Aggregate.of(each.function(), each.type()).get().result()),
                Stream.ofNullable(program.hot()).map(each -> new GenericArrayData(new Object[0])))
            .toArray();
    this.keyText = program.shape() == Shape.MAP ? new KeyText(program.keyTypes()) : null;
  }

  /** Of what is worked out from all children each time, pages would be read whole. */
  private static boolean isPageable(DocumentProgram.BranchProgram program) {
    boolean all = program.shape() == Shape.LIST || program.shape() == Shape.MAP;
    return all && !program.isCounting();
  }

  String name() {
    return program.name();
  }

  /** Opens what {@link #write} left; its pages are among those of the row's address. */
  void read(ByteReader in, Pages pages) {
    if (led != null) {
      led.read(in, pages);
      return;
    }
    epoch = in == null ? 0 : in.readLong();
    total = in == null ? 0 : in.readVarLong();
    aggregates = in == null ? Slice.EMPTY : in.readBlob();
    children.read(in, pages);
    several = program.isCounting() && in != null && in.readByte() == 1;
  }

  void write(ByteWriter out) {
    if (led != null) {
      led.write(out);
      return;
    }
    out.writeLong(epoch).writeVarLong(total).writeBlob(aggregates);
    children.write(out);
    if (program.isCounting()) {
      out.writeByte(several ? 1 : 0);
    }
  }

  /** Gives the keys of the children that are kept, in their order. */
  void forEachKey(Consumer<Slice> taker) {
    children.forEach((key, row) -> taker.accept(key));
  }

  /** Looks at the children for a row, null where there is none: what is asked after is of these. */
  void look(Slice own) {
    shown = null;
    shownTotal = total;
    shownAggregates = aggregates;
    if (led != null) {
      shown = own == null ? List.of() : led.first();
      shownTotal = led.total();
      shownAggregates = led.hotRow();
    } else if (program.isCounting()) {
      List<TopRows.Item> had = within == null ? children.listed() : nearTo(ownTime.of(own));
      lookAt(had, within == null ? program.valid().limit() : within.limit());
    }
  }

  private void lookAt(List<TopRows.Item> had, int most) {
    shownTotal = had.size();
    overHad.clear();
    failures = 0;
    if (!overHad.isEmpty()) {
      had.forEach(each -> overHad.add(row(each)));
      shownAggregates = overHad.result();
      failures = overHad.failures() + overHad.overflows();
    }
    int limit = program.shape() == Shape.ONE ? 1 : most;
    shown = limit > 0 && limit < had.size() ? had.subList(0, limit) : had;
  }

  private List<TopRows.Item> nearTo(long time) {
    List<TopRows.Item> near = new ArrayList<>();
    if (time != Marks.UNKNOWN) {
      for (TopRows.Item item : children.listed()) {
        long at = RowTime.inFrontOf(item.child().order());
        long distance = at - time;
        if (at != Marks.UNKNOWN
            && distance >= within.fromMicros()
            && distance <= within.toMicros()) {
          near.add(item);
        }
      }
      near.sort(Branch::compareBehindTime);
    }
    return near;
  }

  private static int compareBehindTime(TopRows.Item one, TopRows.Item other) {
    return Child.compare(
        RowTime.behindTime(one.child().order()),
        one.key(),
        RowTime.behindTime(other.child().order()),
        other.key());
  }

  /** How many aggregates failed over what was seen. */
  int failures() {
    return failures;
  }

  /** Notes whether one of several rows was taken of those seen; true where it is so from now on. */
  boolean beginsToChoose() {
    boolean before = several;
    several = program.isCounting() && program.shape() == Shape.ONE && shownTotal > 1;
    return several && !before;
  }

  /** Applies what a batch's messages say of this branch. */
  void applyAnswers(List<BranchMessage.Section> sections) {
    long newest = epoch;
    for (BranchMessage.Section section : sections) {
      newest = Math.max(newest, section.epoch());
    }
    if (newest > epoch) {
      epoch = newest;
      children.clear();
    }
    for (BranchMessage.Section section : sections) {
      if (section.epoch() == epoch) {
        applySection(section.body());
      }
    }
    children.settle();
  }

  private void applySection(ByteReader in) {
    total = in.readVarLong();
    aggregates = in.readBlob();
    while (in.hasMore()) {
      boolean put = in.readByte() == 1;
      Slice key = in.readBlob();
      children.change(key, put ? Child.read(in.readBlob()) : null);
    }
  }

  /** The same for a fused branch, whose children tell it themselves. */
  void applyChildren(List<ChildMessage> messages) {
    Map<Slice, ChildMessage> newest = new LinkedHashMap<>();
    for (ChildMessage message : messages) {
      newest.merge(message.key(), message, ChildMessage::newer);
    }
    children.dropLate(newest);
    newest.forEach(
        (key, message) -> children.change(key, message.remove() ? null : message.child()));
    children.settle();
    total = children.size();
  }

  /** The same for one that gathers its children. */
  void applyLed(List<FannedMessage.Reader> messages) {
    led.apply(messages);
  }

  /** The row went at an epoch, and with it what was announced for it; other children stay. */
  void ownRowWent(long at) {
    if (led == null && !program.fused() && epoch <= at) {
      children.clear();
      total = 0;
      aggregates = Slice.EMPTY;
    }
  }

  /**
   * The row is over, and children of times before one: what was announced for it goes, fused
   * children stay as long as they last.
   */
  void forget(boolean row, long childrenBefore) {
    if (program.fused()) {
      if (children.removeIf(each -> isBefore(each, childrenBefore))) {
        total = children.size();
      }
    } else if (row) {
      drop();
      read(null, null);
    }
  }

  /** Has all pages removed: nothing is remembered from here on. */
  void drop() {
    children.clear();
    if (led != null) {
      led.clear();
    }
  }

  private static boolean isBefore(Child child, long time) {
    long at = RowTime.inFrontOf(child.order());
    return at != Marks.UNKNOWN && at < time;
  }

  /** The earliest time of a fused child; {@link Marks#UNKNOWN} where none has any. */
  long firstTime() {
    return !program.fused()
        ? Marks.UNKNOWN
        : children.listed().stream()
            .mapToLong(item -> RowTime.inFrontOf(item.child().order()))
            .filter(time -> time != Marks.UNKNOWN)
            .findFirst()
            .orElse(Marks.UNKNOWN);
  }

  /** True where nothing but this remembers the children: nobody would send them again. */
  boolean keepsChildren() {
    return led != null ? !led.isEmpty() : program.fused() && children.size() > 0;
  }

  /** True where no parent was announced and no child is here. */
  boolean isBlank() {
    return epoch == 0 && children.size() == 0 && (led == null || led.isEmpty());
  }

  int flags() {
    return shown == null ? children.flags() : Children.flagsOf(shown);
  }

  boolean overflows() {
    return program.failAbove() > 0 && shownTotal > program.failAbove();
  }

  int inputs() {
    return (program.shape() == Shape.NONE ? 0 : 1)
        + (program.total() ? 1 : 0)
        + aggregateTypes.length;
  }

  /** How many bytes all children in pages have at least as text; 0 of others. */
  long leastBytes() {
    return children.isPaged() ? (long) children.size() * leastChild : 0;
  }

  /** Writes this branch's inputs of the assembler from {@code at}; returns the next place. */
  int fill(Object[] inputs, int at) {
    switch (program.shape()) {
      case ONE -> inputs[at++] = first();
      case LIST -> inputs[at++] = rows();
      case MAP -> inputs[at++] = new ArrayBasedMapData(new GenericArrayData(keys()), rows());
      case NONE -> {}
    }
    if (program.total()) {
      inputs[at++] = shownTotal;
    }
    if (aggregateTypes.length > 0) {
      fillAggregates(inputs, at);
    }
    return at + aggregateTypes.length;
  }

  private void fillAggregates(Object[] inputs, int at) {
    UnsafeRow row =
        shownAggregates.isEmpty() ? null : BinaryRow.of(shownAggregates, aggregateTypes.length);
    for (int i = 0; i < aggregateTypes.length; i++) {
      if (row == null) {
        inputs[at + i] = aggregatesOfNothing[i];
      } else {
        inputs[at + i] = row.isNullAt(i) ? null : row.get(i, aggregateTypes[i]);
      }
    }
  }

  private UnsafeRow row(TopRows.Item item) {
    return BinaryRow.of(item.child().row(), columns);
  }

  private UnsafeRow first() {
    List<TopRows.Item> all = shown == null ? children.listed() : shown;
    return all.isEmpty() ? null : row(all.get(0));
  }

  private UnsafeArrayData rows() {
    if (shown == null) {
      array.begin(children.size(), children.rowBytes());
    } else {
      array.begin(shown.size(), Children.rowBytesOf(shown));
    }
    forEachShown((key, row) -> array.add(row));
    return array.array();
  }

  private Object[] keys() {
    List<UTF8String> keys = new ArrayList<>();
    forEachShown((key, row) -> keys.add(UTF8String.fromString(keyText.of(key))));
    return keys.toArray();
  }

  private void forEachShown(BiConsumer<Slice, Slice> taker) {
    if (shown == null) {
      children.forEach(taker);
    } else {
      shown.forEach(each -> taker.accept(each.key(), each.child().row()));
    }
  }

  /** Whether children are in pages, which show what was before only until they are changed. */
  boolean isPaged() {
    return led != null ? led.isPaged() : children.isPaged();
  }
}
