package dev.joinery.kernel.chain;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.node.BatchWatermarks;
import dev.joinery.kernel.node.Node;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.spark.BytesEncoder;
import dev.joinery.kernel.state.Expiry;
import dev.joinery.kernel.state.State;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * One operator of the chain: handles the addresses of its level and passes the others on.
 *
 * <p>State stands under the address as one value and numbered pages, all in one state variable, so
 * that a level can hold nodes of any kind, and a node may be added without a change of the state's
 * schema.
 */
public class Level extends StatefulProcessor<byte[], byte[], Tuple2<byte[], byte[]>> {
  private final Broadcast<SharedProgram> shared;
  private final int level;
  private final Counting counting;
  private transient Nodes nodes;
  private transient ValueState<byte[]> values;
  private transient Expiry expiry;
  private transient WindowExpiry[] windows;
  private transient WindowExpiry[] forgetful;

  public Level(Broadcast<SharedProgram> shared, int level, Counting counting) {
    this.shared = shared;
    this.level = level;
    this.counting = counting;
  }

  @Override
  public void init(OutputMode outputMode, TimeMode timeMode) {
    values = getHandle().getValueState("value", new BytesEncoder(), TTLConfig.NONE());
  }

  @Override
  public Iterator<Tuple2<byte[], byte[]>> handleInputRows(
      byte[] address, Iterator<byte[]> rows, TimerValues timers) {
    begin();
    if (!isHere(Address.nodeOf(address))) {
      return rows.map(row -> new Tuple2<>(row, address));
    }
    List<byte[]> messages = new ArrayList<>();
    while (rows.hasNext()) {
      messages.add(rows.next());
    }
    return CollectionConverters.asScala(handle(address, messages));
  }

  /** Whether a node, which may be the output, is one of this level. */
  boolean isHere(int node) {
    return node >= 0 && nodes.program().nodes().get(node).level() == level;
  }

  /** What a node of this level sends once it has taken the messages of an address. */
  Outbox handle(byte[] address, List<byte[]> messages) {
    long timestamp = Message.timestamp(messages.get(0));
    expiry().advance(timestamp, messages.size(), this::expire);
    forgetWindows(messages.size());
    Outbox outbox = Outbox.at(address);
    int node = Address.nodeOf(address);
    long began = System.nanoTime();
    nodes.node(node).handle(Address.keyOf(address), messages, stateOf(address), outbox);
    nodes.spent(node, System.nanoTime() - began);
    counting.afterGroup(nodes.counters(), outbox, timestamp);
    return outbox;
  }

  /** Notes what steps of a node took that ran later, as their messages were asked for. */
  void spentLater(int node, long nanos) {
    nodes.spent(node, nanos);
  }

  private void expire(byte[] address, List<Slice> entries, long timestamp) {
    expire(address, entries, timestamp, stateOf(address));
  }

  private void expire(byte[] address, List<Slice> entries, long time, State state) {
    nodes.node(Address.nodeOf(address)).expire(Address.keyOf(address), entries, time, state);
  }

  /** The windows of one relation that this level keeps, and how far its time had come. */
  private record WindowExpiry(Expiry expiry, long watermark) {}

  private void forgetWindows(int messages) {
    windows();
    for (WindowExpiry each : forgetful) {
      if (each.watermark() != Marks.UNKNOWN) {
        each.expiry()
            .advance(
                each.watermark(),
                messages,
                (address, entries, time) ->
                    expire(address, entries, time, stateOf(address, each.expiry())));
      }
    }
  }

  /** By relation, null where none of the level's nodes forgets by its watermark. */
  private WindowExpiry[] windows() {
    if (windows == null) {
      Program program = nodes.program();
      BatchWatermarks watermarks = BatchWatermarks.here();
      WindowExpiry[] opened = new WindowExpiry[program.relations().size()];
      for (int i = 0; i < opened.length; i++) {
        long retention = program.windowRetentionMicros(level, i);
        if (retention >= 0) {
          Expiry expiry = new Expiry(new Store(values), Address.WINDOWS - i, retention);
          opened[i] = new WindowExpiry(expiry, watermarks.of(program.relations().get(i).name()));
        }
      }
      windows = opened;
      forgetful = Arrays.stream(opened).filter(Objects::nonNull).toArray(WindowExpiry[]::new);
    }
    return windows;
  }

  /** Read at a task's first message, when Spark has opened its state. */
  private Expiry expiry() {
    if (expiry == null) {
      expiry = new Expiry(new Store(values), nodes.program().tombstoneRetentionMicros());
    }
    return expiry;
  }

  private State stateOf(byte[] address) {
    return stateOf(address, expiry());
  }

  private State stateOf(byte[] address, Expiry forgetting) {
    return new AddressState(
        new Store(values), expiry(), forgetting, windows(), getHandle(), address);
  }

  /** Spark calls this after all rows of the batch, with the batch's own time. */
  @Override
  public Iterator<Tuple2<byte[], byte[]>> handleExpiredTimer(
      byte[] address, TimerValues timers, ExpiredTimerInfo expired) {
    return CollectionConverters.asScala(wake(address, timers));
  }

  /** What a node sends when its time has come. */
  Outbox wake(byte[] address, TimerValues timers) {
    begin();
    long now = timers.getCurrentProcessingTimeInMs() * 1000;
    Outbox outbox = Outbox.at(address);
    nodes.node(Address.nodeOf(address)).wake(now, stateOf(address), outbox);
    counting.afterGroup(nodes.counters(), outbox, now);
    return outbox;
  }

  void begin() {
    if (nodes == null) {
      shared.value().mark().check(values);
      nodes = shared.value().take();
    }
  }

  /** Called once all that the task's messages brought has been taken. */
  @Override
  public void close() {
    if (nodes != null) {
      counting.afterTask(nodes, shared.value());
      shared.value().giveBack(nodes);
      nodes = null;
    }
  }

  /**
   * Bytes under addresses.
   *
   * <p>Spark looks state up under the grouping key it is told of last, and tells it only while rows
   * are handled; so each access tells its own, steps that run later among them.
   */
  private record Store(ValueState<byte[]> values) implements Expiry.Store {
    @Override
    public byte[] get(byte[] address) {
      return at(address).get();
    }

    @Override
    public void put(byte[] address, byte[] bytes) {
      at(address).update(bytes);
    }

    @Override
    public void remove(byte[] address) {
      at(address).clear();
    }

    private ValueState<byte[]> at(byte[] address) {
      ImplicitGroupingKeyTracker.setImplicitKey(address);
      return values;
    }
  }

  /**
   * The state of one address: the value under the address itself, a page under an address of its
   * own. {@code forgetting} hears what is forgotten now.
   */
  private record AddressState(
      Store store,
      Expiry expiry,
      Expiry forgetting,
      WindowExpiry[] windows,
      StatefulProcessorHandle handle,
      byte[] address)
      implements State {
    @Override
    public byte[] read() {
      return store.get(address);
    }

    @Override
    public void write(byte[] bytes) {
      store.put(address, bytes);
    }

    @Override
    public void clear() {
      store.remove(address);
    }

    @Override
    public void forget(long number) {
      store.remove(address);
      forgetting.forgotten(number);
    }

    @Override
    public long highestForgotten() {
      long highest = expiry.highest();
      for (WindowExpiry each : windows) {
        highest = each == null ? highest : Math.max(highest, each.expiry().highest());
      }
      return highest;
    }

    @Override
    public long watermark(int relation) {
      return windows[relation].watermark();
    }

    @Override
    public void expireAtWatermark(int relation, long time, Slice entry) {
      windows[relation].expiry().noteLater(address, entry, time);
    }

    @Override
    public void expireAfter(long timestamp, Slice entry) {
      expiry.note(address, entry, timestamp);
    }

    @Override
    public byte[] get(int page) {
      return store.get(Address.ofPage(address, page));
    }

    @Override
    public void put(int page, byte[] bytes) {
      store.put(Address.ofPage(address, page), bytes);
    }

    @Override
    public void remove(int page) {
      store.remove(Address.ofPage(address, page));
    }

    /** Never before its time, which Spark knows in milliseconds. */
    @Override
    public void wakeAt(long timestamp) {
      ImplicitGroupingKeyTracker.setImplicitKey(address);
      handle.registerTimer(Math.floorDiv(timestamp + 999, 1000));
    }
  }
}
