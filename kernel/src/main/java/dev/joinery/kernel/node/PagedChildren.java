package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Child;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.state.EntryMap;
import dev.joinery.kernel.state.OrderedMap;
import dev.joinery.kernel.state.Pages;
import dev.joinery.kernel.state.PagesOfOne;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Function;

/**
 * The many children of one embed, in pages of neighbours in their order: a change costs the pages
 * that it is in.
 *
 * <p>Remembers each child under its place, which is its order and then its key; where it has an
 * order, in a second map, the order of each key; how many have failed, and how many bytes their
 * rows have.
 */
final class PagedChildren {
  /** How many embeds of a row may have pages. */
  static final int BRANCHES = PagesOfOne.MAPS / 2;

  private final OrderedMap children;
  private final EntryMap orders;
  private long failed;
  private long rowBytes;

  /** What becomes of a place; {@code child} is null where it is left. */
  private record Step(Slice place, int orderLength, Child child) implements Comparable<Step> {
    @Override
    public int compareTo(Step other) {
      return place.compareTo(other.place);
    }
  }

  /** Where the child of a key stands; {@code order} is empty where it has none. */
  private record Place(Slice place, Slice order, Slice key) implements Comparable<Place> {
    static Place of(Slice order, Slice key) {
      return new Place(order.length() == 0 ? key : placeOf(order, key), order, key);
    }

    @Override
    public int compareTo(Place other) {
      return place.compareTo(other.place);
    }
  }

  /** Opens what {@link #write} left, or where {@code in} is null, with nothing. */
  PagedChildren(ByteReader in, Pages pages, int branch) {
    failed = in == null ? 0 : in.readVarLong();
    rowBytes = in == null ? 0 : in.readVarLong();
    children = OrderedMap.read(headIn(in), new PagesOfOne(pages, branch * 2), 0);
    orders = EntryMap.read(headIn(in), new PagesOfOne(pages, branch * 2 + 1), 0);
  }

  private static ByteReader headIn(ByteReader in) {
    return in == null ? null : new ByteReader(in.readBlob());
  }

  void write(ByteWriter out) {
    out.writeVarLong(failed).writeVarLong(rowBytes);
    ByteWriter head = new ByteWriter(1024);
    children.write(head);
    out.writeBlob(new Slice(head.array(), 0, head.size()));
    head.reset();
    orders.write(head);
    out.writeBlob(new Slice(head.array(), 0, head.size()));
  }

  int size() {
    return Math.toIntExact(children.size());
  }

  long rowBytes() {
    return rowBytes;
  }

  int flags() {
    return failed > 0 ? Message.FLAG_FAILED : 0;
  }

  void clear() {
    children.clear();
    orders.clear();
    failed = 0;
    rowBytes = 0;
  }

  /** Gives the children of some keys, in the order of their places: each page is read once. */
  void visit(Collection<Slice> keys, BiConsumer<Slice, Child> taker) {
    List<Place> places = new ArrayList<>(keys.size());
    boolean allOrdered = orders.size() == children.size();
    for (Slice key : orders.inPageOrder(keys, Function.identity())) {
      Slice order = orders.get(key);
      if (order != null || !allOrdered) {
        places.add(Place.of(order == null ? Slice.EMPTY : order, key));
      }
    }
    places.sort(null);
    for (Place each : places) {
      Slice stored = children.get(each.place());
      if (stored != null && orderLength(stored) == each.order().length()) {
        taker.accept(each.key(), childOf(each.order(), stored));
      }
    }
  }

  /** Puts children under their keys, and removes those that are null. */
  void apply(Map<Slice, Child> changes) {
    List<Step> steps = new ArrayList<>(changes.size());
    boolean allOrdered = orders.size() == children.size();
    for (Map.Entry<Slice, Child> each : orders.inPageOrder(changes.entrySet(), Map.Entry::getKey)) {
      addSteps(each.getKey(), each.getValue(), allOrdered, steps);
    }
    steps.sort(null);
    steps.forEach(this::take);
    // While what stood there is still known: all are read next, and what changed is told from that.
    children.flush();
    orders.flush();
  }

  private void addSteps(Slice key, Child child, boolean allOrdered, List<Step> steps) {
    Slice known = orders.get(key);
    Slice order = child == null || child.order().isEmpty() ? null : child.order();
    boolean moves = child == null || (order == null ? known != null : !order.equals(known));
    if (moves && (known != null || !allOrdered)) {
      steps.add(new Step(known == null ? key : placeOf(known, key), lengthOf(known), null));
    }
    if (moves && known != null && order == null) {
      orders.remove(key);
    } else if (moves && order != null) {
      orders.put(key, order);
    }
    if (child != null) {
      steps.add(new Step(order == null ? key : placeOf(order, key), lengthOf(order), child));
    }
  }

  private static int lengthOf(Slice order) {
    return order == null ? 0 : order.length();
  }

  private void take(Step step) {
    Slice stored = children.get(step.place());
    if (stored != null && orderLength(stored) == step.orderLength()) {
      count(stored, -1);
      if (step.child() == null) {
        children.remove(step.place());
      }
    }
    if (step.child() != null) {
      Slice next = stored(step.child());
      children.put(step.place(), next);
      count(next, 1);
    }
  }

  private void count(Slice stored, int by) {
    ByteReader in = new ByteReader(stored);
    in.readVarInt();
    in.readLong();
    failed += in.readByte() == 0 ? 0 : by;
    rowBytes += (long) by * in.rest().length();
  }

  private static Slice placeOf(Slice order, Slice key) {
    ByteWriter place = new ByteWriter(order.length() + key.length());
    return Slice.of(place.writeRaw(order).writeRaw(key).toBytes());
  }

  private static Slice stored(Child child) {
    ByteWriter out = new ByteWriter(child.row().length() + 16);
    out.writeVarInt(child.order().length()).writeLong(child.epoch()).writeByte(child.flags());
    return Slice.of(out.writeRaw(child.row()).toBytes());
  }

  private static int orderLength(Slice stored) {
    return new ByteReader(stored).readVarInt();
  }

  private static Child childOf(Slice order, Slice stored) {
    ByteReader in = new ByteReader(stored);
    in.readVarInt();
    return Child.of(in.readLong(), in.readByte(), order, in.rest());
  }

  /** Gives each child's key and row, in order. */
  void forEach(BiConsumer<Slice, Slice> taker) {
    children.forEach(
        (place, stored) -> {
          ByteReader in = new ByteReader(stored);
          int order = in.readVarInt();
          in.readLong();
          in.readByte();
          taker.accept(place.sub(order, place.length() - order), in.rest());
        });
  }
}
