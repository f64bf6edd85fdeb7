package dev.joinery.kernel;

import java.util.ArrayList;
import java.util.List;
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
final class Level extends StatefulProcessor<byte[], byte[], Tuple2<byte[], byte[]>> {
  private final Broadcast<Shipment> shipment;
  private final int level;
  private transient Workshop workshop;
  private transient ValueState<byte[]> values;

  Level(Broadcast<Shipment> shipment, int level) {
    this.shipment = shipment;
    this.level = level;
  }

  @Override
  public void init(OutputMode outputMode, TimeMode timeMode) {
    values = getHandle().getValueState("value", new BytesEncoder(), TTLConfig.NONE());
  }

  @Override
  public Iterator<Tuple2<byte[], byte[]>> handleInputRows(
      byte[] address, Iterator<byte[]> rows, TimerValues timers) {
    if (workshop == null) {
      workshop = shipment.value().take();
    }
    int index = Outbox.nodeOf(address);
    if (index < 0 || workshop.program().nodes().get(index).level() != level) {
      return rows.map(row -> new Tuple2<>(row, address));
    }
    List<byte[]> messages = new ArrayList<>();
    while (rows.hasNext()) {
      messages.add(rows.next());
    }
    Outbox outbox = new Outbox();
    State state = new AddressState(values, getHandle(), address);
    workshop.node(index).handle(Outbox.keyOf(address), messages, state, outbox);
    drainCounters(outbox, Message.timestamp(messages.get(0)));
    return CollectionConverters.asScala(outbox);
  }

  /** Spark calls this after all rows of the batch, with the batch's own time. */
  @Override
  public Iterator<Tuple2<byte[], byte[]>> handleExpiredTimer(
      byte[] address, TimerValues timers, ExpiredTimerInfo expired) {
    if (workshop == null) {
      workshop = shipment.value().take();
    }
    long now = timers.getCurrentProcessingTimeInMs() * 1000;
    Outbox outbox = new Outbox();
    State state = new AddressState(values, getHandle(), address);
    workshop.node(Outbox.nodeOf(address)).wake(now, state, outbox);
    drainCounters(outbox, now);
    return CollectionConverters.asScala(outbox);
  }

  /** Steps that run later count, too. */
  private void drainCounters(Outbox outbox, long timestamp) {
    if (outbox.isLazy()) {
      Runnable drain = () -> workshop.counters().drainTo(outbox, timestamp);
      outbox.later(List.of(drain).iterator());
    } else if (!workshop.counters().isEmpty()) {
      workshop.counters().drainTo(outbox, timestamp);
    }
  }

  /** Called once all that the task's messages brought has been taken. */
  @Override
  public void close() {
    if (workshop != null) {
      shipment.value().giveBack(workshop);
      workshop = null;
    }
  }

  /**
   * The state of one address: the value under the address itself, a page under an address of its
   * own.
   *
   * <p>Spark looks state up under the grouping key it is told of last, and tells it only while rows
   * are handled; so each access tells its own, steps that run later among them.
   */
  private record AddressState(
      ValueState<byte[]> values, StatefulProcessorHandle handle, byte[] address)
      implements State {
    @Override
    public byte[] read() {
      return at(address).get();
    }

    @Override
    public void write(byte[] bytes) {
      at(address).update(bytes);
    }

    @Override
    public void clear() {
      at(address).clear();
    }

    @Override
    public byte[] get(int page) {
      return at(Outbox.addressOfPage(address, page)).get();
    }

    @Override
    public void put(int page, byte[] bytes) {
      at(Outbox.addressOfPage(address, page)).update(bytes);
    }

    @Override
    public void remove(int page) {
      at(Outbox.addressOfPage(address, page)).clear();
    }

    /** Never before its time, which Spark knows in milliseconds. */
    @Override
    public void wakeAt(long timestamp) {
      ImplicitGroupingKeyTracker.setImplicitKey(address);
      handle.registerTimer(Math.floorDiv(timestamp + 999, 1000));
    }

    private ValueState<byte[]> at(byte[] key) {
      ImplicitGroupingKeyTracker.setImplicitKey(key);
      return values;
    }
  }
}
