package dev.joinery.kernel.message;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * How often something happened: remembers counts by kind, owner and name until they are sent on.
 *
 * <p>May be added to while another thread reads.
 */
public final class Counters implements Serializable {
  /** By relation: what became of its changes. */
  public static final String RELATIONS = "relations";

  /** By product or stream: what happened on the way to its documents. */
  public static final String PRODUCTS = "counters";

  /** By product or stream: what was written. */
  public static final String DOCUMENTS = "documents";

  /** Of a whole batch: its dead letters. */
  public static final String DEAD_LETTERS = "dead_letters";

  /** By relation and partition, a time in microseconds: of two, the later stands. */
  public static final String NEWEST = "newest";

  /** By relation: how many rows were how far behind the newest time of their partition. */
  public static final String BEHIND = "behind";

  /** By relation: how many rows came of devices whose clock was how far from the receiver's. */
  public static final String DRIFT = "drift";

  /** By node: the nanoseconds that it took, and its messages. */
  public static final String NODES = "nodes";

  /** By node and address, in hexadecimal digits: messages of those that had the most in a task. */
  public static final String KEYS = "keys";

  /** By node: the messages of an address that is not among them; of two counts the greater stands. */
  public static final String LEFT_OUT = "left_out";

  public static final String EXPRESSION_ERRORS = "expression_errors";

  private record Name(String kind, String owner, String counter) implements Serializable {}

  private final ConcurrentHashMap<Name, Long> counts = new ConcurrentHashMap<>();

  public void add(String kind, String owner, String counter, long count) {
    add(new Name(kind, owner, counter), count);
  }

  private void add(Name name, long count) {
    boolean greater = name.kind().equals(NEWEST) || name.kind().equals(LEFT_OUT);
    counts.merge(name, count, (one, more) -> greater ? Math.max(one, more) : one + more);
  }

  public void addAll(Counters others) {
    others.counts.forEach(this::add);
  }

  /** Adds what a message of {@link #drainTo(Outbox, long)} tells. */
  public void addMessage(ByteReader body) {
    add(text(body.readBlob()), text(body.readBlob()), text(body.readBlob()), body.readLong());
  }

  public void relation(String relation, String counter, long count) {
    add(RELATIONS, relation, counter, count);
  }

  public void product(String product, String counter, long count) {
    add(PRODUCTS, product, counter, count);
  }

  /**
   * Counts expressions over one row of a relation that begin to fail.
   *
   * @param before how many failed over the row as it was; 0 where there was none
   */
  public void relationFailures(String relation, int before, int after) {
    if (after > before) {
      relation(relation, EXPRESSION_ERRORS, after - before);
    }
  }

  /** The same over an object of a product: a document, or a row that is embedded. */
  public void productFailures(String product, int before, int after) {
    if (after > before) {
      product(product, EXPRESSION_ERRORS, after - before);
    }
  }

  public boolean isEmpty() {
    return counts.isEmpty();
  }

  public void clear() {
    counts.clear();
  }

  /** Adds the counts to others and starts again from zero. */
  public void drainTo(Counters others) {
    others.addAll(this);
    clear();
  }

  /** Sends the counts out of the chain, a message each, and starts again from zero. */
  public void drainTo(Outbox outbox, long timestamp) {
    counts.forEach(
        (name, count) -> {
          ByteWriter body = new ByteWriter(64);
          body.writeBlob(bytes(name.kind())).writeBlob(bytes(name.owner()));
          body.writeBlob(bytes(name.counter())).writeLong(count);
          outbox.emit(Message.count(timestamp, body.toBytes()));
        });
    clear();
  }

  /** As JSON: {@code {kind: {owner: {counter: count}}}}. */
  public String toJson() {
    ObjectNode json = JsonNodeFactory.instance.objectNode();
    for (Map.Entry<Name, Long> each : counts.entrySet()) {
      Name name = each.getKey();
      json.withObjectProperty(name.kind())
          .withObjectProperty(name.owner())
          .put(name.counter(), each.getValue());
    }
    return json.toString();
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String text(Slice bytes) {
    return new String(bytes.toBytes(), StandardCharsets.UTF_8);
  }
}
