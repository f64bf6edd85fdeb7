package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.SearchProgram;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * What a match is sent as: makes its document of the two rows, and the row of its key of the codes
 * of theirs. It remembers nothing.
 */
final class HitDocument {
  private final Assembler assembler;
  private final UnsafeRow none = new UnsafeRow(0);
  private final UnsafeRow query;
  private final UnsafeRow document;
  private final KeyCodec queryKey;
  private final KeyCodec documentKey;
  private final UnsafeProjection key;

  HitDocument(SearchProgram program, NodeContext context) {
    Program whole = context.program();
    this.assembler = context.assembler(program.assembler());
    this.query = new UnsafeRow(whole.assemblers().get(program.stored()).type().length());
    this.document = new UnsafeRow(program.searched(whole).length());
    StructField[] parts = whole.products().get(program.product()).key().fields();
    this.queryKey = KeyCodec.of(typesOf((StructType) parts[0].dataType()));
    this.documentKey = KeyCodec.of(typesOf((StructType) parts[1].dataType()));
    this.key = UnsafeProjection.create(new DataType[] {parts[0].dataType(), parts[1].dataType()});
  }

  private static DataType[] typesOf(StructType type) {
    return Arrays.stream(type.fields()).map(StructField::dataType).toArray(DataType[]::new);
  }

  Slice of(Slice queryRow, Slice documentRow) {
    BinaryRow.point(query, queryRow);
    BinaryRow.point(document, documentRow);
    assembler.assemble(Slice.EMPTY, none, new Object[] {document, query});
    return assembler.row();
  }

  /** How many expressions failed over the last match. */
  int failures() {
    return assembler.failures();
  }

  /** The row of a match's key; without a document that of a query alone. */
  Slice key(Slice queryCode, Slice documentCode) {
    Object found =
        documentCode == null ? null : new GenericInternalRow(documentKey.decode(documentCode));
    Object[] parts = {new GenericInternalRow(queryKey.decode(queryCode)), found};
    return BinaryRow.copy(key.apply(new GenericInternalRow(parts)));
  }
}
