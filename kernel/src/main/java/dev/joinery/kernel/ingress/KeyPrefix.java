package dev.joinery.kernel.ingress;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.SearchProgram;
import java.util.Arrays;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Those documents of a product whose keys begin with some values, and where they stand. */
public final class KeyPrefix {
  private final int product;
  private final int node;
  private final StructType key;

  /** Of the values, and of those that addresses begin with. */
  private final byte[] code;

  private final Slice addressed;
  private final KeyCodec codec;
  private final boolean allAddressed;
  private final boolean oneAddress;
  private final boolean ofParts;

  /**
   * @param columns how many values there are: of that many first columns of the key
   * @param json the text of an object that has them, {@code {column: value}}
   */
  public KeyPrefix(Program program, String product, int columns, String json) {
    this.product = Sender.productOf(program, product);
    Sender sender = Sender.of(program, this.product);
    this.key = program.products().get(this.product).key();
    StructField[] first = Arrays.copyOf(key.fields(), columns);
    int shared = Math.min(columns, sender.columns());
    KeyReader values = new KeyReader(new StructType(first), columns);
    byte[] row = values.row(json);
    this.node = sender.node();
    this.code = values.code(row);
    this.codec = codecOf(first);
    this.addressed =
        Slice.of(
            codecOf(Arrays.copyOf(first, shared)).encode(BinaryRow.of(Slice.of(row), columns)));
    this.allAddressed = columns == shared;
    this.ofParts = program.nodes().get(node) instanceof SearchProgram;
    this.oneAddress = !ofParts && shared == sender.columns();
  }

  private static KeyCodec codecOf(StructField[] columns) {
    return KeyCodec.of(
        Arrays.stream(columns).map(StructField::dataType).toArray(DataType[]::new));
  }

  public int product() {
    return product;
  }

  /** Whether an address has a part of all documents, whatever their keys. */
  public boolean isOfParts() {
    return ofParts;
  }

  /** The node that sends them. */
  public int node() {
    return node;
  }

  /** Where all of them stand; null where that may be at several addresses. */
  public byte[] address() {
    return oneAddress ? Address.of(node, addressed.toBytes()) : null;
  }

  /** Whether some of them may stand at an address. */
  public boolean mayBeAt(byte[] address) {
    if (Address.nodeOf(address) != node) {
      return false;
    }
    Slice key = Address.keyOf(address);
    return key.length() >= addressed.length() && key.sub(0, addressed.length()).equals(addressed);
  }

  /** Whether a document at such an address is one of them, by the row of its key. */
  public boolean has(Slice key) {
    return allAddressed || Arrays.equals(code, codec.encode(BinaryRow.of(key, this.key.length())));
  }

  /** The same, by the text of its key, as a dead letter has it. */
  public boolean has(String json) {
    return allAddressed || has(Slice.of(new KeyReader(key, 0).row(json)));
  }
}
