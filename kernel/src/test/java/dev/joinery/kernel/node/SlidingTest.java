package dev.joinery.kernel.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.chain.Emission;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.program.Compiler;
import dev.joinery.kernel.program.GroupProgram;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.state.Expiry;
import dev.joinery.kernel.state.MemoryState;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Tuple2;
import scala.jdk.javaapi.CollectionConverters;

/** The last while of random rows, under a random watermark, against all rows looked through. */
class SlidingTest {
  private static final long START = 1_700_000_000_000_000L;
  private static final long SIZE = 100;
  private static final StructType ROW =
      StructType.fromDDL("kind string, at timestamp, amount bigint");
  private static final UnsafeProjection PROJECTION = UnsafeProjection.create(ROW);
  private static final Program PROGRAM = program();

  private record Row(String kind, long at, long amount) {
    Slice bytes() {
      List<Object> values = List.of(UTF8String.fromString(kind), at, amount);
      InternalRow row = InternalRow.apply(CollectionConverters.asScala(values).toSeq());
      return BinaryRow.copy(PROJECTION.apply(row));
    }
  }

  /** What is to be forgotten some day. */
  private static final class Notes implements Expiry.Store {
    private final Map<Slice, byte[]> kept = new HashMap<>();

    @Override
    public byte[] get(byte[] address) {
      return kept.get(Slice.of(address));
    }

    @Override
    public void put(byte[] address, byte[] value) {
      kept.put(Slice.of(address), value);
    }

    @Override
    public void remove(byte[] address) {
      kept.remove(Slice.of(address));
    }
  }

  private final NodeContext context =
      new NodeContext(new Compiler(null).compile(PROGRAM), () -> null);
  private final Grouping grouping = new Grouping(0, context);
  private final Sliding sliding = new Sliding(0, (GroupProgram) PROGRAM.nodes().get(0), context);
  private final Map<Slice, MemoryState> states = new HashMap<>();
  private final Expiry expiry = new Expiry(new Notes(), 1);
  private final Map<String, Long> versions = new HashMap<>();
  private final List<Row> rows = new ArrayList<>();
  private long watermark = Marks.UNKNOWN;
  private long amounts;
  private Map<String, String> shown = Map.of();

  private static Program program() {
    List<Program.Slot> row = slots(ROW);
    Program.AssemblerProgram whole = copy("payment", row, ROW);
    Program.AssemblerProgram input = copy("last/rows", row, ROW);
    StructType shown =
        StructType.fromDDL("kind string, n bigint, sum bigint, low bigint, high bigint");
    List<Program.Slot> own =
        List.of(
            new Program.Slot("kind", DataTypes.StringType),
            new Program.Slot("seconds", DataTypes.DoubleType));
    Program.AssemblerProgram document =
        new Program.AssemblerProgram(
            "last",
            own,
            slots(shown).subList(1, 5),
            List.of(),
            null,
            List.of(),
            new int[] {0, 2, 3, 4, 5},
            shown);
    GroupProgram group =
        new GroupProgram(
            "last",
            1,
            0,
            1,
            1,
            null,
            null,
            new GroupProgram.SlidingProgram(SIZE),
            List.of(
                Program.AggregateProgram.of("count", null, null, DataTypes.LongType),
                amount("sum", false),
                amount("min", true),
                amount("max", true)),
            2,
            0,
            null,
            null);
    return new Program(
        2,
        List.of(new Program.RelationProgram("payment", row, new int[] {0}, 0, null, null, null, null)),
        List.of(group),
        List.of(whole, input, document),
        List.of(
            new Program.ProductProgram(
                "last", new StructType().add("kind", DataTypes.StringType), shown)),
        List.of(),
        List.of(),
        1,
        1 << 20,
        List.of(),
        null);
  }

  private static Program.AggregateProgram amount(String function, boolean byValue) {
    Program.Sql amount =
        new Program.Sql(
            "amount",
            List.of(new Program.ScopeName("amount", 2, DataTypes.LongType)),
            DataTypes.LongType);
    return new Program.AggregateProgram(
        function, amount, null, DataTypes.LongType, byValue, new int[0], new double[0]);
  }

  private static Program.AssemblerProgram copy(
      String name, List<Program.Slot> row, StructType type) {
    int[] all = IntStream.range(0, row.size()).toArray();
    return new Program.AssemblerProgram(
        name, row, List.of(), List.of(), null, List.of(), all, type);
  }

  private static List<Program.Slot> slots(StructType type) {
    List<Program.Slot> slots = new ArrayList<>();
    for (var field : type.fields()) {
      DataType each = field.dataType();
      slots.add(new Program.Slot(field.name(), each));
    }
    return slots;
  }

  /** What the last while holds, by kind. */
  private Map<String, String> expected() {
    Map<String, List<Long>> inside = new TreeMap<>();
    for (Row each : rows) {
      if (watermark != Marks.UNKNOWN && each.at() <= watermark && each.at() > watermark - SIZE) {
        inside.computeIfAbsent(each.kind(), any -> new ArrayList<>()).add(each.amount());
      }
    }
    Map<String, String> told = new TreeMap<>();
    inside.forEach(
        (kind, amounts) -> {
          var statistics = amounts.stream().mapToLong(Long::longValue).summaryStatistics();
          told.put(
              "{\"kind\":\"" + kind + "\"}",
              "{\"kind\":\"%s\",\"n\":%d,\"sum\":%d,\"low\":%d,\"high\":%d}"
                  .formatted(
                      kind,
                      amounts.size(),
                      statistics.getSum(),
                      statistics.getMin(),
                      statistics.getMax()));
        });
    return told;
  }

  /** Takes rows in and out, moves the watermark, and compares what is sent with what changed. */
  private void batch(int number, List<Row> come, List<Row> go, long reached, String told) {
    long now = START + number;
    Outbox outbox = new Outbox();
    for (Row each : come) {
      grouping.take(null, each.bytes(), Slice.EMPTY, Marks.UNKNOWN, now, outbox);
    }
    for (Row each : go) {
      grouping.take(each.bytes(), null, Slice.EMPTY, Marks.UNKNOWN, now, outbox);
    }
    grouping.sendTo(now, outbox);
    Map<Slice, List<byte[]>> messages = new HashMap<>();
    while (outbox.hasNext()) {
      Tuple2<byte[], byte[]> each = outbox.next();
      Slice key = Address.keyOf(each._2()).detach();
      messages.computeIfAbsent(key, any -> new ArrayList<>()).add(each._1());
    }
    rows.addAll(come);
    rows.removeAll(new HashSet<>(go));
    for (String kind : due(come, go, reached)) {
      byte[] closed = Message.closed(now, reached, reached, 1);
      messages.computeIfAbsent(keyOf(kind), any -> new ArrayList<>()).add(closed);
    }
    watermark = reached;
    Map<String, String> after = expected();
    Map<String, String> sent = new TreeMap<>();
    messages.forEach((key, each) -> handle(key, each, sent));
    Map<String, String> changed = new TreeMap<>(after);
    shown.keySet().forEach(each -> changed.putIfAbsent(each, null));
    changed.entrySet().removeIf(each -> Objects.equals(each.getValue(), shown.get(each.getKey())));
    assertEquals(changed, sent, told + ", batch " + number);
    shown = after;
  }

  /** The kinds that are told the watermark: at what comes or goes, and where it passes a row. */
  private TreeSet<String> due(List<Row> come, List<Row> go, long reached) {
    TreeSet<String> due = new TreeSet<>();
    come.forEach(each -> due.add(each.kind()));
    go.forEach(each -> due.add(each.kind()));
    for (Row each : rows) {
      for (long at : new long[] {each.at(), each.at() + SIZE}) {
        if (at > watermark && at <= reached) {
          due.add(each.kind());
        }
      }
    }
    return due;
  }

  private Slice keyOf(String kind) {
    Outbox outbox = new Outbox();
    grouping.take(
        null, new Row(kind, START, 1).bytes(), Slice.EMPTY, Marks.UNKNOWN, START, outbox);
    grouping.sendTo(START, outbox);
    return Address.keyOf(outbox.next()._2()).detach();
  }

  private void handle(Slice key, List<byte[]> messages, Map<String, String> sent) {
    MemoryState state =
        states.computeIfAbsent(key, each -> new MemoryState(each.toBytes(), () -> expiry));
    Outbox outbox = new Outbox();
    sliding.handle(key, messages, state, outbox);
    while (outbox.hasNext()) {
      Emission each = Emission.read(PROGRAM, outbox.next()._1());
      Long known = versions.put(each.key(), each.version());
      assertTrue(known == null || known < each.version(), each.key() + ": a version fell");
      assertTrue(!sent.containsKey(each.key()), each.key() + " was sent twice");
      sent.put(each.key(), each.value());
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {4, 60, 2_000})
  void itHoldsTheRowsUpToTheWatermarkAndForgetsThoseLeftBehind(int mostRows) {
    Random random = new Random(mostRows);
    long clock = START;
    for (int number = 0; number < 60; number++) {
      clock += random.nextInt(80);
      List<Row> come = new ArrayList<>();
      for (int left = random.nextInt(mostRows); left > 0; left--) {
        long at = clock + random.nextInt(300) - 200;
        come.add(new Row("k" + random.nextInt(3), at, ++amounts));
      }
      List<Row> go = new ArrayList<>();
      rows.stream().filter(each -> random.nextInt(10) == 0).forEach(go::add);
      long reached = Math.max(watermark, clock - random.nextInt(30));
      batch(number, come, go, reached, mostRows + " rows");
    }
    assertTrue(states.values().stream().mapToInt(MemoryState::pageCount).sum() < 40);
  }
}
