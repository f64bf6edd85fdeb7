package dev.joinery.kernel.chain;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.ingress.PendingRoots;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.Replacement;
import dev.joinery.kernel.node.Deadlines;
import dev.joinery.kernel.state.Expiry;
import dev.joinery.kernel.state.MemoryState;
import java.lang.management.ManagementFactory;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import scala.Tuple2;

/**
 * A chain of nodes in memory, without Spark: runs it batch by batch as a micro-batch does, or lets
 * single messages overtake each other as real-time mode does.
 */
final class Network {
  private record Channel(Slice sender, Slice receiver) {}

  private final Chain chain;
  private final Map<Slice, MemoryState> states = new HashMap<>();
  private final Map<Channel, ArrayDeque<byte[]>> inFlight = new LinkedHashMap<>();
  private final List<Channel> busy = new ArrayList<>();
  private final List<Emission> emissions = new ArrayList<>();

  /** By key, the hash that a document told of itself which was sent last and stands. */
  private Map<String, Long> held = new HashMap<>();

  /** Keys of which something was sent that told nothing. */
  private final Set<String> unknown = new HashSet<>();
  private final List<NoteStore> notes = new ArrayList<>();
  private Expiry[] expiries;
  private Expiry[] windows;
  private boolean keepsEverything;
  private int lastLevel = Integer.MAX_VALUE;
  private long reached = Marks.UNKNOWN;
  private int messages;
  private int largestMessage;
  private final Map<Integer, Long> nanos = new HashMap<>();

  Network(Chain chain) {
    this.chain = chain;
    for (int level = 0; level <= chain.program().levels(); level++) {
      notes.add(new NoteStore());
    }
    beginTasks();
  }

  /** Where a level keeps what is to be forgotten, and when. */
  private static final class NoteStore implements Expiry.Store {
    private final Map<Slice, byte[]> notes = new HashMap<>();

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
  }

  /** Begins as the tasks of a batch do, which know only what state holds. */
  void beginTasks() {
    long retention = chain.program().tombstoneRetentionMicros();
    expiries = notes.stream().map(each -> new Expiry(each, retention)).toArray(Expiry[]::new);
    windows =
        notes.stream()
            .map(each -> new Expiry(each, Address.WINDOWS, retention))
            .toArray(Expiry[]::new);
  }

  /** Never looks whether something may be forgotten. */
  void keepEverything() {
    keepsEverything = true;
  }

  /** Looks at all that is due, in all levels. */
  void expireAll(long timestamp) {
    beginTasks();
    for (Expiry each : expiries) {
      each.advance(timestamp, 1 << 20, this::expire);
    }
  }

  /** Looks at all windows that are due, in all levels. */
  void forgetWindows(long watermark) {
    beginTasks();
    for (Expiry each : windows) {
      each.advance(watermark, 1 << 20, this::expire);
    }
  }

  private void expire(byte[] address, List<Slice> entries, long timestamp) {
    MemoryState state = stateOf(Slice.of(address));
    chain.node(Address.nodeOf(address)).expire(Address.keyOf(address), entries, timestamp, state);
  }

  private MemoryState stateOf(Slice address) {
    byte[] bytes = address.toBytes();
    int level = chain.levelOf(Address.nodeOf(bytes));
    MemoryState state =
        states.computeIfAbsent(
            address, each -> new MemoryState(bytes, () -> expiries[level], () -> windows[level]));
    state.watermark = reached;
    return state;
  }

  /** Says how far the one relation had come before the batches that follow. */
  void reach(long watermark) {
    reached = watermark;
  }

  /** How many addresses hold something. */
  long addressCount() {
    return states.values().stream().filter(each -> !each.isEmpty()).count();
  }

  int levels() {
    return expiries.length;
  }

  long stateBytes() {
    return states.values().stream().mapToLong(MemoryState::allBytes).sum();
  }

  /** Of the addresses of one node. */
  long stateBytes(int node) {
    return states.entrySet().stream()
        .filter(each -> Address.nodeOf(each.getKey().toBytes()) == node)
        .mapToLong(each -> each.getValue().allBytes())
        .sum();
  }

  /** What was ever written to the addresses of one node. */
  long bytesWritten(int node) {
    return states.entrySet().stream()
        .filter(each -> Address.nodeOf(each.getKey().toBytes()) == node)
        .mapToLong(each -> each.getValue().bytesWritten())
        .sum();
  }

  /** What was ever written to it, which is less than its values where these changed in parts. */
  long bytesWritten() {
    return states.values().stream().mapToLong(MemoryState::bytesWritten).sum();
  }

  long noteBytes() {
    return notes.stream()
        .flatMap(each -> each.notes.values().stream())
        .mapToLong(each -> each.length)
        .sum();
  }

  /** Handles one batch, level by level; the messages of a group come in random order. */
  List<Emission> batch(List<LogChange> changes, long timestamp, Random random) {
    return batch(changes, List.of(), timestamp, random);
  }

  /** The same, and tells pending roots. */
  List<Emission> batch(
      List<LogChange> changes, List<PendingRoots.Root> pending, long timestamp, Random random) {
    Outbox source = new Outbox();
    for (LogChange change : changes) {
      chain.send(change, timestamp, source);
    }
    pending.forEach(each -> each.tell(source));
    return batch(source, random);
  }

  /** The same, where the newest time of the log, which is one partition, is told, too. */
  List<Emission> batchUpTo(long newest, List<LogChange> changes, long timestamp, Random random) {
    Outbox source = new Outbox();
    for (LogChange change : changes) {
      chain.send(change, timestamp, source);
    }
    Deadlines.all(chain.program())
        .forEach(each -> each.tell(Map.of(0L, newest), timestamp, source));
    return batch(source, random);
  }

  private List<Emission> batch(Outbox source, Random random) {
    beginTasks();
    List<Tuple2<byte[], byte[]>> wire = new ArrayList<>();
    source.forEachRemaining(wire::add);
    List<Tuple2<byte[], byte[]>> last = levels(wire, random);
    for (Tuple2<byte[], byte[]> each : last) {
      emit(each._1());
    }
    return drain();
  }

  private List<Tuple2<byte[], byte[]>> levels(List<Tuple2<byte[], byte[]>> first, Random random) {
    List<Tuple2<byte[], byte[]>> wire = first;
    for (int level = 1; level <= chain.program().levels(); level++) {
      wire = level(level, wire, random);
    }
    return wire;
  }

  private List<Tuple2<byte[], byte[]>> level(
      int level, List<Tuple2<byte[], byte[]>> wire, Random random) {
    Map<Slice, List<byte[]>> groups = new LinkedHashMap<>();
    List<Tuple2<byte[], byte[]>> next = new ArrayList<>();
    for (Tuple2<byte[], byte[]> each : wire) {
      int node = Address.nodeOf(each._2());
      if (node >= 0 && chain.levelOf(node) == level && level <= lastLevel) {
        groups.computeIfAbsent(Slice.of(each._2()), any -> new ArrayList<>()).add(each._1());
      } else if (node < 0 || chain.levelOf(node) > level) {
        next.add(each);
      }
    }
    List<Slice> addresses = new ArrayList<>(groups.keySet());
    Collections.shuffle(addresses, random);
    for (Slice address : addresses) {
      Collections.shuffle(groups.get(address), random);
      long begun = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
      handle(address, groups.get(address)).forEachRemaining(next::add);
      long worked = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - begun;
      nanos.merge(Address.nodeOf(address.toBytes()), worked, Long::sum);
    }
    return next;
  }

  private Outbox handle(Slice address, List<byte[]> received) {
    messages += received.size();
    received.forEach(each -> largestMessage = Math.max(largestMessage, each.length));
    Outbox outbox = new Outbox();
    byte[] bytes = address.toBytes();
    MemoryState state = stateOf(address);
    if (!keepsEverything) {
      expiries[chain.levelOf(Address.nodeOf(bytes))]
          .advance(Message.timestamp(received.get(0)), received.size(), this::expire);
    }
    chain.node(Address.nodeOf(bytes)).handle(Address.keyOf(bytes), received, state, outbox);
    return outbox;
  }

  /** Lets messages to levels after this one get lost, where only the first levels matter. */
  void endAfter(int level) {
    lastLevel = level;
  }

  void resetCounts() {
    messages = 0;
    largestMessage = 0;
    nanos.clear();
  }

  /** The processor time that a node took in batches since the last reset. */
  long nanos(int node) {
    return nanos.getOrDefault(node, 0L);
  }

  /** How many messages nodes were given since the last reset. */
  int messages() {
    return messages;
  }

  int largestMessage() {
    return largestMessage;
  }

  /** The state of a node that has one address. */
  MemoryState stateOf(int node) {
    return states.entrySet().stream()
        .filter(each -> Address.nodeOf(each.getKey().toBytes()) == node)
        .map(Map.Entry::getValue)
        .findFirst()
        .orElseThrow();
  }

  /** The state with the most pages. */
  MemoryState largestState() {
    return Collections.max(
        states.values(), Comparator.comparingInt(MemoryState::pageCount));
  }

  /** The addresses whose state this is. */
  List<Slice> addresses(MemoryState state) {
    return states.entrySet().stream()
        .filter(each -> each.getValue() == state)
        .map(Map.Entry::getKey)
        .toList();
  }

  /** Puts one change in flight. */
  void send(LogChange change, long timestamp) {
    Outbox outbox = new Outbox();
    chain.send(change, timestamp, outbox);
    post(Slice.of(change.table().name().getBytes()), outbox);
  }

  private void post(Slice sender, Outbox outbox) {
    while (outbox.hasNext()) {
      Tuple2<byte[], byte[]> each = outbox.next();
      if (Address.nodeOf(each._2()) < 0) {
        emit(each._1());
        continue;
      }
      Channel channel = new Channel(sender, Slice.of(each._2()));
      ArrayDeque<byte[]> queue =
          inFlight.computeIfAbsent(channel, any -> new ArrayDeque<>());
      if (queue.isEmpty()) {
        busy.add(channel);
      }
      queue.add(each._1());
    }
  }

  /** Puts the telling of pending roots in flight. */
  void send(List<PendingRoots.Root> pending) {
    Outbox outbox = new Outbox();
    pending.forEach(each -> each.tell(outbox));
    post(Slice.of("pending".getBytes()), outbox);
  }

  /** Roots as a file has them, a line each. */
  List<PendingRoots.Root> roots(Stream<String> lines) {
    return lines.map(new PendingRoots(chain.program())::read).toList();
  }

  /** All states, as a checkpoint keeps them. */
  Map<Slice, MemoryState> checkpoint() {
    Map<Slice, MemoryState> copy = new HashMap<>();
    states.forEach((address, state) -> copy.put(address, state.copy()));
    return copy;
  }

  /** Loses everything since a checkpoint, and what was in flight; no sink is known any more. */
  void restore(Map<Slice, MemoryState> checkpoint) {
    states.clear();
    checkpoint.forEach((address, state) -> states.put(address, state.copy()));
    held = null;
    inFlight.clear();
    busy.clear();
  }

  boolean isBusy() {
    return !busy.isEmpty();
  }

  /** Delivers the first message of any one pair of sender and receiver. */
  void deliver(Random random) {
    int at = random.nextInt(busy.size());
    Channel channel = busy.get(at);
    ArrayDeque<byte[]> queue = inFlight.get(channel);
    byte[] message = queue.poll();
    if (queue.isEmpty()) {
      inFlight.remove(channel);
      busy.set(at, busy.get(busy.size() - 1));
      busy.remove(busy.size() - 1);
    }
    post(channel.receiver(), handle(channel.receiver(), List.of(message)));
  }

  private void emit(byte[] message) {
    int kind = Message.kind(message);
    if (kind == Message.DOCUMENT || kind == Message.TOMBSTONE) {
      emissions.add(Emission.read(chain.program(), message));
      if (held != null) {
        checkReplaced(message);
      }
    }
  }

  /** Fails where a document knows what it replaces, and that is not what was sent last. */
  private void checkReplaced(byte[] message) {
    Replacement told = Emission.replacementOf(message);
    String key = Emission.keyOf(message);
    if (told == null) {
      held.remove(key);
      unknown.add(key);
      return;
    }
    if (!unknown.remove(key)) {
      Long before = told.held() ? (Long) told.before() : null;
      assertEquals(held.get(key), before, key);
    }
    if (told.holds()) {
      held.put(key, told.after());
    } else {
      held.remove(key);
    }
  }

  /** What left the chain since the last call. */
  List<Emission> drain() {
    List<Emission> drained = List.copyOf(emissions);
    emissions.clear();
    return drained;
  }
}
