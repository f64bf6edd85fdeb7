package dev.joinery.kernel.program;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonSubTypes.Type;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import dev.joinery.kernel.bytes.KeyCodec;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * A lowered plan: levels of keyed nodes, as the planner declared them.
 *
 * <p>It is a value. Expressions are Spark SQL text here and become Catalyst expressions in {@link
 * Compiler}. Nodes are addressed by their position in {@code nodes}. {@link ProgramReader} reads it
 * from the planner's JSON by the names of its components.
 *
 * @param entries where events come in; null for none
 * @param reads the products that others read as relations; null for none
 * @param buckets what the keys of each node are shared among; null where the nodes tell
 */
@JsonIgnoreProperties("reasons")
public record Program(
    int levels,
    List<RelationProgram> relations,
    List<NodeProgram> nodes,
    List<AssemblerProgram> assemblers,
    List<ProductProgram> products,
    List<Route> routes,
    List<EntryProgram> entries,
    long tombstoneRetentionMicros,
    long maxDocumentBytes,
    List<ProductRead> reads,
    List<Buckets> buckets)
    implements Serializable {
  public Program {
    reads = reads == null ? List.of() : reads;
    entries = entries == null ? List.of() : entries;
    buckets = buckets == null ? bucketsOf(nodes) : buckets;
  }

  private static List<Buckets> bucketsOf(List<NodeProgram> nodes) {
    return IntStream.range(0, nodes.size())
        .mapToObj(each -> Buckets.of(each, nodes.get(each).buckets()))
        .toList();
  }

  /** A column of a row: its name in expressions and its type. */
  public record Slot(String name, DataType type) implements Serializable {}

  /** SQL text, the names it may read with the slots they stand for, and its type. */
  public record Sql(@JsonProperty("sql") String text, List<ScopeName> scope, DataType type)
      implements Serializable {}

  public record ScopeName(String name, int slot, DataType type) implements Serializable {}

  /**
   * A relation: its columns as decoded, its key, and the assembler that gives the row products see:
   * columns, then derived ones, if its {@code where} holds.
   */
  public record RelationProgram(String name, List<Slot> columns, int[] key, int assembler)
      implements Serializable {
    public StructType decoded() {
      return structOf(columns);
    }
  }

  /** A document of the output: its name and the types of its key and value. */
  public record ProductProgram(String name, StructType key, StructType value)
      implements Serializable {}

  /**
   * A product whose documents are a relation of the program, too.
   *
   * @param columns where the relation's columns are, in the product's key and then its value
   */
  public record ProductRead(int product, int relation, int[] columns) implements Serializable {}

  /**
   * How a row becomes an object.
   *
   * <p>Slots are numbered: own columns, then inputs (embeds, totals, aggregates), then steps, each
   * of which may read all slots before it. {@code output} lists the slots that make the object.
   */
  public record AssemblerProgram(
      String name,
      List<Slot> own,
      List<Slot> inputs,
      List<Sql> steps,
      Sql where,
      List<OrderColumn> order,
      int[] output,
      StructType type)
      implements Serializable {}

  public record OrderColumn(Sql expression, boolean descending) implements Serializable {}

  /** Where the raw changes of a relation go; {@code address} is over decoded columns. */
  public record Route(int relation, int node, int role, Address address) implements Serializable {}

  /** Columns of a row as an address, with the types they are compared as. */
  public record Address(int[] ordinals, DataType[] types) implements Serializable {
    /** Encodes the columns of a row that has these slots. */
    public KeyCodec codec(List<Slot> row) {
      List<KeyCodec.Column> columns = new ArrayList<>();
      for (int i = 0; i < ordinals.length; i++) {
        DataType type = row.get(ordinals[i]).type();
        columns.add(new KeyCodec.Column(ordinals[i], type, types[i], false));
      }
      return new KeyCodec(columns);
    }
  }

  /** Where an assembled row goes: a node, its address, and a Fold's branch or a Match's arm. */
  public record Upward(int target, int branch, Address address) implements Serializable {}

  @JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "kind")
  @JsonSubTypes({
    @Type(value = RetractProgram.class, name = "retract"),
    @Type(value = ToOneProgram.class, name = "to_one"),
    @Type(value = MatchProgram.class, name = "match"),
    @Type(value = IntervalProgram.class, name = "interval"),
    @Type(value = FoldProgram.class, name = "fold"),
    @Type(value = FanOutProgram.class, name = "fan_out"),
    @Type(value = GatherProgram.class, name = "gather"),
    @Type(value = GroupProgram.class, name = "group"),
    @Type(value = ClosingProgram.class, name = "closing"),
    @Type(value = HistoryProgram.class, name = "history"),
    @Type(value = VersionsProgram.class, name = "versions"),
    @Type(value = ValidProgram.class, name = "valid"),
    @Type(value = SearchProgram.class, name = "search"),
    @Type(value = CurrentLookupProgram.class, name = "current_lookup"),
    @Type(value = AsOfProgram.class, name = "as_of"),
    @Type(value = ClaimProgram.class, name = "claim"),
    @Type(value = RollingProgram.class, name = "rolling"),
    @Type(value = SeenProgram.class, name = "seen"),
    @Type(value = MapProgram.class, name = "map")
  })
  public sealed interface NodeProgram extends Serializable
      permits RetractProgram,
          ToOneProgram,
          MatchProgram,
          IntervalProgram,
          FoldProgram,
          FanOutProgram,
          GatherProgram,
          GroupProgram,
          ClosingProgram,
          HistoryProgram,
          VersionsProgram,
          ValidProgram,
          SearchProgram,
          CurrentLookupProgram,
          AsOfProgram,
          ClaimProgram,
          RollingProgram,
          SeenProgram,
          MapProgram {
    String name();

    int level();

    /** How many addresses the node's keys are shared among; 0 where each has its own. */
    default int buckets() {
      return 0;
    }

    /** Whether the node asks to be called at a time; Spark keeps timers only where one does. */
    default boolean isTimed() {
      return false;
    }
  }

  public record RetractProgram(String name, int level, int relation, List<Use> uses)
      implements NodeProgram {}

  /**
   * What a relation's rows are for: an own row, a parent to announce, a leaf child to place, a row
   * to aggregate.
   */
  @JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "use")
  @JsonSubTypes({
    @Type(value = OwnUse.class, name = "own"),
    @Type(value = ParentUse.class, name = "parent"),
    @Type(value = ChildUse.class, name = "child"),
    @Type(value = GroupUse.class, name = "group"),
    @Type(value = ThroughUse.class, name = "through"),
    @Type(value = SearchedUse.class, name = "searched"),
    @Type(value = QueryUse.class, name = "query")
  })
  public sealed interface Use extends Serializable {}

  /** {@code time} is the row's, by which deadlines are told of it; null where none are. */
  public record OwnUse(int target, Integer time) implements Use {}

  /**
   * {@code branches} are those of the fold that the target answers for; {@code merged}: the target
   * assembles the row itself, so the row travels with it; {@code time} is the row's, which an
   * Interval or a Valid asks for, null elsewhere.
   */
  public record ParentUse(
      int target, Address address, int fold, int[] branches, boolean merged, Integer time)
      implements Use {}

  public record ChildUse(int assembler, Upward upward) implements Use {}

  /** The row is counted in the groups of a Group. */
  public record GroupUse(int target) implements Use {}

  /** The row leads the Gather of {@code parent} to the FanOut of {@code address}. */
  public record ThroughUse(int target, Address address, Address parent) implements Use {}

  /** The row is a document of a Search. */
  public record SearchedUse(int target) implements Use {}

  /** The row, assembled, is a query of a Search. */
  public record QueryUse(int target, int assembler) implements Use {}

  /**
   * {@code childRelation} and {@code parentRelation} are at least 0 where raw changes arrive here.
   * Exactly one of {@code fold} (with {@code branch}) and {@code merged} is set.
   */
  public record ToOneProgram(
      String name,
      int level,
      int childRelation,
      int childAssembler,
      StructType childType,
      int parentRelation,
      int fold,
      int branch,
      Merge merge)
      implements NodeProgram {}

  public record Merge(int assembler, int relation, Upward upward) implements Serializable {}

  /** The embeds of one fold that hang on the same columns of its row are arms of one Match. */
  public record MatchProgram(String name, int level, List<ArmProgram> arms, int fold)
      implements NodeProgram {}

  /**
   * The children of one join value, told to each Gather that rows of another relation lead here.
   *
   * @param target the Gather
   * @param hotAbove more rows than this that lead here make the value hot; 0 for never
   */
  public record FanOutProgram(String name, int level, ArmProgram arm, int target, int hotAbove)
      implements NodeProgram {}

  /**
   * The children of several join values in one order.
   *
   * @param limit how many a parent is told; 0 for all
   * @param valueTypes those of a join value of children
   * @param hot the type of a list of values; null where none is hot ever
   * @param branch that of the fold which the node answers for
   */
  public record GatherProgram(
      String name,
      int level,
      int limit,
      boolean entries,
      boolean total,
      DataType[] valueTypes,
      DataType hot,
      int fold,
      int branch)
      implements NodeProgram {}

  /** {@code entries} is false where only totals and aggregates are used. */
  public record ArmProgram(
      String name,
      StructType childType,
      int limit,
      boolean one,
      boolean entries,
      boolean total,
      List<AggregateProgram> aggregates,
      int branch)
      implements Serializable {}

  /**
   * An aggregate over rows.
   *
   * @param byValue whether rows may be taken back that cannot be told from the result: then what is
   *     needed of them is kept value by value
   * @param order the columns of the row by which rows are ordered, empty where none tell it
   * @param numbers what follows the argument
   */
  public record AggregateProgram(
      String function,
      Sql argument,
      Sql filter,
      DataType type,
      boolean byValue,
      int[] order,
      double[] numbers)
      implements Serializable {
    /** One whose result can take a row back, or has all rows added again. */
    public static AggregateProgram of(String function, Sql argument, Sql filter, DataType type) {
      return new AggregateProgram(function, argument, filter, type, false, new int[0], new double[0]);
    }
  }

  /**
   * An embed of a fold whose rows must be near its own in time: those in [t + from, t + to] of a row
   * of time t.
   */
  public record IntervalProgram(
      String name, int level, int fold, int branch, long fromMicros, long toMicros)
      implements NodeProgram {}

  /** {@code product} is at least 0 at a root; else {@code upward} says where the row goes. */
  public record FoldProgram(
      String name,
      int level,
      int relation,
      boolean raw,
      List<BranchProgram> branches,
      int assembler,
      int product,
      Upward upward)
      implements NodeProgram {}

  /**
   * Who tells a node of deadlines that have come.
   *
   * @param relation whose watermark it is
   * @param target the node, of a later level
   * @param delayMicros the watermark is the newest time of a partition, the least of them, less this
   * @param allowedMicros how long after its end something is closed
   * @param buckets how many addresses the target's keys are shared among
   * @param idles whether partitions of the relation's log may be idle, by the clock
   * @param other the relation whose watermark counts while nobody waits for any partition of the
   *     first; null for none
   */
  public record ClosingProgram(
      String name,
      int level,
      int relation,
      int target,
      long delayMicros,
      long allowedMicros,
      int buckets,
      boolean idles,
      Integer other)
      implements NodeProgram {
    @Override
    public boolean isTimed() {
      return idles;
    }
  }

  /** Where the events of a relation enter; without a key, they are told by their places. */
  public record EntryProgram(int relation, List<Onward> onward) implements Serializable {}

  /**
   * The steps up to the next lookup, then that lookup's node with its address over the shaped row,
   * or a product. Exactly one of {@code target} and {@code product} is at least 0.
   *
   * @param address null at the end, before a claim, and before a node that remembers nothing
   * @param marked whether the assembler's last input tells a correction
   */
  public record Onward(int assembler, int target, int product, Address address, boolean marked)
      implements Serializable {}

  /** What becomes of an event that meets no row. */
  public enum Miss {
    NULL,
    DROP,
    DEAD_LETTER,
    WAIT;

    /** Whether an event is sent on that never met a row. */
    public boolean sends() {
      return this == NULL || this == WAIT;
    }
  }

  /**
   * A lookup of the current row.
   *
   * @param owner the stream that counts and letters name
   * @param event the columns that events come with, {@code key} those that identify them
   * @param fields the assembler, over the table's row, of what is added
   * @param waitMicros how long an event waits, where {@code miss} says so
   * @param forMicros how long an event is sent again when the row changes; -1 for never
   * @param everyMicros how often it is, 0 for at once
   * @param where the assembler, over {@code event} and the fields, that says which are; -1 for all
   */
  @JsonIgnoreProperties("asked")
  public record CurrentLookupProgram(
      String name,
      int level,
      String owner,
      int relation,
      StructType key,
      StructType event,
      int fields,
      Miss miss,
      long waitMicros,
      long forMicros,
      long everyMicros,
      int where,
      List<Onward> onward)
      implements NodeProgram {
    public boolean remembers() {
      return miss == Miss.WAIT || keepsRecent();
    }

    public boolean keepsRecent() {
      return forMicros >= 0;
    }

    /** Whether remembered events may have been last sent with different fields. */
    public boolean tellsApart() {
      return where >= 0 || everyMicros > 0 || !miss.sends();
    }

    @Override
    public boolean isTimed() {
      return remembers();
    }
  }

  /**
   * A lookup of the row that was valid at the event's time.
   *
   * @param on the event's join value, {@code table} the table's, over decoded columns
   * @param eventTime over {@code event}, {@code validFrom} over the table's visible row
   * @param maxDelayMicros the table's watermark is the newest time less this
   * @param idleMicros after so long without a change the table holds nobody up; -1 for never
   * @param historyMicros how far an event may be behind the watermark; -1 for any distance
   * @param corrects whether an event goes at once and is corrected, else it waits for the watermark
   * @param buckets how many addresses the table's keys are shared among
   */
  public record AsOfProgram(
      String name,
      int level,
      String owner,
      int relation,
      StructType key,
      StructType event,
      int fields,
      Miss miss,
      Address on,
      Address table,
      int eventTime,
      int validFrom,
      long maxDelayMicros,
      long idleMicros,
      long historyMicros,
      boolean corrects,
      int buckets,
      List<Onward> onward)
      implements NodeProgram {
    @Override
    public boolean isTimed() {
      return idleMicros >= 0;
    }
  }

  /**
   * Columns over the events of the same key in the time up to each event.
   *
   * @param by the event's key, over {@code event}; a null is a value of its own
   * @param eventTime over {@code event}
   * @param overMicros an event of time t sees those in (t - over, t]
   * @param retentionMicros how far an event may be below the watermark of {@code logs}
   * @param aggregates over {@code event}
   * @param values the assembler, over {@code event}, with the aggregates and the seconds of {@code
   *     overMicros} as inputs
   */
  public record RollingProgram(
      String name,
      int level,
      String owner,
      StructType key,
      StructType event,
      Address by,
      int eventTime,
      long overMicros,
      long retentionMicros,
      int[] logs,
      List<AggregateProgram> aggregates,
      int values,
      List<Onward> onward)
      implements NodeProgram {
    /** How far below the watermark an event may be that one which still counts sees. */
    public long keepMicros() {
      return retentionMicros + overMicros;
    }
  }

  /**
   * Whether an event of the same value stands before one in the log, near its time.
   *
   * @param by the value, over {@code event}; a null was never seen
   * @param eventTime over {@code event}
   * @param forMicros what is less than this apart is near
   * @param logs by whose watermark times are forgotten
   */
  public record SeenProgram(
      String name,
      int level,
      String owner,
      StructType key,
      StructType event,
      Address by,
      int eventTime,
      long forMicros,
      int[] logs,
      List<Onward> onward)
      implements NodeProgram {}

  /**
   * Before a node that remembers events: where each of them is remembered.
   *
   * @param on the event's join value, over {@code event}
   * @param target the lookup's node
   * @param buckets how many addresses the events' identities are shared among
   * @param keepMicros how long the node may remember an event; -1 where {@code eventTime} tells
   * @param eventTime over {@code event}, where it tells until when; else -1
   */
  public record ClaimProgram(
      String name,
      int level,
      String owner,
      StructType event,
      Address on,
      int target,
      int buckets,
      long keepMicros,
      int eventTime,
      long maxDelayMicros,
      long idleMicros)
      implements NodeProgram {
    /** Whether the node remembers an event until a watermark is past its time. */
    public boolean isVersioned() {
      return eventTime >= 0;
    }

    @Override
    public boolean isTimed() {
      return !isVersioned();
    }
  }

  /** The place of an entry's relation in the order of names, by which united logs are compared. */
  public int logOf(EntryProgram entry) {
    String name = relations.get(entry.relation()).name();
    return (int)
        entries.stream()
            .filter(each -> relations.get(each.relation()).name().compareTo(name) < 0)
            .count();
  }

  /** A user's function, which is called outside the kernel; it remembers nothing. */
  public record MapProgram(
      String name,
      int level,
      String owner,
      StructType key,
      StructType event,
      StructType output,
      List<Onward> onward)
      implements NodeProgram {}

  /** Whether a node of a level asks to be called at a time. */
  public boolean isTimed(int level) {
    return nodes.stream().anyMatch(each -> each.level() == level && each.isTimed());
  }

  /**
   * The shortest time after their ends for which a level keeps windows of a relation; -1 where it
   * keeps none that it forgets.
   */
  public long windowRetentionMicros(int level, int relation) {
    return nodes.stream()
        .filter(each -> each.level() == level && each instanceof GroupProgram)
        .map(each -> (GroupProgram) each)
        .filter(each -> each.relation() == relation && each.isForgetting())
        .mapToLong(each -> each.late().retentionMicros())
        .min()
        .orElse(-1);
  }

  public enum Shape {
    ONE,
    LIST,
    MAP,
    NONE
  }

  /**
   * What a Fold keeps of one embed. Inputs of the assembler in order: the value (unless NONE), the
   * total (where {@code total}), the aggregates.
   *
   * @param fused children come straight from their rows, without a Match between
   * @param keyTypes the child's key columns, for a MAP
   * @param failAbove more rows than this fail the document; 0 for never
   * @param hot the type of the list of those that are left out, the last input; null for none
   * @param within which children a row has by their times; null for all
   * @param valid where a Valid tells them, all that a row has; null elsewhere
   */
  public record BranchProgram(
      String name,
      Shape shape,
      StructType type,
      boolean fused,
      DataType[] keyTypes,
      boolean total,
      int failAbove,
      List<AggregateProgram> aggregates,
      DataType hot,
      Within within,
      Valid valid)
      implements Serializable {
    /** Whether children come one by one: their total and their aggregates are worked out here. */
    public boolean isCounting() {
      return within != null || valid != null;
    }
  }

  /**
   * Children in [t + from, t + to] of a row of time t; in front of their order they have their own.
   *
   * @param time of the row, over its columns as products see it
   * @param limit how many of them are kept; 0 for all
   */
  public record Within(long fromMicros, long toMicros, int time, int limit)
      implements Serializable {}

  /** Children that were valid at a time of the row; {@code limit} of them are kept, 0 for all. */
  public record Valid(int limit) implements Serializable {}

  static StructType structOf(List<Slot> slots) {
    StructType type = new StructType();
    for (Slot slot : slots) {
      type = type.add(slot.name(), slot.type(), true);
    }
    return type;
  }
}
