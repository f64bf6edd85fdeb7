package dev.joinery.kernel.stream;

import dev.joinery.kernel.chain.Table;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.StreamProgram;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Programs of one stream: orders that look up their customer, then the customer's city. */
final class StreamSample {
  static final Table ORDER = Table.of("order", 1, "id long, customer_id long");
  static final Table CUSTOMER = Table.of("customer", 1, "id long, name string, city_id long");
  static final Table CITY = Table.of("city", 1, "id long, city string");
  static final Table SALE = Table.of("sale", 1, "id long, sku long, at timestamp");
  static final Table PRICE = Table.of("price", 1, "sku long, price long, since timestamp");
  private static final long WEEK = 7L * 86_400_000_000L;
  private static final StructType KEY = StructType.fromDDL("id long");
  private static final DataType LONG = DataTypes.LongType;

  private StreamSample() {}

  /** Each order with its customer's name, and whether it is a correction. */
  static Program oneLookup(StreamProgram.Miss miss, long waitMicros, long forMicros) {
    return oneLookup(miss, waitMicros, forMicros, 0);
  }

  /** The same, corrected once in a while. */
  static Program oneLookup(
      StreamProgram.Miss miss, long waitMicros, long forMicros, long everyMicros) {
    return oneLookup(miss, waitMicros, forMicros, everyMicros, null);
  }

  /** The same, with letters that leave out the columns of an order at {@code hidden}. */
  static Program oneLookup(
      StreamProgram.Miss miss, long waitMicros, long forMicros, long everyMicros, int[] hidden) {
    StructType value = StructType.fromDDL("id long, name string, again boolean");
    return new Program(
        1,
        List.of(relation(ORDER, 0), relation(CUSTOMER, 1)),
        List.of(
            new StreamProgram.CurrentLookupProgram(
                "orders/customer",
                1,
                "orders",
                1,
                KEY,
                ORDER.type(),
                3,
                miss,
                waitMicros,
                forMicros,
                everyMicros,
                -1,
                List.of(new StreamProgram.Onward(4, -1, 0, null, true)),
                hidden)),
        List.of(
            view(ORDER),
            view(CUSTOMER),
            pass("orders/customer/before", ORDER, 0, 1),
            pass("orders/customer/fields", CUSTOMER, 1),
            shape(
                "orders/",
                ORDER.slots(),
                slots("name string, again boolean"),
                value,
                0,
                2,
                3)),
        List.of(new Program.ProductProgram("orders", KEY, value)),
        List.of(route(1, 0)),
        List.of(new StreamProgram.EntryProgram(0, List.of(to(0, 2, 1)))),
        WEEK,
        1 << 20,
        List.of(),
        null);
  }

  /** Each order with its customer's name and city; the first lookup corrects. */
  static Program twoLookups(StreamProgram.Miss second, long forMicros) {
    StructType middle = StructType.fromDDL("id long, name string, city_id long");
    StructType value = StructType.fromDDL("name string, city string");
    return new Program(
        2,
        List.of(relation(ORDER, 0), relation(CUSTOMER, 1), relation(CITY, 2)),
        List.of(
            new StreamProgram.CurrentLookupProgram(
                "orders/customer",
                1,
                "orders",
                1,
                KEY,
                ORDER.type(),
                4,
                StreamProgram.Miss.NULL,
                0,
                forMicros,
                0,
                -1,
                List.of(to(1, 5, 2)),
                null),
            new StreamProgram.CurrentLookupProgram(
                "orders/city",
                2,
                "orders",
                2,
                KEY,
                middle,
                6,
                second,
                0,
                -1,
                0,
                -1,
                List.of(new StreamProgram.Onward(7, -1, 0, null, false)),
                null)),
        List.of(
            view(ORDER),
            view(CUSTOMER),
            view(CITY),
            pass("orders/customer/before", ORDER, 0, 1),
            pass("orders/customer/fields", CUSTOMER, 1, 2),
            shape(
                "orders/city/before",
                ORDER.slots(),
                slots("name string, city_id long"),
                middle,
                0,
                2,
                3),
            pass("orders/city/fields", CITY, 1),
            shape(
                "orders/",
                slots("id long, name string, city_id long"),
                slots("city string"),
                value,
                1,
                3)),
        List.of(new Program.ProductProgram("orders", KEY, value)),
        List.of(route(1, 0), route(2, 1)),
        List.of(new StreamProgram.EntryProgram(0, List.of(to(0, 3, 1)))),
        WEEK,
        1 << 20,
        List.of(),
        null);
  }

  /** Each sale with the price that was valid at its time, and whether it is a correction. */
  static Program asOf(
      StreamProgram.Miss miss, long maxDelayMicros, long idleMicros, boolean corrects) {
    return asOf(miss, maxDelayMicros, idleMicros, -1, corrects);
  }

  /** The same, where an event may be so far behind the prices and no further. */
  static Program asOf(
      StreamProgram.Miss miss,
      long maxDelayMicros,
      long idleMicros,
      long historyMicros,
      boolean corrects) {
    StructType value = StructType.fromDDL("id long, price long, again boolean");
    Program.Address bySku = new Program.Address(new int[] {0}, new DataType[] {LONG});
    Program.Address ofSale = new Program.Address(new int[] {1}, new DataType[] {LONG});
    return new Program(
        1,
        List.of(relation(SALE, 0), relation(PRICE, 1)),
        List.of(
            new StreamProgram.AsOfProgram(
                "sales/price",
                1,
                "sales",
                1,
                KEY,
                SALE.type(),
                3,
                miss,
                ofSale,
                bySku,
                2,
                2,
                maxDelayMicros,
                idleMicros,
                historyMicros,
                corrects,
                4,
                List.of(new StreamProgram.Onward(4, -1, 0, null, true)))),
        List.of(
            view(SALE),
            view(PRICE),
            pass("sales/price/before", SALE, 0, 1, 2),
            pass("sales/price/fields", PRICE, 1),
            shape(
                "sales/",
                SALE.slots(),
                slots("price long, again boolean"),
                value,
                0,
                3,
                4)),
        List.of(new Program.ProductProgram("sales", KEY, value)),
        List.of(route(1, 0)),
        List.of(new StreamProgram.EntryProgram(0, List.of(to(0, 2, 1)))),
        WEEK,
        1 << 20,
        List.of(),
        null);
  }

  /** Each sale whose sku was not seen less than 10 s from it, and the others, marked. */
  static Program seen() {
    StructType value = StructType.fromDDL("id long, seen boolean");
    return new Program(
        1,
        List.of(relation(SALE, 0)),
        List.of(
            new StreamProgram.SeenProgram(
                "sales/seen",
                1,
                "sales",
                KEY,
                SALE.type(),
                new Program.Address(new int[] {1}, new DataType[] {LONG}),
                2,
                10_000_000,
                new int[] {0},
                List.of(new StreamProgram.Onward(2, -1, 0, null, false)),
                null)),
        List.of(
            view(SALE),
            pass("sales/seen/before", SALE, 0, 1, 2),
            shape("sales/", SALE.slots(), slots("seen boolean"), value, 0, 3)),
        List.of(new Program.ProductProgram("sales", KEY, value)),
        List.of(),
        List.of(new StreamProgram.EntryProgram(0, List.of(to(0, 1, 1)))),
        WEEK,
        1 << 20,
        List.of(),
        null);
  }

  /** Each sale with how many of its sku were in the 10 s up to it, and their least id. */
  static Program rolling(long retentionMicros) {
    StructType value = StructType.fromDDL("id long, n long, low long, again boolean");
    Program.Sql id =
        new Program.Sql("id", List.of(new Program.ScopeName("id", 0, LONG)), LONG);
    return new Program(
        1,
        List.of(relation(SALE, 0)),
        List.of(
            new StreamProgram.RollingProgram(
                "sales/rolling",
                1,
                "sales",
                KEY,
                SALE.type(),
                new Program.Address(new int[] {1}, new DataType[] {LONG}),
                2,
                10_000_000,
                retentionMicros,
                new int[] {0},
                List.of(
                    Program.AggregateProgram.of("count", null, null, LONG),
                    new Program.AggregateProgram(
                        "min", id, null, LONG, true, new int[0], new double[0])),
                2,
                List.of(new StreamProgram.Onward(3, -1, 0, null, true)))),
        List.of(
            view(SALE),
            pass("sales/rolling/before", SALE, 0, 1, 2),
            new Program.AssemblerProgram(
                "sales/rolling/values",
                SALE.slots(),
                slots("n long, low long, seconds double"),
                List.of(),
                null,
                List.of(),
                new int[] {3, 4},
                StructType.fromDDL("n long, low long")),
            shape(
                "sales/",
                SALE.slots(),
                slots("n long, low long, again boolean"),
                value,
                0,
                3,
                4,
                5)),
        List.of(new Program.ProductProgram("sales", KEY, value)),
        List.of(),
        List.of(new StreamProgram.EntryProgram(0, List.of(to(0, 1, 1)))),
        WEEK,
        1 << 20,
        List.of(),
        null);
  }

  /** A program of one lookup, before which events are followed that are told again. */
  static Program claimed(Program program, long keepMicros) {
    Program.NodeProgram node = program.nodes().get(0);
    StreamProgram.Onward into = program.entries().get(0).onward().get(0);
    boolean versioned = !(node instanceof StreamProgram.CurrentLookupProgram);
    StreamProgram.ClaimProgram claim =
        new StreamProgram.ClaimProgram(
            node.name() + "/claim",
            1,
            node.name().split("/")[0],
            versioned ? SALE.type() : ORDER.type(),
            into.address(),
            0,
            4,
            keepMicros,
            versioned ? 2 : -1,
            node instanceof StreamProgram.AsOfProgram asOf ? asOf.maxDelayMicros() : 0,
            node instanceof StreamProgram.AsOfProgram asOf ? asOf.idleMicros() : -1);
    StreamProgram.Onward first = new StreamProgram.Onward(into.assembler(), 1, -1, null, false);
    return new Program(
        2,
        program.relations(),
        List.of(second(node), claim),
        program.assemblers(),
        program.products(),
        program.routes(),
        List.of(new StreamProgram.EntryProgram(0, List.of(first))),
        program.tombstoneRetentionMicros(),
        program.maxDocumentBytes(),
        List.of(),
        null);
  }

  private static Program.NodeProgram second(Program.NodeProgram node) {
    if (node instanceof StreamProgram.AsOfProgram each) {
      return new StreamProgram.AsOfProgram(
          each.name(),
          2,
          each.owner(),
          each.relation(),
          each.key(),
          each.event(),
          each.fields(),
          each.miss(),
          each.on(),
          each.table(),
          each.eventTime(),
          each.validFrom(),
          each.maxDelayMicros(),
          each.idleMicros(),
          each.historyMicros(),
          each.corrects(),
          each.buckets(),
          each.onward());
    }
    if (node instanceof StreamProgram.RollingProgram each) {
      return new StreamProgram.RollingProgram(
          each.name(),
          2,
          each.owner(),
          each.key(),
          each.event(),
          each.by(),
          each.eventTime(),
          each.overMicros(),
          each.retentionMicros(),
          each.logs(),
          each.aggregates(),
          each.values(),
          each.onward());
    }
    StreamProgram.CurrentLookupProgram each = (StreamProgram.CurrentLookupProgram) node;
    return new StreamProgram.CurrentLookupProgram(
        each.name(),
        2,
        each.owner(),
        each.relation(),
        each.key(),
        each.event(),
        each.fields(),
        each.miss(),
        each.waitMicros(),
        each.forMicros(),
        each.everyMicros(),
        each.where(),
        each.onward(),
        each.hidden());
  }

  private static Program.RelationProgram relation(Table table, int view) {
    return new Program.RelationProgram(table.name(), table.slots(), table.key(), view, null, null, null, null);
  }

  private static Program.Route route(int relation, int node) {
    Program.Address address = new Program.Address(new int[] {0}, new DataType[] {LONG});
    return new Program.Route(relation, node, Message.ROLE_PRIMARY, address);
  }

  private static StreamProgram.Onward to(int node, int assembler, int column) {
    Program.Address address = new Program.Address(new int[] {column}, new DataType[] {LONG});
    return new StreamProgram.Onward(assembler, node, -1, address, false);
  }

  private static Program.AssemblerProgram view(Table table) {
    int[] all = new int[table.type().length()];
    Arrays.setAll(all, each -> each);
    return pass(table.name(), table, all);
  }

  private static Program.AssemblerProgram pass(String name, Table table, int... columns) {
    StructType type = new StructType();
    for (int column : columns) {
      type = type.add(table.type().fields()[column]);
    }
    return shape(name, table.slots(), List.of(), type, columns);
  }

  private static Program.AssemblerProgram shape(
      String name,
      List<Program.Slot> own,
      List<Program.Slot> inputs,
      StructType type,
      int... output) {
    return new Program.AssemblerProgram(
        name, own, inputs, List.of(), null, List.of(), output, type);
  }

  private static List<Program.Slot> slots(String ddl) {
    return Table.of("", 0, ddl).slots();
  }
}
