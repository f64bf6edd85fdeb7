package dev.joinery.kernel.chain;

import dev.joinery.kernel.program.GroupProgram;
import dev.joinery.kernel.program.Program;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Groups under test: rows of a table by {@code kind}, in windows of {@code at}, with a count and,
 * of {@code amount}, aggregates; the program that keeps them, and what they must be.
 *
 * @param window null for none
 * @param session null where groups are no sessions
 * @param where whether only rows with {@code shown} exist
 * @param late null where windows are never forgotten
 */
record GroupSample(
    String name,
    GroupProgram.WindowProgram window,
    GroupProgram.SessionProgram session,
    List<String> functions,
    boolean where,
    GroupProgram.LateProgram late) {
  static final Table TABLE =
      Table.of("payment", 1, "id bigint, kind string, at timestamp, amount bigint, shown boolean");
  static final String PRODUCT = "totals";
  private static final List<String> BY_VALUE = List.of("min", "max", "count_distinct");
  private static final int AT = 2;
  private static final int AMOUNT = 3;
  private static final int SHOWN = 4;
  private static final long WEEK = 7L * 24 * 3600 * 1_000_000;

  GroupSample(
      String name, GroupProgram.WindowProgram window, List<String> functions, boolean where) {
    this(name, window, null, functions, where);
  }

  GroupSample(
      String name,
      GroupProgram.WindowProgram window,
      GroupProgram.SessionProgram session,
      List<String> functions,
      boolean where) {
    this(name, window, session, functions, where, null);
  }

  GroupSample forgetting(long retention) {
    GroupProgram.LateProgram late =
        new GroupProgram.LateProgram(GroupProgram.LateRows.CORRECT, AT, 0, 0, retention);
    return new GroupSample(name, window, session, functions, where, late);
  }

  static GroupProgram.WindowProgram window(GroupProgram.WindowShape shape, long size, long every) {
    return new GroupProgram.WindowProgram(shape, micros(size), micros(every), 0, null);
  }

  private static GroupProgram.Span micros(long count) {
    return new GroupProgram.Span(count, GroupProgram.WindowUnit.MICROS);
  }

  @Override
  public String toString() {
    return name;
  }

  private boolean isTimed() {
    return window != null || session != null;
  }

  /** Whether rows only ever come. */
  boolean appends() {
    return session != null && !session.divides();
  }

  private boolean isEnded() {
    return window != null && window.shape() == GroupProgram.WindowShape.CUMULATIVE;
  }

  private static Program.Slot slot(String name, DataType type) {
    return new Program.Slot(name, type);
  }

  private static Program.Sql column(String name, int slot, DataType type) {
    return new Program.Sql(name, List.of(new Program.ScopeName(name, slot, type)), type);
  }

  private static int[] ordinals(int count) {
    return java.util.stream.IntStream.range(0, count).toArray();
  }

  Program program() {
    List<Program.Slot> row = TABLE.slots();
    Program.AssemblerProgram view =
        new Program.AssemblerProgram(
            "payment", row, List.of(), List.of(), null, List.of(), ordinals(row.size()),
            TABLE.type());
    int[] given = !isTimed() ? new int[] {1, AMOUNT} : new int[] {1, AT, AMOUNT};
    StructType inputType = new StructType();
    for (int each : given) {
      inputType = inputType.add(TABLE.type().fields()[each]);
    }
    Program.Sql shown = where ? column("shown", SHOWN, DataTypes.BooleanType) : null;
    Program.AssemblerProgram input =
        new Program.AssemblerProgram(
            PRODUCT + "/rows", row, List.of(), List.of(), shown, List.of(), given, inputType);
    List<Program.Slot> inputs = new ArrayList<>();
    List<Program.AggregateProgram> aggregates = new ArrayList<>();
    aggregates.add(Program.AggregateProgram.of("count", null, null, DataTypes.LongType));
    inputs.add(slot("n", DataTypes.LongType));
    Program.Sql amount = column("amount", given.length - 1, DataTypes.LongType);
    for (String function : functions) {
      aggregates.add(
          new Program.AggregateProgram(
              function, amount, null, DataTypes.LongType, !appends() && BY_VALUE.contains(function),
              new int[0], new double[0]));
      inputs.add(slot(function, DataTypes.LongType));
    }
    GroupProgram group =
        new GroupProgram(PRODUCT, 2, 0, 1, 1, window, session, null, aggregates, 2, 0, late, null);
    Program.RetractProgram retract =
        new Program.RetractProgram("payment", 1, 0, List.of(new Program.GroupUse(0)), null, null);
    int[] key = {0};
    Program.Route route =
        new Program.Route(
            0, 1, 2, new Program.Address(key, new DataType[] {DataTypes.LongType}));
    return new Program(
        2,
        List.of(new Program.RelationProgram("payment", row, key, 0, null, null, null, null)),
        List.of(group, retract),
        List.of(view, input, document(inputs)),
        List.of(new Program.ProductProgram(PRODUCT, keyType(), document(inputs).type())),
        List.of(route),
        List.of(),
        WEEK,
        16 << 20,
        List.of(),
        null);
  }

  private StructType keyType() {
    StructType key = new StructType().add("kind", DataTypes.StringType);
    if (isTimed()) {
      key = key.add("window_start", DataTypes.TimestampType);
    }
    return isEnded() ? key.add("window_end", DataTypes.TimestampType) : key;
  }

  private Program.AssemblerProgram document(List<Program.Slot> inputs) {
    List<Program.Slot> own = new ArrayList<>();
    own.add(slot("kind", DataTypes.StringType));
    int shown = 1;
    if (isTimed()) {
      own.add(slot("window_start", DataTypes.TimestampType));
      own.add(slot("window_end", DataTypes.TimestampType));
      own.add(slot("seconds", DataTypes.DoubleType));
      shown = 3;
    }
    StructType type = new StructType();
    List<Integer> output = new ArrayList<>();
    for (int i = 0; i < shown; i++) {
      type = type.add(own.get(i).name(), own.get(i).type());
      output.add(i);
    }
    for (int i = 0; i < inputs.size(); i++) {
      type = type.add(inputs.get(i).name(), inputs.get(i).type());
      output.add(own.size() + i);
    }
    return new Program.AssemblerProgram(
        PRODUCT, own, inputs, List.of(), null, List.of(),
        output.stream().mapToInt(Integer::intValue).toArray(), type);
  }

  private record Key(String kind, long start, long end) {}

  /** The groups of rows, as a sink has them: value by key. */
  Map<String, String> groups(Iterable<List<Object>> rows) {
    List<List<Object>> shown = new ArrayList<>();
    rows.forEach(each -> shown.add(each));
    shown.removeIf(each -> where && !Boolean.TRUE.equals(each.get(SHOWN)));
    Map<Key, List<List<Object>>> groups = session == null ? groups(shown) : sessions(shown);
    Map<String, String> told = new TreeMap<>();
    groups.forEach((key, members) -> told.put(keyText(key), valueText(key, members)));
    return told;
  }

  private Map<Key, List<List<Object>>> groups(List<List<Object>> rows) {
    Map<Key, List<List<Object>>> groups = new LinkedHashMap<>();
    for (List<Object> row : rows) {
      keysOf(row).forEach(
          key -> groups.computeIfAbsent(key, each -> new ArrayList<>()).add(row));
    }
    return groups;
  }

  /** Rows in order, cut at the gaps, and so long after the first of a run. */
  private Map<Key, List<List<Object>>> sessions(List<List<Object>> rows) {
    Map<Key, List<List<Object>>> sessions = new LinkedHashMap<>();
    Map<String, List<List<Object>>> kinds = new HashMap<>();
    rows.stream()
        .filter(each -> each.get(AT) != null)
        .sorted(Comparator.comparingLong(each -> (Long) each.get(AT)))
        .forEach(
            each ->
                kinds.computeIfAbsent((String) each.get(1), any -> new ArrayList<>()).add(each));
    kinds.forEach((kind, ofKind) -> cut(kind, ofKind, sessions));
    return sessions;
  }

  private void cut(
      String kind, List<List<Object>> rows, Map<Key, List<List<Object>>> sessions) {
    List<List<Object>> open = new ArrayList<>();
    long run = 0;
    long end = 0;
    for (List<Object> row : rows) {
      long time = (Long) row.get(AT);
      long gone = open.isEmpty() ? 0 : time - (Long) open.get(open.size() - 1).get(AT);
      boolean parted = open.isEmpty() || gone >= session.gapMicros();
      if (parted || time >= end) {
        close(kind, open, end, sessions);
        open = new ArrayList<>();
        run = parted ? time : run;
        long max = session.maxMicros();
        end = max == 0 ? Long.MAX_VALUE : run + ((time - run) / max + 1) * max;
      }
      open.add(row);
    }
    close(kind, open, end, sessions);
  }

  private void close(
      String kind,
      List<List<Object>> rows,
      long cut,
      Map<Key, List<List<Object>>> sessions) {
    if (!rows.isEmpty()) {
      long last = (Long) rows.get(rows.size() - 1).get(AT);
      long end = Math.min(cut, last + session.gapMicros());
      sessions.put(new Key(kind, (Long) rows.get(0).get(AT), end), rows);
    }
  }

  private Stream<Key> keysOf(List<Object> row) {
    String kind = (String) row.get(1);
    if (window == null) {
      return Stream.of(new Key(kind, 0, 0));
    }
    if (row.get(AT) == null) {
      return Stream.empty();
    }
    long time = (Long) row.get(AT);
    long size = window.size().count();
    long every = window.every().count();
    if (isEnded()) {
      long start = Math.floorDiv(time, size) * size;
      return Stream.iterate(start + every, end -> end + every)
          .limit(size / every)
          .filter(end -> end > time)
          .map(end -> new Key(kind, start, end));
    }
    long last = Math.floorDiv(time, every) * every;
    return Stream.iterate(last, start -> start > time - size, start -> start - every)
        .map(start -> new Key(kind, start, start + size));
  }

  private String keyText(Key key) {
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("kind", key.kind());
    if (isTimed()) {
      fields.put("window_start", time(key.start()));
    }
    if (isEnded()) {
      fields.put("window_end", time(key.end()));
    }
    return text(fields);
  }

  private String valueText(Key key, List<List<Object>> rows) {
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("kind", key.kind());
    if (isTimed()) {
      fields.put("window_start", time(key.start()));
      fields.put("window_end", time(key.end()));
    }
    fields.put("n", (long) rows.size());
    List<Long> amounts =
        rows.stream().map(each -> (Long) each.get(AMOUNT)).filter(each -> each != null).toList();
    for (String function : functions) {
      boolean counts = function.equals("count_distinct");
      fields.put(function, amounts.isEmpty() && !counts ? null : aggregated(function, amounts));
    }
    return text(fields);
  }

  private static Long aggregated(String function, List<Long> values) {
    return switch (function) {
      case "count_distinct" -> values.stream().distinct().count();
      case "sum" -> values.stream().mapToLong(Long::longValue).sum();
      case "min" -> values.stream().min(Comparator.naturalOrder()).orElseThrow();
      default -> values.stream().max(Comparator.naturalOrder()).orElseThrow();
    };
  }

  private static String time(long micros) {
    return java.time.Instant.EPOCH.plus(micros, java.time.temporal.ChronoUnit.MICROS).toString();
  }

  private static String text(Map<String, Object> fields) {
    Map<String, String> parts = new HashMap<>();
    fields.forEach(
        (name, value) -> parts.put(name, value instanceof String ? "\"" + value + "\"" : "" + value));
    StringBuilder out = new StringBuilder("{");
    fields.keySet().forEach(
        name -> out.append(out.length() > 1 ? "," : "").append('"').append(name).append("\":")
            .append(parts.get(name)));
    return out.append('}').toString();
  }
}
