package dev.joinery.kernel.program;

import com.fasterxml.jackson.annotation.JsonCreator;
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
    List<StreamProgram.EntryProgram> entries,
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

  /** Whether a relation before it has its name, and reads the same records. */
  public boolean readsAgain(int relation) {
    String name = relations.get(relation).name();
    return IntStream.range(0, relation).anyMatch(each -> relations.get(each).name().equals(name));
  }

  /** A column of a row: its name in expressions and its type. */
  public record Slot(String name, DataType type) implements Serializable {}

  /** SQL text, the names it may read with the slots they stand for, and its type. */
  public record Sql(@JsonProperty("sql") String text, List<ScopeName> scope, DataType type)
      implements Serializable {}

  public record ScopeName(String name, int slot, DataType type) implements Serializable {}

  /**
   * A relation: its columns as decoded, its key, the assembler that gives the row products see
   * (columns, then derived ones, if its {@code where} holds), its personal columns, or null, true,
   * or null, for a log, whose updates and deletes are ignored, and the place under which levels note
   * what is over by its time, or null for its own; then the addition with which it came, whose nodes
   * alone hear of it, or null where it was there from the start.
   */
  public record RelationProgram(
      String name,
      List<Slot> columns,
      int[] key,
      int assembler,
      SealedProgram sealed,
      Boolean append,
      Integer notes,
      Integer part)
      implements Serializable {
    /** Whether its rows are inserted and never change. */
    public boolean insertsOnly() {
      return Boolean.TRUE.equals(append);
    }

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
  public record ProductRead(int product, int relation, int[] columns, int[] inner)
      implements Serializable {}

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

  @JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "kind")
  @JsonSubTypes({
    @Type(value = RetractProgram.class, name = "retract"),
    @Type(value = InsertsProgram.class, name = "inserts"),
    @Type(value = SubjectsProgram.class, name = "subjects"),
    @Type(value = DocumentProgram.ToOneProgram.class, name = "to_one"),
    @Type(value = DocumentProgram.MatchProgram.class, name = "match"),
    @Type(value = DocumentProgram.IntervalProgram.class, name = "interval"),
    @Type(value = DocumentProgram.FoldProgram.class, name = "fold"),
    @Type(value = DocumentProgram.RootProgram.class, name = "root"),
    @Type(value = DocumentProgram.FanOutProgram.class, name = "fan_out"),
    @Type(value = DocumentProgram.GatherProgram.class, name = "gather"),
    @Type(value = GroupProgram.class, name = "group"),
    @Type(value = DeadlineProgram.class, name = "closing"),
    @Type(value = GroupProgram.CutsProgram.class, name = "cuts"),
    @Type(value = HistoryProgram.class, name = "history"),
    @Type(value = VersionsProgram.class, name = "versions"),
    @Type(value = ValidProgram.class, name = "valid"),
    @Type(value = EventFoldProgram.class, name = "event_fold"),
    @Type(value = SearchProgram.class, name = "search"),
    @Type(value = PatternProgram.class, name = "pattern"),
    @Type(value = RuleProgram.class, name = "rule"),
    @Type(value = RemovedProgram.class, name = "removed"),
    @Type(value = StreamProgram.CurrentLookupProgram.class, name = "current_lookup"),
    @Type(value = StreamProgram.AsOfProgram.class, name = "as_of"),
    @Type(value = StreamProgram.ClaimProgram.class, name = "claim"),
    @Type(value = StreamProgram.RollingProgram.class, name = "rolling"),
    @Type(value = StreamProgram.SeenProgram.class, name = "seen"),
    @Type(value = PairEventsProgram.class, name = "pair_events"),
    @Type(value = StreamProgram.MapProgram.class, name = "map")
  })
  public sealed interface NodeProgram extends Serializable
      permits RetractProgram,
          InsertsProgram,
          SubjectsProgram,
          DocumentProgram.ToOneProgram,
          DocumentProgram.MatchProgram,
          DocumentProgram.IntervalProgram,
          DocumentProgram.FoldProgram,
          DocumentProgram.RootProgram,
          DocumentProgram.FanOutProgram,
          DocumentProgram.GatherProgram,
          GroupProgram,
          DeadlineProgram,
          GroupProgram.CutsProgram,
          HistoryProgram,
          VersionsProgram,
          ValidProgram,
          EventFoldProgram,
          SearchProgram,
          PatternProgram,
          RuleProgram,
          RemovedProgram,
          StreamProgram.CurrentLookupProgram,
          StreamProgram.AsOfProgram,
          StreamProgram.ClaimProgram,
          StreamProgram.RollingProgram,
          StreamProgram.SeenProgram,
          PairEventsProgram,
          StreamProgram.MapProgram {
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

    /** How long rows are kept after their times; null for as long as they are there. */
    default KeptProgram kept() {
      return null;
    }
  }

  /**
   * {@code judged} is null where rows cannot come late, {@code kept} where they are kept until they
   * are deleted.
   */
  public record RetractProgram(
      String name, int level, int relation, List<Use> uses, JudgedProgram judged, KeptProgram kept)
      implements NodeProgram {
    /** The same for the nodes alone whose numbers are not below {@code first}. */
    public RetractProgram from(int first) {
      List<Use> later = uses.stream().filter(each -> each.target() >= first).toList();
      return new RetractProgram(name, level, relation, later, judged, kept);
    }
  }

  /** Where the rows of an append relation go from where they are decoded; of no level. */
  public record InsertsProgram(
      String name,
      int level,
      int relation,
      List<Use> uses,
      JudgedProgram judged,
      KeptProgram kept)
      implements NodeProgram {}

  /** What finds the rows of a relation by their subject. */
  public record SubjectsProgram(String name, int level, int relation) implements NodeProgram {}

  /** Holds the number of a node whose product was removed; {@code timed} where it kept timers. */
  public record RemovedProgram(String name, int level, boolean timed) implements NodeProgram {
    @Override
    public boolean isTimed() {
      return timed;
    }
  }

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
  public sealed interface Use extends Serializable {
    /** The node that the row is for. */
    int target();
  }

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

  public record ChildUse(int assembler, DocumentProgram.Upward upward) implements Use {
    @Override
    public int target() {
      return upward.target();
    }
  }

  /** The row is counted in the groups of a Group. */
  public record GroupUse(int target) implements Use {}

  /** The row leads the Gather of {@code parent} to the FanOut of {@code address}. */
  public record ThroughUse(int target, Address address, Address parent) implements Use {}

  /** The row is a document of a Search. */
  public record SearchedUse(int target) implements Use {}

  /** The row, assembled, is a query of a Search. */
  public record QueryUse(int target, int assembler) implements Use {}

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

  /** Who tells a node of deadlines that have come: a node before it, or the level that it is in. */
  public sealed interface DeadlineProgram extends NodeProgram
      permits ClosingProgram, DeadlinesProgram {
    /** Whose watermark it is. */
    int relation();

    /** The node. */
    int target();

    /** The watermark is the newest time of a partition, the least of them, less this. */
    long delayMicros();

    /** How long after its end something is closed. */
    long allowedMicros();

    /** Reads either, as the planner writes them under one kind. */
    @JsonCreator
    static DeadlineProgram of(
        @JsonProperty("name") String name,
        @JsonProperty("level") int level,
        @JsonProperty("relation") int relation,
        @JsonProperty("target") int target,
        @JsonProperty("delay_micros") long delayMicros,
        @JsonProperty("allowed_micros") long allowedMicros,
        @JsonProperty("buckets") int buckets,
        @JsonProperty("idles") boolean idles,
        @JsonProperty("other") Integer other,
        @JsonProperty("other_behind_micros") Long otherBehindMicros,
        @JsonProperty("beside") Boolean beside) {
      return Boolean.TRUE.equals(beside)
          ? new DeadlinesProgram(name, level, relation, target, delayMicros, allowedMicros)
          : new ClosingProgram(
              name,
              level,
              relation,
              target,
              delayMicros,
              allowedMicros,
              buckets,
              idles,
              other,
              otherBehindMicros);
    }
  }

  /**
   * A node before the target, of an earlier level.
   *
   * @param buckets how many addresses the target's keys are shared among
   * @param idles whether partitions of the relation's log may be idle, by the clock
   * @param other the relation whose watermark counts while nobody waits for any partition of the
   *     first; null for none
   * @param otherBehindMicros how far below its watermark what is asked for stands; null for not at all
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
      Integer other,
      Long otherBehindMicros)
      implements DeadlineProgram {
    @Override
    public boolean isTimed() {
      return idles;
    }
  }

  /** Deadlines that stand in the target's own level, beside what they are of. */
  public record DeadlinesProgram(
      String name, int level, int relation, int target, long delayMicros, long allowedMicros)
      implements DeadlineProgram {}

  /** The place of an entry's relation in the order of names, by which united logs are compared. */
  public int logOf(StreamProgram.EntryProgram entry) {
    String name = relations.get(entry.relation()).name();
    return (int)
        entries.stream()
            .filter(each -> relations.get(each.relation()).name().compareTo(name) < 0)
            .count();
  }

  /** Whether a node of a level asks to be called at a time. */
  public boolean isTimed(int level) {
    return nodes.stream().anyMatch(each -> each.level() == level && each.isTimed());
  }

  /**
   * The shortest time for which a level keeps windows of a relation after their ends, or rows of a
   * pattern and who sees its rules, or rows of intervals; -1 where it keeps none that it forgets.
   */
  public long windowRetentionMicros(int level, int relation) {
    return nodes.stream()
        .filter(each -> each.level() == level)
        .mapToLong(each -> retentionMicros(each, relation))
        .filter(each -> each >= 0)
        .min()
        .orElse(-1);
  }

  private long retentionMicros(NodeProgram node, int relation) {
    if (node instanceof GroupProgram.CutsProgram cuts) {
      return retentionMicros(nodes.get(cuts.target()), relation);
    }
    if (node instanceof GroupProgram group) {
      boolean forgets = group.relation() == relation && group.isForgetting();
      return forgets ? group.late().retentionMicros() : -1;
    }
    if (node instanceof PatternProgram pattern) {
      boolean forgets = pattern.relation() == relation && pattern.isForgetting();
      return forgets ? pattern.forgottenAfterMicros() : -1;
    }
    if (node instanceof RuleProgram rule) {
      return rule.relation() == relation ? rule.keptMicros() : -1;
    }
    KeptProgram kept = node.kept();
    return kept != null && kept.logs()[0] == relation ? kept.micros() : -1;
  }

  static StructType structOf(List<Slot> slots) {
    StructType type = new StructType();
    for (Slot slot : slots) {
      type = type.add(slot.name(), slot.type(), true);
    }
    return type;
  }
}
