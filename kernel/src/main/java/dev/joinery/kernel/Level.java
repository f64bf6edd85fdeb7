package dev.joinery.kernel;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
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
 * <p>State stands under the address as one value and numbered pages, so that a level can hold nodes
 * of any kind, and a node may be added without a change of the state's schema.
 */
final class Level extends StatefulProcessor<byte[], byte[], Tuple2<byte[], byte[]>> {
  private final CompiledProgram compiled;
  private final int level;
  private transient Workshop workshop;
  private transient Node[] nodes;
  private transient AddressState state;

  Level(CompiledProgram compiled, int level) {
    this.compiled = compiled;
    this.level = level;
  }

  @Override
  public void init(OutputMode outputMode, TimeMode timeMode) {
    workshop = new Workshop(compiled);
    nodes = new Node[compiled.program().nodes().size()];
    state =
        new AddressState(
            getHandle().getValueState("value", Encoders.BINARY(), TTLConfig.NONE()),
            getHandle()
                .getMapState("pages", Encoders.INT(), Encoders.BINARY(), TTLConfig.NONE()));
  }

  @Override
  public Iterator<Tuple2<byte[], byte[]>> handleInputRows(
      byte[] address, Iterator<byte[]> rows, TimerValues timers) {
    int index = Outbox.nodeOf(address);
    if (index < 0 || compiled.program().nodes().get(index).level() != level) {
      return rows.map(row -> new Tuple2<>(row, address));
    }
    List<byte[]> messages = new ArrayList<>();
    while (rows.hasNext()) {
      messages.add(rows.next());
    }
    Outbox outbox = new Outbox();
    node(index).handle(Outbox.keyOf(address), messages, state, outbox);
    drainCounters(outbox, Message.timestamp(messages.get(0)));
    return CollectionConverters.asScala(outbox.isLazy() ? keyed(address, outbox) : outbox);
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

  private Node node(int index) {
    if (nodes[index] == null) {
      Program.NodeProgram program = compiled.program().nodes().get(index);
      if (program instanceof Program.RetractProgram retract) {
        nodes[index] = new Retract(retract, workshop);
      } else if (program instanceof Program.LookupProgram lookup) {
        nodes[index] = new Lookup(lookup, workshop);
      } else if (program instanceof Program.MatchProgram match) {
        nodes[index] = new Match(index, match, workshop);
      } else {
        nodes[index] = new Fold((Program.FoldProgram) program, workshop);
      }
    }
    return nodes[index];
  }

  /**
   * Spark knows the grouping key only while rows are handled; steps that read state later need it
   * set again.
   */
  private static java.util.Iterator<Tuple2<byte[], byte[]>> keyed(byte[] address, Outbox outbox) {
    return new java.util.Iterator<>() {
      @Override
      public boolean hasNext() {
        ImplicitGroupingKeyTracker.setImplicitKey(address);
        try {
          return outbox.hasNext();
        } finally {
          ImplicitGroupingKeyTracker.removeImplicitKey();
        }
      }

      @Override
      public Tuple2<byte[], byte[]> next() {
        hasNext();
        return outbox.next();
      }
    };
  }

  /** The state of the current grouping key. */
  private record AddressState(ValueState<byte[]> value, MapState<Integer, byte[]> pages)
      implements State {
    @Override
    public byte[] read() {
      return value.get();
    }

    @Override
    public void write(byte[] bytes) {
      value.update(bytes);
    }

    @Override
    public void clear() {
      value.clear();
    }

    @Override
    public byte[] get(int page) {
      return pages.getValue(page);
    }

    @Override
    public void put(int page, byte[] bytes) {
      pages.updateValue(page, bytes);
    }

    @Override
    public void remove(int page) {
      pages.removeKey(page);
    }
  }
}
