package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Hash;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Counters;
import dev.joinery.kernel.message.DocumentLimit;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.Replacement;
import java.util.function.Supplier;

/**
 * The document that a key was last sent with: remembers its version and its hash; sends the next
 * where it differs, under a version above all that the key ever had, and what that replaces.
 * Products that read this one are told the same.
 *
 * <p>It is read for one address at a time. Keys are asked for only where something is sent.
 */
final class SentDocument {
  private static final String INSTANCE_LIMIT = "instance_limit";
  private static final int SENT = 1;
  private static final int FAILED = 2;
  private static final int LIMITED = 4;
  private static final int FORMER = 8;
  private static final int NONE = 16;

  private final int product;
  private final DocumentLimit limit;
  private final Counters counters;
  private final String name;
  private final Readers readers;
  private boolean sent;
  private boolean failed;
  private boolean limited;
  /** The sink holds the document of another row that had the key before, and none since. */
  private boolean former;
  /** What the sink holds is known: the document of the hash where one was sent, else none. */
  private boolean known;

  private long version;
  private long hash;
  private Slice pending;

  /**
   * What a key has now.
   *
   * @param row null where it would be larger than it may be
   * @param overflowed the embed that holds too many rows, or null
   * @param instances how many different values are too many for one of its values, which is null;
   *     0 where none is
   */
  record Next(Slice row, int flags, String overflowed, long instances) {
    static Next of(Slice row, long instances) {
      return new Next(row, 0, null, instances);
    }
  }

  SentDocument(int product, NodeContext context) {
    this.product = product;
    this.limit =
        new DocumentLimit(
            context.program().products().get(product), context.program().maxDocumentBytes());
    this.readers = new Readers(product, context);
    this.counters = context.counters();
    this.name = context.program().products().get(product).name();
  }

  /** Reads what {@link #write} left; null where nothing was ever sent. */
  void read(ByteReader in) {
    pending = null;
    int flags = in == null ? 0 : in.readByte();
    sent = (flags & SENT) != 0;
    failed = (flags & FAILED) != 0;
    limited = (flags & LIMITED) != 0;
    former = (flags & FORMER) != 0;
    version = in == null ? 0 : in.readLong();
    hash = sent ? in.readLong() : 0;
    known = sent || version == 0 || (flags & NONE) != 0;
  }

  /** Whether a document of this size, in bytes, may not be sent. */
  boolean isLimitBelow(long bytes) {
    return limit.isBelow(bytes);
  }

  void write(ByteWriter out) {
    int flags =
        (sent ? SENT : 0)
            | (failed ? FAILED : 0)
            | (limited ? LIMITED : 0)
            | (former ? FORMER : 0)
            | (known && !sent ? NONE : 0);
    out.writeByte(flags).writeLong(version);
    if (sent) {
      out.writeLong(hash);
    }
  }

  /** True where the sink holds nothing. */
  boolean isIdle() {
    return !sent && !failed;
  }

  /** Whether the document as it is cannot be sent; the sink holds the one before it, if any. */
  boolean isFailed() {
    return failed;
  }

  /** The highest version that anything was sent under. */
  long version() {
    return version;
  }

  /** What is sent from now on stands above a number, where nothing is known of what was sent. */
  void beginAbove(long number) {
    version = number;
  }

  /** What was sent may be forgotten, so the sink may hold what is not known. */
  void forgotten() {
    known = false;
  }

  /** What was sent stays as it is: nothing is known of it from now on but its version. */
  void leave() {
    sent = false;
    failed = false;
    limited = false;
    former = false;
    known = false;
  }

  /** Another row has the key: what was sent stays until that one is sent, or goes. */
  void beginAnew() {
    boolean stands = sent || former;
    boolean none = known && !stands;
    leave();
    former = stands;
    known = none;
  }

  /** The row went that has the key: a document that stands is gone, be it of another before it. */
  void rowWent() {
    sent |= former;
    former = false;
  }

  /** The sink may hold a document of this key that was never committed. */
  void reopen(ByteReader in) {
    version = Math.max(version, in.readLong());
    pending = in.rest();
    known = false;
  }

  /** The same, where all that was sent under a version, or one below it, was committed. */
  void reopen(ByteReader in, long committed) {
    Slice told = in.rest();
    if (new ByteReader(told).readLong() > committed) {
      reopen(new ByteReader(told));
    }
  }

  /** Sends a tombstone where the sink may hold a document; {@code key} gives null if unknown. */
  void sendGone(Supplier<Slice> key, long timestamp, Outbox outbox) {
    failed = false;
    limited = false;
    if (sent || pending != null) {
      Slice replaced = replaced(false, 0);
      sent = false;
      known = true;
      version = Math.max(timestamp, version + 1);
      Slice told = key.get();
      Slice gone = told == null ? pending : told;
      outbox.emit(Message.tombstone(timestamp, product, version, replaced, gone));
      readers.tell(gone, null, version, timestamp, outbox);
    }
  }

  /** Tells once that a value of the document is null for what it would have to keep. */
  private void tellLimit(
      long instances, Supplier<Slice> key, long timestamp, Outbox outbox) {
    if (instances > 0 && !limited) {
      counters.product(name, INSTANCE_LIMIT, 1);
      String detail = "A value counts more than " + instances + " different ones, and is null.";
      outbox.emit(limit.letter(INSTANCE_LIMIT, detail, key.get(), timestamp));
    }
    limited = instances > 0;
  }

  void send(Next document, Supplier<Slice> key, long timestamp, Outbox outbox) {
    boolean wasFailed = failed;
    String reason = limit.reason(document.row(), document.flags(), document.overflowed());
    failed = reason != null;
    if (failed) {
      if (!wasFailed) {
        boolean overflow = document.flags() != 0;
        outbox.emit(limit.deadLetter(reason, overflow, key.get(), timestamp));
      }
      return;
    }
    tellLimit(document.instances(), key, timestamp, outbox);
    Slice row = document.row();
    long content = Hash.longOf(row.array(), row.offset(), row.length());
    if (!sent || wasFailed || pending != null || content != hash) {
      // What may be sent again after a dead letter is sent, also where it is the same.
      Slice replaced = wasFailed && sent ? Replacement.UNKNOWN : replaced(true, content);
      sent = true;
      former = false;
      known = true;
      hash = content;
      version = Math.max(timestamp, version + 1);
      Slice keyRow = key.get();
      outbox.emit(Message.document(timestamp, product, version, replaced, keyRow, row));
      readers.tell(keyRow, row, version, timestamp, outbox);
    }
  }

  /** Sends again what was sent last, under the same version, or why it could not be sent. */
  void show(Next document, Supplier<Slice> key, Outbox outbox) {
    String reason = limit.reason(document.row(), document.flags(), document.overflowed());
    if (reason != null) {
      outbox.emit(limit.deadLetter(reason, document.flags() != 0, key.get(), 0));
    } else if (sent) {
      outbox.emit(Message.document(0, product, version, key.get(), document.row()));
    }
  }

  private Slice replaced(boolean holds, long after) {
    return known ? new Replacement(sent, hash, holds, after).toBytes() : Replacement.UNKNOWN;
  }
}
