package dev.joinery.kernel;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.joinery.kernel.format.ChangeSink;
import dev.joinery.kernel.format.Format;
import dev.joinery.kernel.format.RegistryError;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import scala.Tuple2;

/**
 * Turns raw records into messages to the first nodes of the chain; those it cannot use become dead
 * letters that travel beside.
 */
final class Ingress implements MapPartitionsFunction<Row, Tuple2<byte[], byte[]>> {
  /** The columns of a raw record, in order. */
  static final String[] COLUMNS = {
    "topic", "major", "minor", "file", "key", "value", "error", "timestamp", "name"
  };

  private static final int KEPT_OF_OVERSIZE = 64 * 1024;
  private static final String POISON = "poison";

  /** Where Spark tells a task the number of its batch. */
  private static final String BATCH = "streaming.sql.batchId";

  private final Program program;
  private final Format[] formats;
  private final String[] sources;
  private final String[] topics;
  private final int[][] relationsOf;
  private PendingRoots pending = PendingRoots.NONE;
  private Tally tally;
  private Destinations destinations;

  /** Where decoded changes go. */
  interface Destination {
    /** Whether it takes a relation's rows that were inserted, and nothing else. */
    boolean insertsOnly(int relation);

    /** Why a row cannot be taken, as a dead letter tells it; null where it can. */
    default String refusal(int relation, Slice row) {
      return null;
    }

    void send(int relation, Change change, Slice row, long timestamp, Outbox outbox);

    /** Called before what a record tells is sent: the file or the topic it stood in. */
    default void at(byte[] file, String topic) {}

    /** Called once all records of a task have been sent. */
    default void close(Outbox outbox, long timestamp) {}
  }

  /** Makes the destination of a task. */
  interface Destinations extends Serializable {
    Destination open();
  }

  /**
   * {@code sources} and {@code topics} are by relation; {@code relationsOf} holds, for each number
   * in a record's first column, its relations.
   */
  Ingress(
      Program program,
      Format[] formats,
      String[] sources,
      String[] topics,
      int[][] relationsOf) {
    this.program = program;
    this.formats = formats;
    this.sources = sources;
    this.topics = topics;
    this.relationsOf = relationsOf;
    this.destinations = () -> new Router(program);
  }

  /** Sends changes elsewhere than to the first nodes of a chain. */
  Ingress sendingTo(Destinations others) {
    destinations = others;
    return this;
  }

  /** Also tells pending roots, in the one batch that is theirs. */
  Ingress telling(PendingRoots roots) {
    pending = roots;
    return this;
  }

  /** Counts into {@code counts} as records come, where no end of a batch is near. */
  Ingress countingInto(Tally counts) {
    tally = counts;
    return this;
  }

  @Override
  public Iterator<Tuple2<byte[], byte[]>> call(Iterator<Row> rows) {
    Outbox outbox = new Outbox();
    Sender sender = new Sender(outbox);
    if (isTelling()) {
      outbox.later(
          pending.roots().stream().<Runnable>map(root -> () -> root.tell(outbox)).iterator());
    }
    outbox.later(
        new Iterator<>() {
          private boolean counted;

          @Override
          public boolean hasNext() {
            return rows.hasNext() || !counted;
          }

          @Override
          public Runnable next() {
            if (rows.hasNext()) {
              Row row = rows.next();
              return () -> sender.take(row);
            }
            counted = true;
            return sender::finish;
          }
        });
    return outbox;
  }

  private boolean isTelling() {
    TaskContext task = TaskContext.get();
    return !pending.roots().isEmpty()
        && task.partitionId() == 0
        && Long.toString(pending.batch()).equals(task.getLocalProperty(BATCH));
  }

  /** Sends what a decoder tells about the record at hand. */
  private final class Sender implements ChangeSink {
    private final Outbox outbox;
    private final Destination destination = destinations.open();
    private final long[] read = new long[program.relations().size()];
    private final long[] dead = new long[program.relations().size()];
    private final long[] timed = new long[program.relations().size()];
    private final long[] times = new long[program.relations().size()];
    private final Counters counters = new Counters();
    private Row record;
    private long timestamp;
    private long major;
    private long minor;
    private int decoding;

    Sender(Outbox outbox) {
      this.outbox = outbox;
    }

    void take(Row row) {
      record = row;
      major = row.getLong(1);
      minor = row.getLong(2);
      timestamp = row.getLong(7);
      byte[] key = row.isNullAt(4) ? null : (byte[]) row.get(4);
      byte[] value = row.isNullAt(5) ? null : (byte[]) row.get(5);
      for (int relation : relationsOf[row.getInt(0)]) {
        read[relation]++;
        if (row.isNullAt(6)) {
          decode(relation, key, value);
        } else {
          deadLetter(relation, row.getString(6), detailOf(row.getString(6)));
        }
      }
      if (tally != null) {
        count();
        counters.drainTo(tally);
      }
    }

    private String detailOf(String reason) {
      return reason.equals(POISON)
          ? "it made its worker fail, alone and repeatedly"
          : "the record is longer than max_record_bytes";
    }

    /**
     * Decodes one record; whatever a decoder trips over is that record's own affair, but a registry
     * that is away is everyone's.
     */
    private void decode(int relation, byte[] key, byte[] value) {
      decoding = relation;
      destination.at(
          record.isNullAt(3) ? null : (byte[]) record.get(3),
          record.isNullAt(8) ? topics[relation] : record.getString(8));
      try {
        formats[relation].decode(relation, key, value, this);
      } catch (RegistryError away) {
        throw away;
      } catch (RuntimeException | StackOverflowError error) {
        deadLetter(relation, POISON, "the decoder failed: " + error);
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
      if (op != ChangeSink.UPSERT && destination.insertsOnly(relation)) {
        count(relation, "ignored_deletes");
        return;
      }
      Slice values = new Slice(row, 0, rowLength);
      String refusal = destination.refusal(relation, values);
      if (refusal != null) {
        deadLetter(relation, "out_of_range", refusal);
        return;
      }
      Change change = new Change(op, positioned, position, major, minor, absent);
      destination.send(relation, change, values, timestamp, outbox);
    }

    @Override
    public boolean insertsOnly() {
      return destination.insertsOnly(decoding);
    }

    @Override
    public void deadLetter(int relation, String reason, String detail) {
      dead[relation]++;
      if (reason.equals("truncate")) {
        count(relation, "truncates");
      }
      outbox.emit(Message.deadLetter(timestamp, letter(relation, reason, detail)));
    }

    @Override
    public void committed(int relation, long millis) {
      timed[relation]++;
      times[relation] += millis;
    }

    @Override
    public void count(int relation, String counter) {
      counters.relation(program.relations().get(relation).name(), counter, 1);
    }

    void finish() {
      count();
      counters.drainTo(outbox, timestamp);
      destination.close(outbox, timestamp);
    }

    private void count() {
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
        if (timed[i] > 0) {
          counters.relation(name, "timed", timed[i]);
          counters.relation(name, "commit_times_ms", times[i]);
          timed[i] = 0;
          times[i] = 0;
        }
      }
    }

    private byte[] letter(int relation, String reason, String detail) {
      ObjectNode letter = new ObjectMapper().createObjectNode();
      letter.put("reason", reason);
      letter.put("detail", detail);
      letter.put("source", sources[relation]);
      letter.put("topic", record.isNullAt(8) ? topics[relation] : record.getString(8));
      if (record.isNullAt(3)) {
        if (minor != RawChange.ORDERLESS) {
          letter.put("partition", major).put("offset", minor);
        }
      } else {
        letter.put("file", text((byte[]) record.get(3))).put("line", minor);
      }
      letter.put("time", Instant.EPOCH.plus(timestamp, ChronoUnit.MICROS).toString());
      boolean whole = record.isNullAt(6) || record.getString(6).equals(POISON);
      int most = whole ? Integer.MAX_VALUE : KEPT_OF_OVERSIZE;
      put(letter, "key", record.isNullAt(4) ? null : (byte[]) record.get(4), most);
      put(letter, "value", record.isNullAt(5) ? null : (byte[]) record.get(5), most);
      if (!whole) {
        letter.put("cut", true);
      }
      return letter.toString().getBytes(StandardCharsets.UTF_8);
    }
  }

  private static void put(ObjectNode letter, String name, byte[] raw, int most) {
    if (raw == null) {
      letter.putNull(name);
      return;
    }
    byte[] kept = raw.length <= most ? raw : java.util.Arrays.copyOf(raw, most);
    String text = text(kept);
    if (text != null) {
      letter.put(name, text);
    } else {
      letter.put(name + "_base64", Base64.getEncoder().encodeToString(kept));
    }
  }

  private static String text(byte[] raw) {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(raw)).toString();
    } catch (CharacterCodingException notText) {
      return null;
    }
  }

  /** What a change does and where it stands, without its row. */
  record Change(
      int op, boolean positioned, long position, long major, long minor, long[] absent) {}

  /** Sends a change to each first node of its relation. */
  static final class Router implements Destination {
    private record Target(int node, int role, KeyCodec address, int buckets) {
      byte[] keyOf(UnsafeRow row) {
        byte[] key = address.encode(row);
        return buckets == 0 ? key : Bucket.of(key, buckets);
      }
    }

    private final List<List<Target>> targets = new ArrayList<>();
    private final UnsafeRow[] rows;

    Router(Program program) {
      rows = new UnsafeRow[program.relations().size()];
      for (int i = 0; i < rows.length; i++) {
        rows[i] = new UnsafeRow(program.relations().get(i).columns().size());
        targets.add(new ArrayList<>());
      }
      for (Program.Route route : program.routes()) {
        KeyCodec codec =
            Upward.codec(route.address(), program.relations().get(route.relation()).columns());
        int buckets = program.bucketsOf(route.node());
        targets.get(route.relation()).add(new Target(route.node(), route.role(), codec, buckets));
      }
    }

    @Override
    public boolean insertsOnly(int relation) {
      return false;
    }

    @Override
    public void send(
        int relation, Change change, Slice row, long timestamp, Outbox outbox) {
      UnsafeRow decoded = dev.joinery.kernel.Row.point(rows[relation], row);
      byte[] message = null;
      int role = -1;
      for (Target target : targets.get(relation)) {
        if (message == null || target.role() != role) {
          role = target.role();
          message =
              Message.raw(
                  timestamp,
                  relation,
                  role,
                  change.op(),
                  change.positioned(),
                  change.position(),
                  change.major(),
                  change.minor(),
                  change.absent(),
                  row.array(),
                  row.length());
        }
        outbox.send(target.node(), target.keyOf(decoded), message);
      }
    }
  }
}
