package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.BranchMessage;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.ParentMessage;
import dev.joinery.kernel.state.Pages;
import dev.joinery.kernel.state.TimedMap;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The parents that point at one join value, in the order of their times, each with the epoch under
 * which it was announced; tells their Fold what changed for those between two times.
 */
final class TimedParents {
  /** The most messages that are held at once; more are sent one after the other. */
  private static final int FEW = 256;

  private final int fold;
  private final int branch;
  private final TimedMap stored;
  private final Map<Slice, ParentMessage> announced = new LinkedHashMap<>();

  /** A parent that must hear everything. */
  record Fresh(Slice key, long time, long epoch) {}

  /** What became of one child. */
  interface News {
    /** Adds what a parent of a time is to know; false where that is nothing. */
    boolean addTo(BranchMessage message, long time);
  }

  private TimedParents(int fold, int branch, TimedMap stored) {
    this.fold = fold;
    this.branch = branch;
    this.stored = stored;
  }

  /** They take {@link TimedMap#SPACES} of pages, from {@code space} on. */
  static TimedParents read(ByteReader in, Pages pages, int space, int fold, int branch) {
    return new TimedParents(fold, branch, TimedMap.read(in, pages, space));
  }

  void write(ByteWriter out) {
    stored.write(out);
  }

  long size() {
    return stored.size();
  }

  /** Forgets the parents of times before one. */
  void removeBefore(long time) {
    stored.removeBefore(time);
  }

  /** The earliest; only where there are any. */
  long firstTime() {
    return stored.iterator().next().time();
  }

  /** Takes an announcement; it counts once {@link #apply} is called. */
  void announce(byte[] message) {
    ParentMessage parent = ParentMessage.read(message);
    announced.put(parent.key(), parent);
  }

  /** Applies the announcements; returns the parents that must hear everything. */
  List<Fresh> apply() {
    List<Fresh> fresh = new ArrayList<>();
    for (ParentMessage each : stored.inPageOrder(announced.values(), ParentMessage::key)) {
      if (each.remove()) {
        stored.remove(each.key());
      } else {
        long time = new ByteReader(each.row()).readLong();
        ByteWriter epoch = new ByteWriter(Long.BYTES).writeLong(each.epoch());
        stored.put(each.key(), time, Slice.of(epoch.toBytes()));
        fresh.add(new Fresh(each.key(), time, each.epoch()));
      }
    }
    return fresh;
  }

  BranchMessage begin() {
    return new BranchMessage().begin(branch, 0, Slice.EMPTY);
  }

  /** Tells the parents from a time to another, both included, but for those announced just now. */
  void tell(long from, long to, News news, long timestamp, Outbox outbox) {
    Iterator<TimedMap.Timed> all = stored.from(from);
    while (all.hasNext()) {
      TimedMap.Timed parent = all.next();
      if (parent.time() > to) {
        return;
      }
      BranchMessage message = begin();
      if (!announced.containsKey(parent.identity()) && news.addTo(message, parent.time())) {
        long epoch = new ByteReader(parent.value()).readLong();
        send(parent.identity(), epoch, message, timestamp, outbox);
      }
    }
  }

  /** Sends one parent a message that was begun. */
  void send(Slice parent, long epoch, BranchMessage message, long timestamp, Outbox outbox) {
    outbox.send(fold, parent.toBytes(), message.end().toBytes(timestamp, epoch));
  }

  /** Runs steps that send: at once where there are few messages, else one after the other. */
  static void run(long messages, Iterator<Runnable> steps, Outbox outbox) {
    if (messages <= FEW) {
      steps.forEachRemaining(Runnable::run);
    } else {
      outbox.later(steps);
    }
  }
}
