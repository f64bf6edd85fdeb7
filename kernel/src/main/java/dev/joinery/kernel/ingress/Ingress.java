package dev.joinery.kernel.ingress;

import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.chain.SharedProgram;
import dev.joinery.kernel.format.ChangeSink;
import dev.joinery.kernel.format.ColumnsSeen;
import dev.joinery.kernel.format.Format;
import dev.joinery.kernel.format.RegistryError;
import dev.joinery.kernel.message.Change;
import dev.joinery.kernel.message.Counters;
import dev.joinery.kernel.message.DeadLetter;
import dev.joinery.kernel.message.LogPartition;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.RecordLetter;
import dev.joinery.kernel.message.RowByRow;
import dev.joinery.kernel.message.Tally;
import dev.joinery.kernel.node.Reached;
import dev.joinery.kernel.node.RelationRows;
import dev.joinery.kernel.node.Routes;
import dev.joinery.kernel.program.Program;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.Row;
import scala.Tuple2;

/**
 * Turns raw records into messages to the first nodes of the chain; those it cannot use become dead
 * letters that travel beside.
 */
public final class Ingress implements MapPartitionsFunction<Row, Tuple2<byte[], byte[]>> {
  /** The columns of a raw record, in order. */
  static final String[] COLUMNS = {
    "topic", "major", "minor", "file", "key", "value", "error", "timestamp", "name", "logged"
  };

  /** How the name of several topics begins. */
  private static final String PATTERN = "pattern:";

  /** Where Spark tells a task the number of its batch. */
  public static final String BATCH = "streaming.sql.batchId";

  private final Program program;
  private final Format[] formats;
  private final String[] sources;
  private final String[] topics;
  private final boolean[] severalTopics;
  private final int[][] relationsOf;
  private PendingRoots pending = PendingRoots.NONE;
  private Clock[] clocks = {};
  private Broadcast<SharedProgram> shared;
  private Tally tally;
  private Destinations destinations;
  private Sealing sealing;

  /** Where decoded changes go. */
  public interface Destination {
    /** Whether it takes a relation's rows that were inserted, and nothing else. */
    boolean insertsOnly(int relation);

    /** Why a row cannot be taken, as a dead letter tells it; null where it can. */
    default String refusal(int relation, Slice row) {
      return null;
    }

    void send(int relation, Change change, Slice row, long timestamp, Outbox outbox);

    /** What it evaluates the rows of a relation with; null where it does not. */
    default RelationRows rows(int relation) {
      return null;
    }

    /** Called once all records of a task have been sent. */
    default void close(Outbox outbox, long timestamp) {}
  }

  /** Where the record at hand stands, as a text that no other record has. */
  public interface Origin {
    String place();

    /** The partition of a log that a change stands in; {@link Marks#UNORDERED} for none. */
    default long partitionOf(Change change) {
      return Marks.UNORDERED;
    }

    /**
     * The newest time in each partition of a relation's log of which the task has read a row with a
     * time, the batches before included.
     */
    default Map<Long, Long> newest(int relation) {
      return Map.of();
    }

    /** The time of the change at hand; {@link Marks#UNKNOWN} where it is never late. */
    default long time() {
      return Marks.UNKNOWN;
    }

    /** The newest time that moves a watermark, of those that the record at hand may tell. */
    default long latest() {
      return Long.MAX_VALUE;
    }

    /** How far its relation had come before the batch. */
    default Reached reached() {
      return Reached.NOTHING;
    }

    /** The record at hand as a dead letter. */
    default DeadLetter letter(String reason, String detail) {
      throw new UnsupportedOperationException("what has no log has no record");
    }
  }

  /** Makes the destination of a task. */
  public interface Destinations extends Serializable {
    Destination open(Origin origin);
  }

  /**
   * {@code sources} and {@code topics} are by relation; {@code relationsOf} holds, for each number
   * in a record's first column, its relations.
   */
  public Ingress(
      Program program,
      Format[] formats,
      String[] sources,
      String[] topics,
      int[][] relationsOf) {
    this.program = program;
    this.formats = formats;
    this.sources = sources;
    this.topics = topics;
    this.severalTopics = new boolean[topics.length];
    for (int i = 0; i < topics.length; i++) {
      severalTopics[i] = topics[i].startsWith(PATTERN);
    }
    this.relationsOf = relationsOf;
    this.destinations = origin -> new Router(program);
  }

  /** Sends changes elsewhere than to the first nodes of a chain. */
  public Ingress sendingTo(Destinations others) {
    destinations = others;
    return this;
  }

  /** Tells the times of what is read; {@code byRelation} is null for a relation without a clock. */
  public Ingress timedBy(Clock[] byRelation) {
    clocks = byRelation;
    return this;
  }

  /** Seals personal columns. */
  public Ingress sealedBy(Sealing by) {
    sealing = by;
    return this;
  }

  /** Evaluates times that are derived from columns. */
  public Ingress deriving(Broadcast<SharedProgram> program) {
    shared = program;
    return this;
  }

  /** Also tells pending roots, in the one batch that is theirs. */
  public Ingress telling(PendingRoots roots) {
    pending = roots;
    return this;
  }

  /** Counts into {@code counts} as records come, where no end of a batch is near. */
  public Ingress countingInto(Tally counts) {
    tally = counts;
    return this;
  }

  @Override
  public Iterator<Tuple2<byte[], byte[]>> call(Iterator<Row> rows) {
    Outbox outbox = new Outbox();
    Sealing.Task sealed = openSealing();
    Sender sender = new Sender(outbox, sealed);
    if (isTelling()) {
      outbox.later(
          pending.roots().stream().<Runnable>map(root -> () -> root.tell(outbox)).iterator());
    }
    Iterator<Row> read = sealed == null ? rows : sealed.decoded(rows, formats);
    outbox.later(new RowByRow<>(read, sender::take, sender::finish));
    return outbox;
  }

  /** What seals for a task; a program with personal columns never runs without. */
  private Sealing.Task openSealing() {
    if (!Sealing.isNeeded(program)) {
      return null;
    }
    if (sealing == null) {
      throw new IllegalStateException("personal columns, and no vault to seal them with");
    }
    Sealing.Task task = sealing.open(program, relationsOf);
    TaskContext context = TaskContext.get();
    if (context != null) {
      context.addTaskCompletionListener(
          (org.apache.spark.util.TaskCompletionListener) ended -> task.vault.close());
    }
    return task;
  }

  private boolean isTelling() {
    TaskContext task = TaskContext.get();
    return !pending.roots().isEmpty()
        && task.partitionId() == 0
        && Long.toString(pending.batch()).equals(task.getLocalProperty(BATCH));
  }

  private static String timesBefore() {
    TaskContext task = TaskContext.get();
    return task == null ? null : task.getLocalProperty(TaskTimes.PROPERTY);
  }

  /** A change that a decoder told of the record at hand. */
  private record Decoded(Change change, Slice row, boolean timed) {}

  /**
   * Takes what a decoder tells about the record at hand, and sends it once all of it is known to
   * be of use: a record counts whole or not at all.
   */
  private final class Sender implements ChangeSink, Origin {
    private final Outbox outbox;
    private final Destination destination = destinations.open(this);
    private final long[] read = new long[program.relations().size()];
    private final long[] dead = new long[program.relations().size()];
    private final long[] committed = new long[program.relations().size()];
    private final long[] times = new long[program.relations().size()];
    private final Counters counters = new Counters();
    private final List<Decoded> decoded = new ArrayList<>(2);
    private final TaskTimes taskTimes =
        new TaskTimes(program, clocks, timesBefore(), shared, destination::rows);
    private String reason;
    private String detail;
    private Row record;
    private long timestamp;
    private long logged;
    private long partition;
    private long number;
    private int decoding;
    private boolean timed;
    private final Sealing.Task sealed;
    private boolean erasing;

    Sender(Outbox outbox, Sealing.Task sealed) {
      this.outbox = outbox;
      this.sealed = sealed;
    }

    void take(Row row) {
      record = row;
      partition = row.getLong(1);
      number = row.getLong(2);
      timestamp = row.getLong(7);
      erasing = sealed != null && sealed.isErasure(row);
      logged = row.isNullAt(9) ? Marks.UNKNOWN : row.getLong(9);
      byte[] key = row.isNullAt(4) ? null : (byte[]) row.get(4);
      byte[] value = row.isNullAt(5) ? null : (byte[]) row.get(5);
      for (int relation : relationsOf[row.getInt(0)]) {
        if (erasing && !sealed.isErasable(relation)) {
          continue;
        }
        read[relation] += erasing ? 0 : 1;
        decoding = relation;
        decoded.clear();
        reason = null;
        if (row.isNullAt(6)) {
          decode(relation, key, value);
        } else {
          deadLetter(relation, row.getString(6), detailOf(row.getString(6)));
        }
        if (reason == null) {
          sendDecoded(relation);
        } else {
          refuse(relation);
        }
      }
      if (tally != null) {
        count();
        counters.drainTo(tally.counters());
      }
    }

    private String detailOf(String error) {
      return error.equals(RecordLetter.POISON)
          ? "it made its worker fail, alone and repeatedly"
          : "the record is longer than max_record_bytes";
    }

    /**
     * Decodes one record; whatever a decoder trips over is that record's own affair, but a registry
     * that is away is everyone's.
     */
    private void decode(int relation, byte[] key, byte[] value) {
      try {
        if (sealed != null && !erasing && sealed.sealer(relation) != null) {
          sealed.told().tell(this);
          return;
        }
        Format format = erasing ? sealed.erasure(relation) : formats[relation];
        format.loggedAt(logged);
        format.decode(relation, key, value, this);
      } catch (RegistryError away) {
        throw away;
      } catch (RuntimeException | StackOverflowError error) {
        // What an error says may quote the record.
        boolean personal = program.relations().get(relation).sealed() != null;
        String told = personal ? error.getClass().getSimpleName() : error.toString();
        deadLetter(relation, RecordLetter.POISON, "the decoder failed: " + told);
      }
    }

    @Override
    public void change(
        int relation,
        int op,
        boolean positioned,
        long position,
        byte[] row,
        int rowLength,
        long[] absent) {
      if (erasing) {
        Slice marks = Slice.of(Arrays.copyOf(row, rowLength));
        Change erasure = new Change(Message.OP_ERASE, false, 0, partition, number, null);
        decoded.add(new Decoded(erasure.ofSnapshot(), marks, false));
        return;
      }
      if (op != ChangeSink.UPSERT && destination.insertsOnly(relation)) {
        count(relation, "ignored_deletes");
        return;
      }
      // Only the row of an upsert outlives this call: a delete may come before one.
      Slice values =
          op == ChangeSink.UPSERT
              ? new Slice(row, 0, rowLength)
              : Slice.of(Arrays.copyOf(row, rowLength));
      long[] left = absent;
      if (op == ChangeSink.UPSERT && sealed != null && sealed.sealer(relation) != null) {
        Sealer sealer = sealed.sealer(relation);
        String nobodys = sealer.refusal(values);
        if (nobodys != null) {
          deadLetter(relation, "subject_missing", nobodys);
          return;
        }
        Sealer.Sealed made = sealer.seal(values, absent);
        values = made.row();
        left = made.absent();
      }
      String refusal = destination.refusal(relation, values);
      if (refusal != null) {
        deadLetter(relation, "out_of_range", refusal);
        return;
      }
      if (op == ChangeSink.UPSERT && absent == null) {
        String told = taskTimes.refusal(relation, values);
        if (told != null) {
          deadLetter(relation, "clock_suspect", told);
          return;
        }
      }
      Change change = new Change(op, positioned, position, majorOf(relation), number, left);
      decoded.add(new Decoded(change, values, isTimed(relation, op)));
    }

    private boolean isTimed(int relation, int op) {
      return op == ChangeSink.UPSERT && taskTimes.has(relation);
    }

    /** What stood in the table before is no news: it moves no time. */
    @Override
    public void snapshot(int relation) {
      int last = decoded.size() - 1;
      if (last >= 0 && decoded.get(last).change().op() == ChangeSink.UPSERT) {
        Decoded told = decoded.get(last);
        decoded.set(last, new Decoded(told.change().ofSnapshot(), told.row(), false));
      }
    }

    /** The partition; of a relation of several topics, told apart by their names. */
    private long majorOf(int relation) {
      if (!severalTopics[relation] || record.isNullAt(8)) {
        return partition;
      }
      return LogPartition.number(record.getString(8), partition);
    }

    private void sendDecoded(int relation) {
      for (Decoded each : decoded) {
        timed = each.timed();
        Change change = each.change();
        if (taskTimes.has(relation) && !change.snapshot()) {
          long log = partitionOf(change);
          change = change.after(taskTimes.newest(relation, log, this::partitionName));
          if (timed) {
            taskTimes.take(relation, log, this::partitionName, each.row(), logged);
          }
        }
        destination.send(relation, change, each.row(), timestamp, outbox);
      }
    }

    @Override
    public long time() {
      return timed ? taskTimes.time(decoding) : Marks.UNKNOWN;
    }

    @Override
    public long latest() {
      return taskTimes.latest(decoding, logged);
    }

    @Override
    public Reached reached() {
      return timed ? taskTimes.reached(decoding) : Reached.NOTHING;
    }

    @Override
    public Map<Long, Long> newest(int relation) {
      return taskTimes.newest(relation);
    }

    @Override
    public DeadLetter letter(String reason, String detail) {
      return letterOf(decoding, reason, detail);
    }

    @Override
    public String place() {
      Object log = record.isNullAt(3) ? partition : RecordLetter.text((byte[]) record.get(3));
      return topicOf(decoding) + "/" + log + "/" + number;
    }

    /** A topic of files is one partition. */
    @Override
    public long partitionOf(Change change) {
      if (record.isNullAt(3)) {
        return change.major();
      }
      return severalTopics[decoding] ? LogPartition.number(topicOf(decoding), 0) : 0;
    }

    /** The number, with the topic before it where the relation has several. */
    private String partitionName() {
      long log = record.isNullAt(3) ? partition : 0;
      return severalTopics[decoding]
          ? LogPartition.name(topicOf(decoding), log)
          : Long.toString(log);
    }

    private String topicOf(int relation) {
      return record.isNullAt(8) ? topics[relation] : record.getString(8);
    }

    @Override
    public boolean insertsOnly() {
      return destination.insertsOnly(decoding);
    }

    @Override
    public void deadLetter(int relation, String why, String sentence) {
      reason = why;
      detail = sentence;
    }

    private void refuse(int relation) {
      dead[relation]++;
      if (reason.equals("truncate")) {
        count(relation, "truncates");
      } else if (reason.equals("wrong_format")) {
        count(relation, "wrong_format");
      }
      outbox.emit(letterOf(relation, reason, detail).toMessage(timestamp));
    }

    /** The record at hand as a dead letter, whose bytes are sealed where some may be personal. */
    private DeadLetter letterOf(int relation, String why, String sentence) {
      boolean personal = program.relations().get(relation).sealed() != null;
      UnaryOperator<byte[]> kept =
          personal ? sealed.vault::sealRecord : UnaryOperator.identity();
      return RecordLetter.of(record, sources[relation], topicOf(relation), why, sentence, kept);
    }

    @Override
    public void committed(int relation, long millis) {
      committed[relation]++;
      times[relation] += millis;
    }

    @Override
    public void count(int relation, String counter) {
      counters.relation(program.relations().get(relation).name(), counter, 1);
    }

    void finish() {
      count();
      if (tally == null) {
        tellColumns();
      }
      taskTimes.close();
      counters.drainTo(outbox, timestamp);
      destination.close(outbox, timestamp);
      if (sealed != null) {
        sealed.vault.close();
      }
    }

    private void tellColumns() {
      for (int i = 0; i < formats.length; i++) {
        String name = program.relations().get(i).name();
        ColumnsSeen seen = formats[i] == null ? null : formats[i].columnsSeen();
        if (seen != null) {
          seen.tell((counter, count) -> counters.relation(name, counter, count));
        }
      }
    }

    private void count() {
      taskTimes.drainTo(counters);
      for (int i = 0; i < read.length; i++) {
        String name = program.relations().get(i).name();
        if (read[i] > 0) {
          counters.relation(name, "read", read[i]);
          read[i] = 0;
        }
        if (dead[i] > 0) {
          counters.relation(name, "dead", dead[i]);
          dead[i] = 0;
        }
        if (committed[i] > 0) {
          counters.relation(name, "timed", committed[i]);
          counters.relation(name, "commit_times_ms", times[i]);
          committed[i] = 0;
          times[i] = 0;
        }
      }
    }
  }

  /** Sends a change to each first node of its relation. */
  public static class Router implements Destination {
    private final List<Routes> routes = new ArrayList<>();

    public Router(Program program) {
      for (int i = 0; i < program.relations().size(); i++) {
        routes.add(new Routes(program, i));
      }
    }

    @Override
    public boolean insertsOnly(int relation) {
      return false;
    }

    @Override
    public void send(
        int relation, Change change, Slice row, long timestamp, Outbox outbox) {
      routes.get(relation).send(change, row, timestamp, outbox);
    }
  }
}
