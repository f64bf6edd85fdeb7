package dev.joinery.kernel.stream;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.chain.Emission;
import dev.joinery.kernel.chain.Nodes;
import dev.joinery.kernel.chain.Table;
import dev.joinery.kernel.ingress.Entrance;
import dev.joinery.kernel.ingress.Ingress;
import dev.joinery.kernel.message.Change;
import dev.joinery.kernel.message.Event;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.program.Compiler;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.state.Expiry;
import dev.joinery.kernel.state.MemoryState;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import scala.Tuple2;

/** A stream's nodes in memory, without Spark: runs them batch by batch, timers included. */
final class StreamRun {
  /** What left the chain; a dead letter has its reason as the product. */
  record Sent(String product, String key, long version, String value) {
    @Override
    public String toString() {
      return product + " " + key + " " + value;
    }
  }

  private final Program program;
  private final Nodes nodes;
  private final Ingress.Router router;
  private final List<LogClock> clocks;
  private final Map<Table, UnsafeProjection> decoders = new HashMap<>();
  private final Map<Integer, Entrance.Gate> gates = new HashMap<>();
  private final Map<Slice, MemoryState> states = new HashMap<>();
  private final Random random;
  private final Map<Slice, byte[]> notes = new HashMap<>();
  private Expiry expiry;
  private long place;
  private String watermarks;

  StreamRun(Program program, long seed) {
    this.program = program;
    this.nodes = new Nodes(new Compiler(null).compile(program), () -> watermarks);
    this.router = new Ingress.Router(program);
    this.clocks = Entrance.clocksOf(nodes.context());
    program
        .entries()
        .forEach(
            each ->
                gates.put(
                    each.relation(), new Entrance.Gate(each, nodes.context(), this::placeOf)));
    this.random = new Random(seed);
  }

  /** The watermarks that the batches from here on are told. */
  void tell(String told) {
    watermarks = told;
  }

  /** Looks at all that asked for it until a time, as levels do in the course of batches. */
  void expire(long timestamp) {
    beginTasks();
    expiry.advance(
        timestamp,
        1 << 20,
        (address, entries, now) ->
            nodes
                .node(Address.nodeOf(address))
                .expire(Address.keyOf(address), entries, now, states.get(Slice.of(address))));
  }

  private void beginTasks() {
    expiry =
        new Expiry(
            new Expiry.Store() {
              @Override
              public byte[] get(byte[] address) {
                return notes.get(Slice.of(address));
              }

              @Override
              public void put(byte[] address, byte[] bytes) {
                notes.put(Slice.of(address), bytes);
              }

              @Override
              public void remove(byte[] address) {
                notes.remove(Slice.of(address));
              }
            },
            program.tombstoneRetentionMicros());
  }

  /** A row of a relation, or with {@code op} its end. */
  record Input(Table table, int op, List<Object> row) {}

  static Input put(Table table, Object... row) {
    return new Input(table, Message.OP_UPSERT, java.util.Arrays.asList(row));
  }

  static Input delete(Table table, Object... key) {
    return new Input(table, Message.OP_DELETE, java.util.Arrays.asList(key));
  }

  /**
   * Runs one batch; the messages of a group come in random order, as in a shuffle. Of one key only
   * the newest is returned, as {@code Repeats} leaves it.
   */
  List<Sent> batch(long timestamp, Input... inputs) {
    beginTasks();
    Outbox source = new Outbox();
    for (Input each : inputs) {
      send(each, timestamp, source);
    }
    if (inputs.length > 0) {
      clocks.forEach(each -> each.tell(timestamp, source));
    }
    List<Tuple2<byte[], byte[]>> wire = new ArrayList<>();
    source.forEachRemaining(wire::add);
    for (int level = 1; level <= program.levels(); level++) {
      wire = level(level, wire, timestamp);
    }
    List<Sent> sent = new ArrayList<>();
    for (byte[] each : newest(wire)) {
      read(each, sent);
    }
    sent.sort(java.util.Comparator.comparing(Sent::toString));
    return sent;
  }

  private static List<byte[]> newest(List<Tuple2<byte[], byte[]>> wire) {
    Map<List<Object>, byte[]> newest = new LinkedHashMap<>();
    for (Tuple2<byte[], byte[]> each : wire) {
      byte[] message = each._1();
      Object place = placeOf(message);
      List<Object> of =
          place == null ? List.of(newest.size()) : List.of(Emission.keyOf(message), "key");
      newest.merge(of, message, (one, two) -> placeOf(one).compareTo(placeOf(two)) > 0 ? one : two);
    }
    return new ArrayList<>(newest.values());
  }

  private static Event.Place placeOf(byte[] message) {
    if (Message.kind(message) != Message.DOCUMENT) {
      return null;
    }
    ByteReader in = Message.body(message);
    in.readVarInt();
    in.readLong();
    Slice place = in.readBlob();
    return place.isEmpty() ? null : Event.Place.read(new ByteReader(place));
  }

  /** How many addresses hold anything. */
  long kept() {
    return states.values().stream().filter(each -> !each.isEmpty()).count();
  }

  /** How many bytes stand in all states. */
  long keptBytes() {
    return states.values().stream().mapToLong(MemoryState::allBytes).sum();
  }

  /** How many bytes say what is to be looked at. */
  long noteBytes() {
    return notes.values().stream().mapToLong(each -> each.length).sum();
  }

  void resetCounts() {
    states.values().forEach(MemoryState::resetCounts);
  }

  /** How many pages of state were read or written since the counts began. */
  long pagesTouched() {
    return states.values().stream().mapToLong(each -> each.pageReads + each.pageWrites).sum();
  }

  private String placeOf() {
    return "log/0/" + place;
  }

  private void send(Input input, long timestamp, Outbox outbox) {
    int relation = 0;
    while (!program.relations().get(relation).name().equals(input.table().name())) {
      relation++;
    }
    UnsafeProjection decoder =
        decoders.computeIfAbsent(input.table(), each -> UnsafeProjection.create(each.type()));
    Slice row = BinaryRow.copy(decoder.apply(input.table().internal(input.row())));
    Change change =
        new Change(input.op(), false, 0, 0, place++, null);
    if (gates.containsKey(relation)) {
      gates.get(relation).send(change, row, timestamp, outbox);
    }
    for (LogClock clock : clocks) {
      if (clock.relation() == relation) {
        clock.send(change, 0, Long.MAX_VALUE, row, timestamp, outbox);
      }
      if (random.nextInt(3) == 0) {
        clock.tell(timestamp, outbox); // Another task goes on from here.
      }
    }
    router.send(relation, change, row, timestamp, outbox);
  }

  private List<Tuple2<byte[], byte[]>> level(
      int level, List<Tuple2<byte[], byte[]>> wire, long timestamp) {
    Map<Slice, List<byte[]>> groups = new LinkedHashMap<>();
    List<Tuple2<byte[], byte[]>> next = new ArrayList<>();
    for (Tuple2<byte[], byte[]> each : wire) {
      int node = Address.nodeOf(each._2());
      if (node >= 0 && program.nodes().get(node).level() == level) {
        groups.computeIfAbsent(Slice.of(each._2()), any -> new ArrayList<>()).add(each._1());
      } else {
        next.add(each);
      }
    }
    groups.forEach(
        (address, messages) -> {
          Collections.shuffle(messages, random);
          byte[] bytes = address.toBytes();
          MemoryState state = states.computeIfAbsent(address, any -> new MemoryState(bytes, () -> expiry));
          Outbox outbox = new Outbox();
          nodes
              .node(Address.nodeOf(bytes))
              .handle(Address.keyOf(bytes), messages, state, outbox);
          outbox.forEachRemaining(next::add);
        });
    wake(level, timestamp, next);
    return next;
  }

  /** Calls what asked for a time that has come, after all messages, as Spark does. */
  private void wake(int level, long timestamp, List<Tuple2<byte[], byte[]>> next) {
    for (Map.Entry<Slice, MemoryState> each : new TreeMap<>(states).entrySet()) {
      int node = Address.nodeOf(each.getKey().toBytes());
      while (program.nodes().get(node).level() == level
          && !each.getValue().wakes.isEmpty()
          && each.getValue().wakes.first() <= timestamp) {
        each.getValue().wakes.pollFirst();
        Outbox outbox = new Outbox();
        Slice key = Address.keyOf(each.getKey().toBytes());
        nodes.node(node).wake(key, timestamp, each.getValue(), outbox);
        outbox.forEachRemaining(next::add);
      }
    }
  }

  private void read(byte[] message, List<Sent> sent) {
    switch (Message.kind(message)) {
      case Message.DOCUMENT, Message.TOMBSTONE -> {
        Emission each = Emission.read(program, message);
        sent.add(new Sent(each.product(), each.key(), each.version(), each.value()));
      }
      case Message.DEAD_LETTER -> {
        try {
          var letter = new ObjectMapper().readTree(Message.body(message).rest().toBytes());
          sent.add(
              new Sent(
                  letter.get("reason").asText(),
                  letter.get("key").asText(),
                  0,
                  letter.get("value").asText()));
        } catch (IOException error) {
          throw new UncheckedIOException(error);
        }
      }
      case Message.COUNT -> {}
      default -> throw new IllegalStateException("kind " + Message.kind(message));
    }
  }
}
