package dev.joinery.kernel.search;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.bytes.Slice;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Like;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

/** What an index of stored queries finds, against trying every query on every row. */
class QuerySetTest {
  private static final int QUERIES = Integer.getInteger("queries", 600);
  private static final int ROWS = Integer.getInteger("rows", 500);
  private static final StructType ROW =
      new StructType()
          .add("city", "string")
          .add("price", "int")
          .add("area", "double")
          .add("rate", "decimal(6,2)")
          .add("sold", "boolean");
  private static final Set<String> FUNCTIONS = Set.of("lower", "length", "coalesce", "between");
  private static final String[] CITIES = {"Ulm", "Bonn", "Köln", "Jena", ""};
  private static final String[] SIGNS = {"=", "<", "<=", ">", ">=", "<>", "<=>"};

  static Conditions conditions() {
    return new Conditions(ROW, FUNCTIONS, 8192);
  }

  static InternalRow row(Random pick) {
    return new GenericInternalRow(
        new Object[] {
          orNull(pick, UTF8String.fromString(CITIES[pick.nextInt(CITIES.length)])),
          orNull(pick, pick.nextInt(40)),
          orNull(pick, pick.nextBoolean() ? pick.nextInt(40) / 2.0 : Double.NaN),
          orNull(pick, Decimal.apply(BigDecimal.valueOf(pick.nextInt(4000), 2), 6, 2)),
          orNull(pick, pick.nextBoolean())
        });
  }

  private static Object orNull(Random pick, Object value) {
    return pick.nextInt(10) == 0 ? null : value;
  }

  static String condition(Random pick, int depth) {
    if (depth > 2 || pick.nextInt(3) == 0) {
      return term(pick);
    }
    String word = pick.nextInt(4) == 0 ? " or " : " and ";
    String both = condition(pick, depth + 1) + word + condition(pick, depth + 1);
    return (pick.nextInt(8) == 0 ? "not (" : "(") + both + ")";
  }

  private static String term(Random pick) {
    int number = pick.nextInt(42) - 1;
    String city = "'" + CITIES[pick.nextInt(CITIES.length)] + "'";
    String sign = SIGNS[pick.nextInt(SIGNS.length)];
    return switch (pick.nextInt(15)) {
      case 0, 1, 2 -> "price " + sign + " " + Math.max(number, 0);
      case 3 -> number + " " + sign + " price";
      case 4 -> "price between " + number + " and " + (number + 5);
      case 5 -> "price in (" + number + ", 3, 7)";
      case 6, 7 -> "city = " + city;
      case 8 -> "city in (" + city + ", 'Ulm')";
      case 9 -> "area " + sign + " " + Math.max(number, 0) + ".5";
      case 10 -> "rate " + sign + " " + Math.max(number, 0);
      case 11 -> "rate " + sign + " " + Math.max(number, 0) + ".25";
      case 12 -> pick.nextBoolean() ? "sold" : "not sold";
      case 13 -> "lower(city) = lower(" + city + ")";
      default -> "100 / price > " + number;
    };
  }

  private static Slice key(int number) {
    return Slice.of(ByteBuffer.allocate(4).putInt(number).array());
  }

  private static Slice on(int tenant) {
    return tenant == 0 ? Slice.EMPTY : key(tenant);
  }

  private static Map<Slice, StoredQueries.Source> sources(Random pick, int count, int tenants) {
    Map<Slice, StoredQueries.Source> found = new LinkedHashMap<>();
    for (int i = 0; i < count; i++) {
      Slice on = on(pick.nextInt(tenants));
      found.put(key(i), new StoredQueries.Source(key(i), key(i), on, condition(pick, 0)));
    }
    return found;
  }

  private static Set<Slice> matching(QuerySet set, Slice on, InternalRow row) {
    Set<Slice> found = new HashSet<>();
    set.matching(
        on, row, each -> assertTrue(found.add(each.key()), "a match comes once"), each -> {});
    return found;
  }

  private static Set<Slice> trueOf(Map<Slice, StoredQuery> queries, Slice on, InternalRow row) {
    Set<Slice> found = new HashSet<>();
    for (StoredQuery each : queries.values()) {
      if (each.on().equals(on) && each.condition().of(row) == Condition.Verdict.HOLDS) {
        found.add(each.key());
      }
    }
    return found;
  }

  @Test
  void noQueryThatIsTrueOfARowIsLeftOut() {
    Random pick = new Random(QUERIES + 7L);
    StoredQueries stored = new StoredQueries(conditions());
    Map<Slice, StoredQuery> queries = stored.read(sources(pick, QUERIES, 2));
    queries.values().forEach(each -> assertNull(each.broken()));
    QuerySet set = stored.of(queries);
    int matches = 0;
    for (int i = 0; i < ROWS; i++) {
      InternalRow row = row(pick);
      Slice on = on(pick.nextInt(3));
      Set<Slice> expected = trueOf(queries, on, row);
      assertEquals(expected, matching(set, on, row));
      matches += expected.size();
    }
    assertTrue(matches > ROWS);
  }

  @Test
  void aConditionOfAlternativesIsTriedOnRowsThatMeetOneOfThem() {
    Conditions conditions = conditions();
    String text =
        "city <> 'Bonn' and (price = 3 or city = 'Ulm' and rate < 7 or area > 5.5 or sold)";
    Condition condition = conditions.read(List.of(text)).get(0).condition();

    assertEquals(4, Access.of((SqlCondition) condition).size());
    Condition other = conditions.read(List.of("price = 3 or length(city) = 3")).get(0).condition();
    assertEquals(2, Access.of((SqlCondition) other).size());
    Condition any = conditions.read(List.of("price = 3 or city <> 'Ulm'")).get(0).condition();
    assertEquals(1, Access.of((SqlCondition) any).size());
  }

  @Test
  void changesOfAFewQueriesAndOfManyAreFound() {
    Random pick = new Random(3);
    StoredQueries stored = new StoredQueries(conditions());
    Map<Slice, StoredQuery> queries = new HashMap<>(stored.read(sources(pick, 300, 2)));
    QuerySet set = stored.of(Map.copyOf(queries));
    for (int round = 0; round < 80; round++) {
      Map<Slice, StoredQuery> changes = new HashMap<>();
      int many = round % 7 == 0 ? 200 : round % 3 == 0 ? 20 : 3;
      for (StoredQuery each : stored.read(sources(pick, many, 2)).values()) {
        Slice key = key(pick.nextInt(400));
        boolean goes = pick.nextInt(4) == 0;
        changes.put(
            key,
            goes ? null : new StoredQuery(key, each.row(), each.on(), each.condition(), null));
      }
      queries.putAll(changes);
      queries.values().removeIf(each -> each == null);
      set = set.with(changes);
      for (int i = 0; i < 30; i++) {
        InternalRow row = row(pick);
        Slice on = on(pick.nextInt(2));
        assertEquals(trueOf(queries, on, row), matching(set, on, row));
      }
    }
  }

  @Test
  void textsOfOneShapeAreReadAsEachIsAlone() {
    Random pick = new Random(11);
    List<String> texts = new ArrayList<>();
    for (int i = 0; i < 300; i++) {
      texts.add(condition(pick, 1));
    }
    List<Language.Read> together = conditions().read(texts);
    for (int i = 0; i < texts.size(); i += 5) {
      Condition alone = conditions().read(List.of(texts.get(i))).get(0).condition();
      for (int n = 0; n < 20; n++) {
        InternalRow row = row(pick);
        assertEquals(alone.of(row), together.get(i).condition().of(row), texts.get(i));
      }
    }
  }

  @Test
  void constantsThatDecideATypeOrAWordAreNotTakenOut() {
    assertEquals(Shape.of("price < 5").key(), Shape.of("price  <\n7").key());
    assertFalse(Shape.of("rate < 5").key().equals(Shape.of("rate < 55").key()));
    for (String text :
        List.of(
            "a = 5L", "a = 1e3", "a = 'x' 'y'", "a = 'it''s'", "a = 5 + b", "a = -5",
            "a = 5 -- b", "a = 5 /* b */", "round(a, 2) > b", "a = 'today'", "'x' || a = b")) {
      assertTrue(Shape.of(text).isAlone(), text);
    }
  }

  @Test
  void oneThatIsBrokenDoesNotBreakTheOthers() {
    List<String> texts =
        List.of("price < 5", "city + area = 3 or price", "price < 7", "nothing = 1");
    List<Language.Read> read = conditions().read(texts);

    assertNotNull(read.get(0).condition());
    assertNotNull(read.get(1).broken());
    assertNotNull(read.get(2).condition());
    assertTrue(read.get(3).broken().contains("nothing"));
  }

  @Test
  void patternsWithManySignsMatchWhatSparkMatches() {
    Random pick = new Random(5);
    for (int i = 0; i < 4_000; i++) {
      String pattern = text(pick, "ab%%%_.\n", 9).replace(".", "\\%");
      UTF8String value = UTF8String.fromString(text(pick, "aab%\n", 12));
      Like like =
          new Like(Literal$.MODULE$.apply(value), Literal$.MODULE$.apply(pattern), '\\');
      assertEquals(like.eval(null), Costs.straight(like).eval(null), pattern + " of " + value);
    }
  }

  private static String text(Random pick, String signs, int most) {
    StringBuilder text = new StringBuilder();
    for (int left = pick.nextInt(most + 1); left > 0; left--) {
      text.append(signs.charAt(pick.nextInt(signs.length())));
    }
    return text.toString();
  }

  @Test
  void aPatternThatFindsNothingInALongTextTakesNoTime() {
    Condition condition =
        conditions().read(List.of("city like '%a%a%a%a%a%a%a%a%b%'")).get(0).condition();
    InternalRow row = row(new Random(1));
    row.update(0, UTF8String.fromString("a".repeat(100_000)));

    assertTimeoutPreemptively(
        Duration.ofSeconds(10),
        () -> assertEquals(Condition.Verdict.DOES_NOT, condition.of(row)));
  }

  @Test
  void aConditionThatCouldTakeLongIsBroken() {
    for (String text :
        List.of(
            "city like city",
            "ilike(city, city)",
            "length(replace(city, 'a', city)) > 1",
            "exists(tags, a -> exists(tags, b -> exists(tags, c -> a = b and b = c)))",
            "size(split(city, '(a+)+b')) > 1",
            "repeat(city, 1000000000) = 'a'")) {
      Conditions conditions =
          new Conditions(
              ROW.add("tags", "array<string>"),
              Set.of("exists", "replace", "split", "length", "size", "ilike"),
              8192);
      assertNotNull(conditions.read(List.of(text)).get(0).broken(), text);
    }
  }
}
