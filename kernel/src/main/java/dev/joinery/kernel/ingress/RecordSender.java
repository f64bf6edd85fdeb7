package dev.joinery.kernel.ingress;

import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.format.ChangeSink;
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
import dev.joinery.kernel.node.Reached;
import dev.joinery.kernel.program.Program;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.Row;

/**
 * Takes what a decoder tells about the record at hand, and sends it once all of it is known to
 * be of use: a record counts whole or not at all.
 */
final class RecordSender implements ChangeSink, Ingress.Origin {
  /** A change that a decoder told of the record at hand. */
  private record Decoded(Change change, Slice row, boolean timed) {}

  private final Outbox outbox;
  private final Ingress from;
  private final Program program;
  private final Ingress.Destination destination;
  private final RecordCounts counts;
  private final List<Decoded> decoded = new ArrayList<>(2);
  private final List<String> refused = new ArrayList<>(0);
  private final TaskTimes taskTimes;
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

  RecordSender(Ingress from, Outbox outbox, Sealing.Task sealed) {
    this.from = from;
    this.program = from.program();
    this.outbox = outbox;
    this.sealed = sealed;
    counts = new RecordCounts(program);
    destination = from.destinations.open(this);
    taskTimes = new TaskTimes(program, from.clocks, from.shared, destination::rows);
  }

  void take(Row row) {
    record = row;
    partition = row.getLong(1);
    number = row.getLong(2);
    timestamp = row.getLong(7);
    refused.clear();
    erasing = sealed != null && sealed.isErasure(row);
    logged = row.isNullAt(9) ? Marks.UNKNOWN : row.getLong(9);
    byte[] key = row.isNullAt(4) ? null : (byte[]) row.get(4);
    // A vault that is away is everyone's affair, not a record's.
    byte[] value = sealed != null ? sealed.valueOf(row) : row.isNullAt(5) ? null : (byte[]) row.get(5);
    for (int relation : from.relationsOf[row.getInt(0)]) {
      if (erasing && !sealed.isErasable(relation)) {
        continue;
      }
      if (!erasing) {
        counts.read(relation);
      }
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
    if (from.tally != null) {
      counts.tell(taskTimes);
      counts.drainTo(from.tally.counters());
    }
  }

  private String detailOf(String error) {
    return error.equals(RecordLetter.POISON)
        ? "it made its worker fail, alone and repeatedly"
        : "the record is longer than max_record_bytes";
  }

  /**
   * Decodes one record; whatever a decoder trips over is that record's own affair, but a registry
   * or a vault that is away is everyone's.
   */
  private void decode(int relation, byte[] key, byte[] value) {
    try {
      if (sealed != null && !erasing && sealed.sealer(relation) != null) {
        sealed.told().tell(this);
        return;
      }
      Format format = erasing ? sealed.erasure(relation) : from.formats[relation];
      format.loggedAt(logged);
      format.decode(relation, key, value, this);
    } catch (RegistryError | VaultError away) {
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
    if (op != ChangeSink.UPSERT && insertsOnly(relation)) {
      count(relation, "ignored_deletes");
      return;
    }
    // Only the row of an upsert outlives this call: a delete may come before one.
    Slice values =
        op == ChangeSink.UPSERT
            ? new Slice(row, 0, rowLength)
            : Slice.of(Arrays.copyOf(row, rowLength));
    long[] left = absent;
    if (op != ChangeSink.UPSERT && sealed != null && sealed.sealer(relation) != null) {
      values = sealed.sealer(relation).sealKey(values);
    }
    if (op == ChangeSink.UPSERT && sealed != null && sealed.sealer(relation) != null) {
      Sealer sealer = sealed.sealer(relation);
      String nobodys = sealer.refusal(values);
      if (nobodys != null) {
        deadLetter(relation, "subject_missing", nobodys);
        return;
      }
      tellDerived(relation, sealer, absent);
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

  /** Counts the derived columns that are null where an expression fails, or lacks a value. */
  private void tellDerived(int relation, Sealer sealer, long[] absent) {
    int failed = sealer.takeFailures();
    if (failed > 0) {
      counts.add(relation, Counters.EXPRESSION_ERRORS, failed);
    }
    int unknown = sealer.unknown(absent);
    if (unknown > 0) {
      counts.add(relation, "unavailable_values", unknown);
    }
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
    if (!from.severalTopics[relation] || record.isNullAt(8)) {
      return partition;
    }
    return LogPartition.number(record.getString(8), partition);
  }

  /** A record that changes a row's key is a delete, and an upsert behind it. */
  private void sendDecoded(int relation) {
    for (int i = 0; i < decoded.size(); i++) {
      Decoded each = decoded.get(i);
      timed = each.timed();
      Change change = each.change();
      if (taskTimes.has(relation) && !change.snapshot()) {
        long log = partitionOf(change);
        change = change.after(taskTimes.newest(relation, log, this::partitionName));
        if (change.op() == ChangeSink.DELETE && i + 1 < decoded.size()) {
          change = change.moving(taskTimes.timeOf(relation, decoded.get(i + 1).row()));
        }
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
    return from.severalTopics[decoding] ? LogPartition.number(topicOf(decoding), 0) : 0;
  }

  /** The number, with the topic before it where the relation has several. */
  private String partitionName() {
    long log = record.isNullAt(3) ? partition : 0;
    return from.severalTopics[decoding]
        ? LogPartition.name(topicOf(decoding), log)
        : Long.toString(log);
  }

  private String topicOf(int relation) {
    return record.isNullAt(8) ? from.topics[relation] : record.getString(8);
  }

  @Override
  public boolean insertsOnly() {
    return insertsOnly(decoding);
  }

  /** Whether updates and deletes of a relation's rows are ignored. */
  boolean insertsOnly(int relation) {
    return destination.insertsOnly() || program.relations().get(relation).insertsOnly();
  }

  @Override
  public void deadLetter(int relation, String why, String sentence) {
    reason = why;
    detail = sentence;
  }

  private void refuse(int relation) {
    counts.dead(relation);
    if (reason.equals("truncate")) {
      count(relation, "truncates");
    } else if (reason.equals("wrong_format")) {
      count(relation, "wrong_format");
    }
    // A relation that is read in two ways has one letter of a record that neither can use.
    String told = program.relations().get(relation).name() + "/" + reason;
    if (!program.readsAgain(relation) || !refused.contains(told)) {
      outbox.emit(letterOf(relation, reason, detail).toMessage(timestamp));
    }
    refused.add(told);
  }

  /** The record at hand as a dead letter, whose bytes are sealed where some may be personal. */
  private DeadLetter letterOf(int relation, String why, String sentence) {
    boolean personal = program.relations().get(relation).sealed() != null;
    UnaryOperator<byte[]> kept =
        personal ? sealed.vault::sealRecord : UnaryOperator.identity();
    return RecordLetter.of(record, from.sources[relation], topicOf(relation), why, sentence, kept);
  }

  @Override
  public void committed(int relation, long millis) {
    counts.committed(relation, millis);
  }

  @Override
  public void count(int relation, String counter) {
    counts.add(relation, counter, 1);
  }

  void finish() {
    counts.tell(taskTimes);
    if (from.tally == null) {
      counts.tellColumns(from.formats);
    }
    taskTimes.close();
    counts.drainTo(outbox, timestamp);
    destination.close(outbox, timestamp);
    if (sealed != null) {
      sealed.vault.close();
    }
  }
}
