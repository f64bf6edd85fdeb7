package dev.joinery.kernel.chain;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.node.BatchWatermarks;
import dev.joinery.kernel.node.Node;
import dev.joinery.kernel.node.Tracing;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.spark.BytesEncoder;
import dev.joinery.kernel.spark.TaskRows;
import dev.joinery.kernel.state.AddressValues;
import dev.joinery.kernel.state.Expiry;
import dev.joinery.kernel.state.PatchedValues;
import dev.joinery.kernel.state.State;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.ListState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
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
  private transient ListState<byte[]> list;
  private transient PatchedValues values;
  private transient Expiry expiry;
  private transient WindowExpiry[] windows;
  private transient WindowExpiry[] forgetful;
  private transient LevelDeadlines deadlines;

  public Level(Broadcast<SharedProgram> shared, int level, Counting counting) {
    this.shared = shared;
    this.level = level;
    this.counting = counting;
  }

  @Override
  public void init(OutputMode outputMode, TimeMode timeMode) {
    list = getHandle().getListState(MovedState.VARIABLE, new BytesEncoder(), TTLConfig.NONE());
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

  /** The rows that an operator is handed which takes all of a task's at once. */
  static Iterator<InternalRow> rowsOfTask(Iterator<?> values) {
    if (values.next() instanceof TaskRows task) {
      return task.rows();
    }
    throw new IllegalStateException("a level of a run was planned as one of a user's session");
  }

  /** Whether a node, which may be the output, is one of this level. */
  boolean isHere(int node) {
    return node >= 0 && nodes.program().nodes().get(node).level() == level;
  }

  Node.Turn turnOf(int node, byte[] message) {
    return nodes.node(node).turnOf(message);
  }

  /** What a node of this level sends once it has taken the messages of an address. */
  Outbox handle(byte[] address, List<byte[]> messages) {
    long timestamp = Message.timestamp(messages.get(0));
    expiry().advance(timestamp, messages.size(), this::expire);
    forgetWindows(messages.size());
    Outbox outbox = Outbox.at(address);
    int node = Address.nodeOf(address);
    long began = nodes.begin();
    nodes.node(node).handle(Address.keyOf(address), messages, stateOf(address), outbox);
    nodes.spent(node, System.nanoTime() - began);
    counting.afterGroup(nodes.counters(), outbox, timestamp);
    return outbox;
  }

  /** What the node of an address of this level has given sinks, as it stands there. */
  Outbox show(byte[] address) {
    begin();
    Outbox outbox = Outbox.at(address);
    Node node = nodes.node(Address.nodeOf(address));
    node.show(Address.keyOf(address), stateOf(address), outbox);
    return outbox;
  }

  /** Has the node of an address of this level say what stands there. */
  void trace(byte[] address, Slice parent, Tracing tracing) {
    begin();
    Node node = nodes.node(Address.nodeOf(address));
    node.trace(Address.keyOf(address), parent, stateOf(address), tracing);
  }

  /** Notes what steps of a node took that ran later, as their messages were asked for. */
  void spentLater(int node, long nanos) {
    nodes.spent(node, nanos);
  }

  /** Notes how many messages an address had in this task: those that came, and those it sent. */
  void heard(int node, byte[] address, long messages) {
    nodes.heard(node, address, messages);
  }

  private void expire(byte[] address, List<Slice> entries, long timestamp) {
    expire(address, entries, timestamp, stateOf(address));
  }

  private void expire(byte[] address, List<Slice> entries, long time, State state) {
    nodes.node(Address.nodeOf(address)).expire(Address.keyOf(address), entries, time, state);
  }

  /** The windows of one relation that this level keeps, and how far its time had come. */
  record WindowExpiry(Expiry expiry, long watermark) {}

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
          Program.RelationProgram relation = program.relations().get(i);
          int place = relation.notes() == null ? i : relation.notes();
          Expiry expiry = opened(new Expiry(values, Address.WINDOWS - place, retention));
          opened[i] = new WindowExpiry(expiry, watermarks.of(relation.name()));
        }
      }
      windows = opened;
      forgetful = Arrays.stream(opened).filter(Objects::nonNull).toArray(WindowExpiry[]::new);
    }
    return windows;
  }

  /** Of the Folds of the level whose deadlines stand in it. */
  LevelDeadlines deadlines() {
    if (deadlines == null) {
      deadlines =
          new LevelDeadlines(
              nodes.program(),
              level,
              (number, micros) -> opened(new Expiry(values, number, micros)));
    }
    return deadlines;
  }

  /** Read at a task's first message, when Spark has opened its state. */
  private Expiry expiry() {
    if (expiry == null) {
      expiry = opened(new Expiry(values, nodes.program().tombstoneRetentionMicros()));
    }
    return expiry;
  }

  /** A level that is told an address at a time does not know when it has heard the last. */
  Expiry opened(Expiry expiry) {
    return expiry;
  }

  /** Writes what there is to be forgotten and is not written yet. */
  void writeNotes() {
    if (expiry != null) {
      expiry.write();
    }
    for (WindowExpiry each : windows == null ? new WindowExpiry[0] : forgetful) {
      each.expiry().write();
    }
    if (deadlines != null) {
      deadlines.write();
    }
  }

  private State stateOf(byte[] address) {
    return stateOf(address, expiry());
  }

  private State stateOf(byte[] address, Expiry forgetting) {
    AddressValues stored = new AddressValues(values, address);
    return new AddressState(
        stored, expiry(), forgetting, windows(), deadlines(), getHandle(), address);
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
    nodes
        .node(Address.nodeOf(address))
        .wake(Address.keyOf(address), now, stateOf(address), outbox);
    counting.afterGroup(nodes.counters(), outbox, now);
    return outbox;
  }

  void begin() {
    if (nodes == null) {
      values = new PatchedValues(new StoredParts(list));
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
}
