package dev.joinery.kernel.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.joinery.kernel.program.GroupProgram;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Windows against the table that the semantics in Python are held to. */
class WindowsTest {
  private static final Pattern LENGTH = Pattern.compile("(\\d+) ?([a-z]+)");
  private static final long DAY = 86_400_000_000L;

  static List<String> cases() throws IOException {
    try (InputStream in = WindowsTest.class.getResourceAsStream("/window_cases.txt")) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8)
          .lines()
          .filter(each -> !each.isBlank() && !each.startsWith("#"))
          .toList();
    }
  }

  @ParameterizedTest
  @MethodSource("cases")
  void theWindowsOfATimeAreThoseOfTheTable(String line) {
    String[] parts = line.split(" \\| ");
    Windows windows = Windows.of(program(parts[0]));
    StringJoiner told = new StringJoiner(", ");

    windows.holding(
        micros(parts[1]), (start, end) -> told.add(instant(start) + "/" + instant(end)));

    assertEquals(parts.length > 2 ? parts[2] : "", told.toString());
  }

  @ParameterizedTest
  @MethodSource("cases")
  void aSliceIsHeldByTheSameWindowsAsItsTimeAndAWindowEndsWhereItWasSaidTo(String line) {
    String[] parts = line.split(" \\| ");
    GroupProgram.WindowProgram program = program(parts[0]);
    Windows windows = Windows.of(program);
    long time = micros(parts[1]);
    TreeSet<String> ofTime = new TreeSet<>();
    TreeSet<String> ofSlice = new TreeSet<>();

    windows.holding(time, (start, end) -> ofTime.add(start + "/" + end));
    windows.holding(windows.sliceOf(time), (start, end) -> ofSlice.add(start + "/" + end));

    assertEquals(ofTime, ofSlice);
    if (program.shape() != GroupProgram.WindowShape.CUMULATIVE) {
      windows.holding(time, (start, end) -> assertEquals(end, windows.endOf(start)));
    }
  }

  private static GroupProgram.WindowProgram program(String text) {
    Map<String, String> options = new HashMap<>();
    for (String each : text.substring(1, text.length() - 1).split(", ")) {
      options.put(each.split(": ")[0], each.split(": ")[1]);
    }
    String shape =
        Stream.of("tumbling", "hopping", "cumulative")
            .filter(options::containsKey)
            .findFirst()
            .orElseThrow();
    GroupProgram.Span size = span(options.get(shape));
    String offset = options.get("offset");
    return new GroupProgram.WindowProgram(
        GroupProgram.WindowShape.valueOf(shape.toUpperCase()),
        size,
        options.containsKey("every") ? span(options.get("every")) : size,
        offset == null ? 0 : microsOf(span(offset)),
        options.get("zone"));
  }

  private static long microsOf(GroupProgram.Span span) {
    return switch (span.unit()) {
      case MICROS -> span.count();
      case DAYS -> span.count() * DAY;
      default -> throw new IllegalArgumentException(span.toString());
    };
  }

  private static GroupProgram.Span span(String text) {
    Matcher found = LENGTH.matcher(text);
    if (!found.matches()) {
      throw new IllegalArgumentException(text);
    }
    long count = Long.parseLong(found.group(1));
    return switch (found.group(2)) {
      case "us" -> new GroupProgram.Span(count, GroupProgram.WindowUnit.MICROS);
      case "ms" -> new GroupProgram.Span(count * 1_000, GroupProgram.WindowUnit.MICROS);
      case "s" -> new GroupProgram.Span(count * 1_000_000, GroupProgram.WindowUnit.MICROS);
      case "m" -> new GroupProgram.Span(count * 60_000_000, GroupProgram.WindowUnit.MICROS);
      case "h" -> new GroupProgram.Span(count * 3_600_000_000L, GroupProgram.WindowUnit.MICROS);
      case "d", "day", "days" -> new GroupProgram.Span(count, GroupProgram.WindowUnit.DAYS);
      case "w", "week", "weeks" -> new GroupProgram.Span(count, GroupProgram.WindowUnit.WEEKS);
      case "month", "months" -> new GroupProgram.Span(count, GroupProgram.WindowUnit.MONTHS);
      default -> throw new IllegalArgumentException(text);
    };
  }

  private static long micros(String text) {
    Instant at = Instant.parse(text);
    return at.getEpochSecond() * 1_000_000 + at.getNano() / 1_000;
  }

  private static String instant(long micros) {
    return Instant.EPOCH.plus(micros, ChronoUnit.MICROS).toString();
  }
}
