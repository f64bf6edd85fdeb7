package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.BranchMessage;
import dev.joinery.kernel.message.Child;
import dev.joinery.kernel.message.ChildMessage;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.program.Program;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * What a Fold remembers of one embed: its children in order, its total, its aggregates, and the list
 * of what is left out, which comes as one more of these. Where it goes by a time of the row's own,
 * total and aggregates are worked out anew each time.
 */
final class Branch {
  private static final int FEW = 64;

  private record Item(Slice key, Child child) {
    static Item of(Slice key, Slice child) {
      return new Item(key, Child.read(child));
    }
  }

  private final Program.BranchProgram program;
  private final int columns;
  private final DataType[] aggregateTypes;
  private final Object[] aggregatesOfNothing;
  private final KeyText keyText;
  private long epoch;
  private long total;
  private Slice aggregates = Slice.EMPTY;
  private List<Item> items = new ArrayList<>();
  private final Map<Slice, Item> aside = new LinkedHashMap<>();

  private final Program.Within within;
  private final Aggregates overHad;
  private final RowTime ownTime;
  private boolean several;

  /** What {@link #look} saw. */
  private List<Item> shown = List.of();

  private long shownTotal;
  private Slice shownAggregates = Slice.EMPTY;
  private int failures;

  /**
   * @param overHad the aggregates where children come one by one
   * @param ownColumns of the row that has the embed
   */
  Branch(
      Program.BranchProgram program, Aggregates overHad, int ownColumns, NodeContext context) {
    this.program = program;
    this.within = program.within();
    this.overHad = overHad;
    this.ownTime = new RowTime(within == null ? null : within.time(), ownColumns);
    this.columns = program.type().length();
    this.aggregateTypes =
        Stream.concat(
                program.aggregates().stream().map(Program.AggregateProgram::type),
                Stream.ofNullable(program.hot()))
            .toArray(DataType[]::new);
    this.aggregatesOfNothing =
        Stream.concat(
                program.aggregates().stream()
                    .map(each -> Aggregate.of(each.function(), each.type()).result()),
                Stream.ofNullable(program.hot()).map(each -> new GenericArrayData(new Object[0])))
            .toArray();
    this.keyText = program.shape() == Program.Shape.MAP ? new KeyText(program.keyTypes()) : null;
  }

  String name() {
    return program.name();
  }

  void read(ByteReader in) {
    items = new ArrayList<>();
    epoch = in == null ? 0 : in.readLong();
    total = in == null ? 0 : in.readVarLong();
    aggregates = in == null ? Slice.EMPTY : in.readBlob();
    int size = in == null ? 0 : in.readVarInt();
    for (int i = 0; i < size; i++) {
      items.add(Item.of(in.readBlob(), in.readBlob()));
    }
    several = program.isCounting() && in != null && in.readByte() == 1;
  }

  void write(ByteWriter out) {
    out.writeLong(epoch).writeVarLong(total).writeBlob(aggregates).writeVarInt(items.size());
    for (Item item : items) {
      out.writeBlob(item.key()).writeBlob(item.child().encoded());
    }
    if (program.isCounting()) {
      out.writeByte(several ? 1 : 0);
    }
  }

  /** Looks at the children for a row, null where there is none: what is asked after is of these. */
  void look(Slice own) {
    shown = items;
    shownTotal = total;
    shownAggregates = aggregates;
    if (program.isCounting()) {
      List<Item> had = within == null ? items : nearTo(ownTime.of(own));
      lookAt(had, within == null ? program.valid().limit() : within.limit());
    }
  }

  private void lookAt(List<Item> had, int most) {
    shownTotal = had.size();
    overHad.clear();
    failures = 0;
    if (!overHad.isEmpty()) {
      had.forEach(each -> overHad.add(row(each)));
      shownAggregates = overHad.result();
      failures = overHad.failures() + overHad.overflows();
    }
    int limit = program.shape() == Program.Shape.ONE ? 1 : most;
    shown = limit > 0 && limit < had.size() ? had.subList(0, limit) : had;
  }

  private List<Item> nearTo(long time) {
    List<Item> near = new ArrayList<>();
    if (time != Marks.UNKNOWN) {
      for (Item item : items) {
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

  private static int compareBehindTime(Item one, Item other) {
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
    several = program.isCounting() && program.shape() == Program.Shape.ONE && shownTotal > 1;
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
      items.clear();
    }
    for (BranchMessage.Section section : sections) {
      if (section.epoch() == epoch) {
        applySection(section.body());
      }
    }
    settle();
  }

  private void applySection(ByteReader in) {
    total = in.readVarLong();
    aggregates = in.readBlob();
    while (in.hasMore()) {
      boolean put = in.readByte() == 1;
      Slice key = in.readBlob();
      change(key, put ? Item.of(key, in.readBlob()) : null);
    }
  }

  /** The same for a fused branch, whose children tell it themselves. */
  void applyChildren(List<ChildMessage> messages) {
    Map<Slice, ChildMessage> newest = new LinkedHashMap<>();
    for (ChildMessage message : messages) {
      newest.merge(message.key(), message, ChildMessage::newer);
    }
    dropLate(newest);
    newest.forEach(
        (key, message) ->
            change(key, message.remove() ? null : new Item(key, message.child())));
    settle();
    total = items.size();
  }

  /** Drops messages about children of which a newer sender has told. */
  private void dropLate(Map<Slice, ChildMessage> newest) {
    if (newest.size() < FEW) {
      newest.values().removeIf(message -> isLate(message, indexOf(message.key())));
      return;
    }
    for (int i = 0; i < items.size(); i++) {
      ChildMessage message = newest.get(items.get(i).key());
      if (message != null && isLate(message, i)) {
        newest.remove(message.key());
      }
    }
  }

  private boolean isLate(ChildMessage message, int at) {
    return at >= 0 && items.get(at).child().epoch() > message.epoch();
  }

  /** Puts an item, or removes it where {@code item} is null; many are put aside and merged. */
  private void change(Slice key, Item item) {
    if (aside.isEmpty() && items.size() < FEW) {
      changeNow(key, item);
    } else {
      aside.put(key, item);
    }
  }

  private void settle() {
    if (aside.size() < FEW) {
      aside.forEach(this::changeNow);
    } else {
      items.removeIf(item -> aside.containsKey(item.key()));
      aside.values().stream().filter(Objects::nonNull).forEach(items::add);
      items.sort(Branch::compare);
    }
    aside.clear();
  }

  private void changeNow(Slice key, Item item) {
    int at = indexOf(key);
    if (at >= 0) {
      items.remove(at);
    }
    if (item != null) {
      insert(item);
    }
  }

  private static int compare(Item one, Item other) {
    return Child.compare(one.child().order(), one.key(), other.child().order(), other.key());
  }

  private int indexOf(Slice key) {
    for (int i = 0; i < items.size(); i++) {
      if (items.get(i).key().equals(key)) {
        return i;
      }
    }
    return -1;
  }

  private void insert(Item added) {
    int low = 0;
    int high = items.size();
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (compare(items.get(middle), added) < 0) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    items.add(low, added);
  }

  /** The row went at an epoch, and with it what was announced for it; fused children stay. */
  void ownRowWent(long at) {
    if (!program.fused() && epoch <= at) {
      items.clear();
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
      if (items.removeIf(item -> isBefore(item, childrenBefore))) {
        total = items.size();
      }
    } else if (row) {
      read(null);
    }
  }

  private static boolean isBefore(Item item, long time) {
    long at = RowTime.inFrontOf(item.child().order());
    return at != Marks.UNKNOWN && at < time;
  }

  /** The earliest time of a fused child; {@link Marks#UNKNOWN} where none has any. */
  long firstTime() {
    return !program.fused()
        ? Marks.UNKNOWN
        : items.stream()
            .mapToLong(item -> RowTime.inFrontOf(item.child().order()))
            .filter(time -> time != Marks.UNKNOWN)
            .findFirst()
            .orElse(Marks.UNKNOWN);
  }

  /** True where nothing but this remembers the children: nobody would send them again. */
  boolean keepsChildren() {
    return program.fused() && !items.isEmpty();
  }

  /** True where no parent was announced and no child is here. */
  boolean isBlank() {
    return epoch == 0 && items.isEmpty();
  }

  int flags() {
    int flags = 0;
    for (Item item : shown) {
      flags |= item.child().flags();
    }
    return flags;
  }

  boolean overflows() {
    return program.failAbove() > 0 && shownTotal > program.failAbove();
  }

  int inputs() {
    return (program.shape() == Program.Shape.NONE ? 0 : 1)
        + (program.total() ? 1 : 0)
        + aggregateTypes.length;
  }

  /** Writes this branch's inputs of the assembler from {@code at}; returns the next place. */
  int fill(Object[] inputs, int at) {
    switch (program.shape()) {
      case ONE -> inputs[at++] = shown.isEmpty() ? null : row(shown.get(0));
      case LIST -> inputs[at++] = new GenericArrayData(rows());
      case MAP -> inputs[at++] =
          new ArrayBasedMapData(new GenericArrayData(keys()), new GenericArrayData(rows()));
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

  private UnsafeRow row(Item item) {
    return BinaryRow.of(item.child().row(), columns);
  }

  private Object[] rows() {
    Object[] rows = new Object[shown.size()];
    for (int i = 0; i < rows.length; i++) {
      rows[i] = row(shown.get(i));
    }
    return rows;
  }

  private Object[] keys() {
    Object[] keys = new Object[shown.size()];
    for (int i = 0; i < keys.length; i++) {
      byte[] text = keyText.of(shown.get(i).key()).getBytes(StandardCharsets.UTF_8);
      keys[i] = UTF8String.fromBytes(text);
    }
    return keys;
  }
}
