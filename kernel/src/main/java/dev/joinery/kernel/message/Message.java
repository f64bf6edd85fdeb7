package dev.joinery.kernel.message;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.program.Program;
import java.util.List;

/**
 * The messages that travel between levels, as bytes: a kind, the batch's timestamp, then fields.
 *
 * <p>Every message that concerns a row of another node carries the epoch of that row, a number that
 * rises whenever the row chooses a new address. A receiver that hears two senders about one row
 * believes the higher epoch.
 */
public final class Message {
  public static final int RAW = 1;
  public static final int OWN_PUT = 2;
  public static final int OWN_REMOVE = 3;
  public static final int OWN_ANEW = 24;
  public static final int PARENT_PUT = 4;
  public static final int PARENT_REMOVE = 5;
  /** The same of a parent that stood at another address before, or stands at another now. */
  public static final int PARENT_CAME = 25;
  public static final int PARENT_LEFT = 26;
  public static final int CHILD_PUT = 6;
  public static final int CHILD_REMOVE = 7;
  public static final int BRANCH = 8;
  public static final int DOCUMENT = 9;
  public static final int TOMBSTONE = 10;
  public static final int DEAD_LETTER = 11;
  public static final int COUNT = 12;
  public static final int PENDING = 13;
  public static final int EVENT = 14;
  public static final int WATERMARK = 15;
  public static final int FORGET = 16;
  public static final int VERSION = 17;
  public static final int PARTIAL = 18;
  public static final int PARTIAL_BY_TIME = 19;
  public static final int DEADLINE = 21;
  public static final int CLOSED = 22;
  public static final int ENDED = 23;
  public static final int FANNED = 30;
  public static final int SEARCHED = 31;
  public static final int QUERY = 32;
  public static final int PLACED = 33;
  public static final int ASKED = 34;
  public static final int RULE = 35;
  public static final int SUBJECT = 36;
  public static final int TELL = 37;
  public static final int NUMBERED = 40;

  /** Why a raw change came to a node: bits. Without this one it is the own or the child row. */
  public static final int ROLE_PARENT = 1;

  /** Set at the one node that counts what became of a relation's changes. */
  public static final int ROLE_PRIMARY = 2;

  public static final int OP_UPSERT = 0;
  public static final int OP_DELETE = 1;
  public static final int OP_TOMBSTONE = 2;

  /** The subject of a row was erased: what was sealed for it is marked so, and nothing else changes. */
  public static final int OP_ERASE = 3;

  /** Set on a row some of whose embeds hold more rows than they may. */
  public static final int FLAG_FAILED = 1;

  /** What is told of a change: bits. */
  static final int POSITIONED = 1;

  static final int SNAPSHOT = 2;
  static final int TIMED = 4;
  static final int MOVED = 8;

  private Message() {}

  public static int kind(byte[] message) {
    return message[0];
  }

  /** What a receiver throws at a message of a kind that nobody sends it. */
  public static IllegalStateException unexpected(byte[] message) {
    return new IllegalStateException("message kind " + kind(message));
  }

  static ByteWriter start(int kind, long timestamp, int size) {
    return new ByteWriter(size + 24).writeByte(kind).writeLong(timestamp);
  }

  /** A change as decoded: read it with {@link RawChange}. */
  public static byte[] raw(long timestamp, int relation, int role, Change change, Slice row) {
    ByteWriter out = start(RAW, timestamp, row.length() + 48);
    return writeChange(out, relation, role, change, row).toBytes();
  }

  /**
   * A change of a versioned lookup's table.
   *
   * @param partition of the log that it stands in
   * @param before the newest time that its task read in the partition before it
   */
  public static byte[] version(
      long timestamp,
      long partition,
      long before,
      Program.Route route,
      Change change,
      Slice row) {
    ByteWriter out = start(VERSION, timestamp, row.length() + 56);
    out.writeVarLong(partition).writeLong(before);
    return writeChange(out, route.relation(), route.role(), change, row).toBytes();
  }

  private static ByteWriter writeChange(
      ByteWriter out, int relation, int role, Change change, Slice row) {
    out.writeVarInt(relation).writeByte(role).writeByte(change.op());
    boolean timed = change.newest() != Marks.UNKNOWN;
    boolean moved = change.moved() != Marks.UNKNOWN;
    out.writeByte(
        (change.positioned() ? POSITIONED : 0)
            | (change.snapshot() ? SNAPSHOT : 0)
            | (timed ? TIMED : 0)
            | (moved ? MOVED : 0));
    if (timed) {
      out.writeLong(change.newest());
    }
    if (moved) {
      out.writeLong(change.moved());
    }
    out.writeVarLong(change.position());
    out.writeVarLong(change.major()).writeVarLong(change.minor());
    long[] absent = change.absent();
    out.writeVarInt(absent == null ? 0 : absent.length);
    if (absent != null) {
      for (long word : absent) {
        out.writeLong(word);
      }
    }
    return out.writeRaw(row);
  }

  /** Tells the subject of a row the key of the row. */
  public static byte[] subject(long timestamp, byte[] key) {
    return start(SUBJECT, timestamp, key.length).writeRaw(Slice.of(key)).toBytes();
  }

  public static byte[] ownPut(long timestamp, long epoch, Slice row) {
    return start(OWN_PUT, timestamp, row.length() + 9).writeLong(epoch).writeRaw(row).toBytes();
  }

  /** Another row than the one before, whose document stays as it was sent. */
  public static byte[] ownAnew(long timestamp, long epoch, Slice row) {
    return start(OWN_ANEW, timestamp, row.length() + 9).writeLong(epoch).writeRaw(row).toBytes();
  }

  public static byte[] ownRemove(long timestamp, long epoch) {
    return start(OWN_REMOVE, timestamp, 9).writeLong(epoch).toBytes();
  }

  /** A document of which is not told what it replaces. */
  public static byte[] document(long timestamp, int product, long version, Slice key, Slice value) {
    return line(timestamp, product, version, null, key, value);
  }

  /** A document; {@code replaced} is a {@link Replacement}, or that it is not known. */
  public static byte[] document(
      long timestamp, int product, long version, Slice replaced, Slice key, Slice value) {
    ByteWriter out = start(DOCUMENT, timestamp, key.length() + value.length() + 48);
    out.writeVarInt(product).writeLong(version).writeByte(0).writeBlob(replaced);
    return out.writeBlob(key).writeRaw(value).toBytes();
  }

  /** A document of a stream; {@code place} is null where its key comes once in a batch. */
  public static byte[] line(
      long timestamp, int product, long version, Event.Place place, Slice key, Slice value) {
    ByteWriter out = start(DOCUMENT, timestamp, key.length() + value.length() + 48);
    out.writeVarInt(product).writeLong(version);
    if (place == null) {
      out.writeByte(0);
    } else {
      place.write(out.writeByte(Event.Place.BYTES));
    }
    out.writeBlob(Replacement.UNKNOWN);
    return out.writeBlob(key).writeRaw(value).toBytes();
  }

  /** A tombstone; {@code replaced} is a {@link Replacement}, or that it is not known. */
  public static byte[] tombstone(
      long timestamp, int product, long version, Slice replaced, Slice key) {
    return start(TOMBSTONE, timestamp, key.length() + 32)
        .writeVarInt(product)
        .writeLong(version)
        .writeByte(0)
        .writeBlob(replaced)
        .writeBlob(key)
        .toBytes();
  }

  /** Tells a root's Fold that the sink may hold what was never committed; without a time. */
  public static byte[] pending(long version, Slice key) {
    return start(PENDING, 0, key.length() + 16)
        .writeLong(version)
        .writeRaw(key)
        .toBytes();
  }

  /** Has a Retract tell its row, as if it came now, to nodes whose numbers are not below one. */
  public static byte[] tell(long timestamp, int first) {
    return start(TELL, timestamp, 8).writeVarInt(first).toBytes();
  }

  /** How far a task has come in the time of a table's log. */
  public static byte[] watermark(long timestamp, Marks marks) {
    ByteWriter out = start(WATERMARK, timestamp, 24);
    marks.write(out);
    return out.toBytes();
  }

  /** Tells a lookup that an event was told again which it may remember until a time. */
  public static byte[] forget(long timestamp, long until, Slice identity) {
    return start(FORGET, timestamp, identity.length() + 8)
        .writeLong(until)
        .writeRaw(identity)
        .toBytes();
  }

  /**
   * What rows that came and went add to a group.
   *
   * @param rows those that came less those that went
   * @param aggregates the states of the aggregates over them
   */
  public static byte[] partial(long timestamp, long rows, Slice aggregates) {
    return start(PARTIAL, timestamp, aggregates.length())
        .writeLong(rows)
        .writeRaw(aggregates)
        .toBytes();
  }

  /**
   * Tells of a message to an address, which may send once the watermark has come.
   *
   * @param at when, in microseconds
   */
  public static byte[] deadline(long timestamp, long at, byte[] key) {
    return start(DEADLINE, timestamp, key.length).writeLong(at).writeRaw(Slice.of(key)).toBytes();
  }

  /** Tells that nothing is waited for any more that is waiting now. */
  public static byte[] ended(long timestamp) {
    return start(ENDED, timestamp, 0).toBytes();
  }

  /**
   * Tells an address that the watermark has come to its deadline, or was past it before; or, where
   * it is below the deadline, that this is waited for no more.
   *
   * @param from the node that tells it
   */
  public static byte[] closed(long timestamp, long watermark, long deadline, int from) {
    return start(CLOSED, timestamp, 20)
        .writeLong(watermark)
        .writeLong(deadline)
        .writeVarInt(from)
        .toBytes();
  }

  /** A document that is searched; {@code row} is null where it went. */
  public static byte[] searched(long timestamp, byte[] key, Slice row) {
    return keyed(SEARCHED, timestamp, key, row);
  }

  /** A stored query; {@code row} is null where it went. */
  public static byte[] query(long timestamp, byte[] key, Slice row) {
    return keyed(QUERY, timestamp, key, row);
  }

  /** The row at a place in the order of a pattern's key; {@code row} is null where there is none. */
  public static byte[] placed(long timestamp, byte[] place, Slice row) {
    return keyed(PLACED, timestamp, place, row);
  }

  /**
   * Asks a rule for its row, now and whenever it is another.
   *
   * @param time of the row of the pattern that sees it
   * @param key the pattern's that the row belongs to
   */
  public static byte[] asked(long timestamp, long time, byte[] key) {
    return start(ASKED, timestamp, key.length + 8)
        .writeLong(time)
        .writeRaw(Slice.of(key))
        .toBytes();
  }

  /** What rows see of a rule that have its value; {@code row} is null where there is none. */
  public static byte[] rule(long timestamp, int place, Slice value, Slice row) {
    ByteWriter key = new ByteWriter(value.length() + 4).writeVarInt(place).writeRaw(value);
    return keyed(RULE, timestamp, key.toBytes(), row);
  }

  private static byte[] keyed(int kind, long timestamp, byte[] key, Slice row) {
    Slice known = row == null ? Slice.EMPTY : row;
    ByteWriter out = start(kind, timestamp, key.length + known.length() + 8);
    return out.writeByte(row == null ? 0 : 1).writeBlob(Slice.of(key)).writeRaw(known).toBytes();
  }

  public static byte[] deadLetter(long timestamp, byte[] json) {
    return start(DEAD_LETTER, timestamp, json.length).writeRaw(json).toBytes();
  }

  /** {@code body} is what {@link Counters} wrote. */
  static byte[] count(long timestamp, byte[] body) {
    return start(COUNT, timestamp, body.length).writeRaw(body).toBytes();
  }

  public static long timestamp(byte[] message) {
    return new ByteReader(message, 1, 8).readLong();
  }

  /** The time of a group of messages, some of which may have none. */
  public static long latest(List<byte[]> messages) {
    long latest = timestamp(messages.get(0));
    for (int i = 1; i < messages.size(); i++) {
      latest = Math.max(latest, timestamp(messages.get(i)));
    }
    return latest;
  }

  public static ByteReader body(byte[] message) {
    return new ByteReader(message, 9, message.length - 9);
  }
}
