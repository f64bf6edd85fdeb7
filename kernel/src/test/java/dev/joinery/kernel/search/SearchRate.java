package dev.joinery.kernel.search;

import dev.joinery.kernel.bytes.Slice;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Prints for how many listings a second one core finds the stored queries; run by hand. */
final class SearchRate {
  private static final StructType LISTING =
      StructType.fromDDL(
          "id bigint, city string, kind string, price int, rooms int, area double");
  private static final String[] KINDS = {"flat", "house", "studio", "loft", "garage"};
  private static final int CITIES = 1_000;
  private static final int LISTINGS = 20_000;

  private SearchRate() {}

  /** Queries of the forms of `make bench ROWS=search-10k`, in the same shares. */
  private static String query(Random dice) {
    double form = dice.nextDouble();
    if (form < 0.7) {
      return "city = '%s' and price < %d and rooms >= %d"
          .formatted(city(dice), 100 + dice.nextInt(900), 1 + dice.nextInt(4));
    } else if (form < 0.9) {
      int price = 100 + dice.nextInt(4_700);
      return "city in ('%s', '%s') and price between %d and %d"
          .formatted(city(dice), city(dice), price, price + 200);
    } else if (form < 0.95) {
      return "kind = '%s' and price < %d"
          .formatted(KINDS[dice.nextInt(KINDS.length)], 101 + dice.nextInt(9));
    }
    int area = 10 + dice.nextInt(190);
    return "area between %d.0 and %d.2 and rooms = %d".formatted(area, area, 1 + dice.nextInt(8));
  }

  private static String city(Random dice) {
    return "c" + dice.nextInt(CITIES);
  }

  private static InternalRow listing(long id, Random dice, UnsafeProjection binary) {
    Object[] values = {
      id,
      UTF8String.fromString(city(dice)),
      UTF8String.fromString(KINDS[dice.nextInt(KINDS.length)]),
      100 + dice.nextInt(4_900),
      1 + dice.nextInt(8),
      Math.round(100 + dice.nextInt(1_900)) / 10.0
    };
    return binary.apply(new GenericInternalRow(values)).copy();
  }

  public static void main(String[] arguments) {
    int count = Integer.getInteger("queries", 10_000);
    Random dice = new Random(1);
    Conditions language = new Conditions(LISTING, Set.of("between"), 8192);
    List<String> texts = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      texts.add(query(dice));
    }
    Map<Slice, StoredQuery> queries = new HashMap<>();
    for (Language.Read each : language.read(texts)) {
      Slice key = Slice.of(Integer.toString(queries.size()).getBytes());
      queries.put(key, new StoredQuery(key, key, Slice.EMPTY, each.condition(), each.broken()));
    }
    QuerySet set = QuerySet.of(language, queries);
    UnsafeProjection binary = UnsafeProjection.create(LISTING);
    List<InternalRow> listings = new ArrayList<>();
    for (long id = 0; id < LISTINGS; id++) {
      listings.add(listing(id, dice, binary));
    }
    for (int round = 0; round < 12; round++) {
      long start = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
      List<StoredQuery> found = new ArrayList<>();
      for (int repeat = 0; repeat < 10; repeat++) {
        found.clear();
        for (InternalRow row : listings) {
          set.matching(Slice.EMPTY, row, found::add, broken -> {});
        }
      }
      double nanos = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - start;
      System.out.printf(
          "%,d queries: %,.0f ns a listing, %.2f matches%n",
          count, nanos / 10 / LISTINGS, (double) found.size() / LISTINGS);
    }
  }
}
