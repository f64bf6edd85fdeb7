package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.BranchMessage;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.ParentMessage;
import dev.joinery.kernel.state.EntryMap;
import dev.joinery.kernel.state.Mapped;
import dev.joinery.kernel.state.Pages;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.function.Function;

/**
 * The parents that point at one join value, each with the epoch under which it was announced; sends
 * their Fold all that a new one must hear, and the others what changed.
 */
final class Parents {
  private static final int MANY = 256;

  private final int fold;
  private final EntryMap epochs;
  private final Map<Slice, ParentMessage> announced = new LinkedHashMap<>();
  private final List<Slice> fresh = new ArrayList<>();

  private Parents(int fold, EntryMap epochs) {
    this.fold = fold;
    this.epochs = epochs;
  }

  static Parents read(ByteReader in, Pages pages, int space, int fold) {
    return new Parents(fold, EntryMap.read(in, pages, space));
  }

  void write(ByteWriter out) {
    epochs.write(out);
  }

  boolean isEmpty() {
    return epochs.size() == 0;
  }

  /** Takes an announcement; it counts once {@link #apply} is called. */
  void announce(byte[] message) {
    ParentMessage parent = ParentMessage.read(message);
    announced.put(parent.key(), parent);
  }

  /** Applies the announcements. */
  void apply() {
    for (Slice key : epochs.inPageOrder(announced.keySet(), Function.identity())) {
      Slice known = epochs.get(key);
      ParentMessage message = announced.get(key);
      if (known != null) {
        message = message.notBefore(new ByteReader(known).readLong());
        announced.put(key, message);
      }
      if (message.remove()) {
        epochs.remove(key);
      } else {
        epochs.put(key, Slice.of(new ByteWriter(8).writeLong(message.epoch()).toBytes()));
        fresh.add(key);
      }
    }
  }

  /** Whether there are parents that must hear everything. */
  boolean hasNew() {
    return !fresh.isEmpty();
  }

  /** Whether there are parents that know what was here before. */
  boolean hasOld() {
    return epochs.size() > fresh.size();
  }

  /** Sends each new parent everything; {@code paged} says that this is more than a few rows. */
  void tellNew(List<BranchContents> contents, boolean paged, long timestamp, Outbox outbox) {
    boolean lazily = paged || fresh.size() > MANY;
    for (Slice parent : fresh) {
      long epoch = announced.get(parent).epoch();
      Iterator<Runnable> messages = new Filling(contents, parent, epoch, timestamp, outbox);
      if (lazily) {
        outbox.later(messages);
      } else {
        messages.forEachRemaining(Runnable::run);
      }
    }
  }

  /** Sends a parent all children, a message a step. */
  private final class Filling implements Iterator<Runnable> {
    private final Iterator<BranchContents> contents;
    private final Slice parent;
    private final long epoch;
    private final long timestamp;
    private final Outbox outbox;
    private BranchContents branch;
    private Iterator<TopRows.Item> items;

    Filling(
        List<BranchContents> contents, Slice parent, long epoch, long timestamp, Outbox outbox) {
      this.contents = contents.iterator();
      this.parent = parent;
      this.epoch = epoch;
      this.timestamp = timestamp;
      this.outbox = outbox;
    }

    @Override
    public boolean hasNext() {
      return branch != null || contents.hasNext();
    }

    @Override
    public Runnable next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      return () -> {
        BranchMessage message = new BranchMessage();
        while (hasNext() && !message.isFull()) {
          addTo(message);
        }
        outbox.send(fold, parent.toBytes(), message.toBytes(timestamp, epoch));
      };
    }

    private void addTo(BranchMessage message) {
      if (branch == null) {
        branch = contents.next();
        items = branch.items().iterator();
      }
      message.begin(branch.branch(), branch.total(), branch.aggregates());
      while (items.hasNext() && !message.isFull()) {
        TopRows.Item item = items.next();
        message.put(item.key(), item.child().encoded());
      }
      message.end();
      if (!items.hasNext()) {
        branch = null;
      }
    }
  }

  /** Tells all parents that were here before, one at a time; few and small messages at once. */
  void tellOld(List<BranchMessage> changes, long timestamp, Outbox outbox) {
    if (changes.isEmpty()) {
      return;
    }
    Iterator<Runnable> messages =
        new Mapped<>(epochs.iterator(), each -> () -> tell(each, changes, timestamp, outbox));
    if (epochs.size() * changes.get(0).size() <= BranchMessage.MAX_BYTES / 4) {
      messages.forEachRemaining(Runnable::run);
    } else {
      outbox.later(messages);
    }
  }

  /** Tells one of those that were here before, unless it was announced again. */
  private void tell(
      EntryMap.Entry parent, List<BranchMessage> changes, long timestamp, Outbox outbox) {
    if (announced.containsKey(parent.key())) {
      return;
    }
    long epoch = new ByteReader(parent.value()).readLong();
    for (BranchMessage change : changes) {
      outbox.send(fold, parent.key().toBytes(), change.toBytes(timestamp, epoch));
    }
  }
}
