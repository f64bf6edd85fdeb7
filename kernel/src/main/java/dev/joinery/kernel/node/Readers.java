package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Change;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.program.Program;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructField;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Those that read a product as a relation: sends them what the product is sent as, as changes of
 * that relation.
 *
 * <p>Versions are the places of such changes in their log. They rise for each key, and are the same
 * where a batch runs again.
 */
final class Readers {
  private record Reader(UnsafeProjection columns, Routes routes) {}

  private final List<Reader> readers = new ArrayList<>();
  private final UnsafeRow key;
  private final UnsafeRow value;
  private final InternalRow nothing;

  Readers(int product, NodeContext context) {
    Program program = context.program();
    Program.ProductProgram types = program.products().get(product);
    key = new UnsafeRow(types.key().length());
    value = new UnsafeRow(types.value().length());
    nothing = new GenericInternalRow(types.value().length());
    for (Program.ProductRead read : program.reads()) {
      if (read.product() == product && isRouted(program, read)) {
        readers.add(
            new Reader(columnsOf(program, read), new Routes(program, read.relation())));
      }
    }
  }

  /** A Root sends its documents to what they are for itself. */
  private static boolean isRouted(Program program, Program.ProductRead read) {
    return program.routes().stream().anyMatch(each -> each.relation() == read.relation());
  }

  /** Gives the row of the relation that a product's documents are, over their key and value. */
  static UnsafeProjection columnsOf(Program program, Program.ProductRead read) {
    Program.ProductProgram types = program.products().get(read.product());
    StructField[] row =
        Stream.of(types.key(), types.value())
            .flatMap(each -> Arrays.stream(each.fields()))
            .toArray(StructField[]::new);
    List<Expression> columns = new ArrayList<>();
    for (int i = 0; i < read.columns().length; i++) {
      int column = read.columns()[i];
      Expression whole = new BoundReference(column, row[column].dataType(), true);
      boolean taken = read.inner() != null && read.inner()[i] >= 0;
      columns.add(taken ? new GetStructField(whole, read.inner()[i], Option.empty()) : whole);
    }
    return UnsafeProjection.create(CollectionConverters.asScala(columns).toSeq());
  }

  /** Tells them a document, or that there is none, where {@code document} is null. */
  void tell(Slice keyRow, Slice document, long version, long timestamp, Outbox outbox) {
    if (readers.isEmpty()) {
      return;
    }
    int op = document == null ? Message.OP_DELETE : Message.OP_UPSERT;
    Change change = new Change(op, false, 0, version, 0, null);
    InternalRow columns = document == null ? nothing : BinaryRow.point(value, document);
    InternalRow row = new JoinedRow(BinaryRow.point(key, keyRow), columns);
    for (Reader each : readers) {
      each.routes().send(change, BinaryRow.copy(each.columns().apply(row)), timestamp, outbox);
    }
  }
}
