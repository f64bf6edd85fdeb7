package dev.joinery.kernel.chain;

import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.state.Mapped;
import dev.joinery.kernel.state.PatchedValues;
import java.util.Iterator;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statevariables.ListStateImpl;
import org.apache.spark.sql.execution.streaming.state.StateStore;
import org.apache.spark.sql.streaming.ListState;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Parts under addresses, in a list of Spark's state; what is added to one is written by itself.
 *
 * <p>Goes to the store beneath the list: the list counts its parts, under a key of their own, with
 * each that is added. Nothing asks for that count. Keys and values are those of the list, byte for
 * byte.
 */
final class StoredParts implements PatchedValues.Parts {
  private final StateStore store;
  private final String name;
  private final UnsafeRowWriter key = new UnsafeRowWriter(1, 128);
  private final UnsafeRowWriter value = new UnsafeRowWriter(1, 1024);

  /** {@code list} is one that a task was given. */
  StoredParts(ListState<byte[]> list) {
    if (!(list instanceof ListStateImpl<?> stored)) {
      throw new IllegalStateException("state that is not a task's: " + list);
    }
    this.store = stored.stateStore();
    this.name = stored.baseStateName();
  }

  @Override
  public Iterator<Slice> get(byte[] address) {
    Iterator<UnsafeRow> rows =
        CollectionConverters.asJava(store.valuesIterator(row(key, address), name));
    return new Mapped<>(rows, StoredParts::bytesOf);
  }

  /** A copy: by some encodings of state the next value is in the same array. */
  private static Slice bytesOf(UnsafeRow row) {
    return Slice.of(row.getBinary(0));
  }

  @Override
  public void put(byte[] address, byte[] part) {
    store.put(row(key, address), row(value, part), name);
  }

  @Override
  public void append(byte[] address, byte[] part) {
    store.merge(row(key, address), row(value, part), name);
  }

  @Override
  public void remove(byte[] address) {
    store.remove(row(key, address), name);
  }

  private static UnsafeRow row(UnsafeRowWriter writer, byte[] bytes) {
    writer.reset();
    writer.zeroOutNullBytes();
    writer.write(0, bytes);
    return writer.getRow();
  }
}
