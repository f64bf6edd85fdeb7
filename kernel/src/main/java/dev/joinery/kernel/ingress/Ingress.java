package dev.joinery.kernel.ingress;

import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.chain.SharedProgram;
import dev.joinery.kernel.format.Format;
import dev.joinery.kernel.message.Change;
import dev.joinery.kernel.message.DeadLetter;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.RowByRow;
import dev.joinery.kernel.message.Tally;
import dev.joinery.kernel.node.Reached;
import dev.joinery.kernel.node.RelationRows;
import dev.joinery.kernel.node.Routes;
import dev.joinery.kernel.program.Program;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
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

  private Program own;
  final Format[] formats;
  final String[] sources;
  final String[] topics;
  final boolean[] severalTopics;
  final int[][] relationsOf;
  private long tellingIn = -1;
  private String pending;
  private transient boolean told;
  Clock[] clocks = {};
  Broadcast<SharedProgram> shared;
  Tally tally;
  Destinations destinations;
  private Sealing sealing;

  /** Where decoded changes go. */
  public interface Destination {
    /** Whether it takes rows that were inserted, and nothing else, also of what is not a log. */
    default boolean insertsOnly() {
      return false;
    }

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
    this.own = program;
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

  /**
   * Takes the program from what tasks share, and evaluates times that are derived from columns. A
   * program of its own would be written and read again for each task of each batch.
   */
  public Ingress sharing(Broadcast<SharedProgram> program) {
    shared = program;
    own = null;
    return this;
  }

  Program program() {
    return shared == null ? own : shared.value().program();
  }

  /** Also tells pending roots, in one batch, from a file with a line each. */
  public Ingress telling(String roots, long batch) {
    pending = roots;
    tellingIn = batch;
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
    RecordSender sender = new RecordSender(this, outbox, sealed);
    if (isTelling()) {
      told = true;
      PendingRoots roots = new PendingRoots(program());
      Iterator<String> lines = lines(pending);
      outbox.later(new RowByRow<>(lines, each -> roots.read(each).tell(outbox), () -> {}));
    }
    Iterator<Row> read = sealed == null ? rows : sealed.decoded(rows, formats, sender::insertsOnly);
    outbox.later(new RowByRow<>(read, sender::take, sender::finish));
    return outbox;
  }

  /** What seals for a task; a program with personal columns never runs without. */
  private Sealing.Task openSealing() {
    if (!Sealing.isNeeded(program())) {
      return null;
    }
    if (sealing == null) {
      throw new IllegalStateException("personal columns, and no vault to seal them with");
    }
    Sealing.Task task = sealing.open(program(), relationsOf);
    TaskContext context = TaskContext.get();
    if (context != null) {
      context.addTaskCompletionListener(
          (org.apache.spark.util.TaskCompletionListener) ended -> task.vault.close());
    }
    return task;
  }

  /** A file's lines, read on as they are asked for, also after the last; it is closed by the task. */
  private static Iterator<String> lines(String file) {
    try {
      BufferedReader reader = Files.newBufferedReader(Path.of(file));
      TaskContext.get()
          .addTaskCompletionListener(
              (org.apache.spark.util.TaskCompletionListener) ended -> close(reader));
      return reader.lines().iterator();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private static void close(BufferedReader reader) {
    try {
      reader.close();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private boolean isTelling() {
    TaskContext task = TaskContext.get();
    return pending != null
        && !told // a task may read several partitions
        && task.partitionId() == 0
        && Long.toString(tellingIn).equals(task.getLocalProperty(BATCH));
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
    public void send(
        int relation, Change change, Slice row, long timestamp, Outbox outbox) {
      routes.get(relation).send(change, row, timestamp, outbox);
    }
  }
}
