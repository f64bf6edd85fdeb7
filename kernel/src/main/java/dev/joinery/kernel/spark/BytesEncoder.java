package dev.joinery.kernel.spark;

import java.util.List;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.Analyzer;
import org.apache.spark.sql.catalyst.encoders.AgnosticEncoders;
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import scala.Tuple2;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Spark's encoder of bytes, with the row written and read by hand.
 *
 * <p>Spark makes the encoders of state again in every task. Its own go through the analyser and the
 * code generator for that, which was a third of the time of a small batch's tasks. The rows are the
 * same, byte for byte.
 */
public final class BytesEncoder extends ExpressionEncoder<byte[]> {
  /** Of the chain's rows: a message, and the address it goes to. */
  public static final Encoder<Tuple2<byte[], byte[]>> WIRE =
      Encoders.tuple(Encoders.BINARY(), Encoders.BINARY());

  private static final Seq<Expression> NONE =
      CollectionConverters.asScala(List.<Expression>of()).toSeq();

  public BytesEncoder() {
    this(ExpressionEncoder.apply(AgnosticEncoders.BinaryEncoder$.MODULE$));
  }

  private BytesEncoder(ExpressionEncoder<byte[]> plain) {
    super(plain.encoder(), plain.objSerializer(), plain.objDeserializer());
  }

  @Override
  public ExpressionEncoder<byte[]> resolveAndBind(Seq<Attribute> attributes, Analyzer analyzer) {
    return this;
  }

  @Override
  public Serializer<byte[]> createSerializer() {
    return new ToRow();
  }

  @Override
  public Deserializer<byte[]> createDeserializer() {
    return new FromRow();
  }

  private static final class ToRow extends Serializer<byte[]> {
    private transient UnsafeRowWriter row;

    ToRow() {
      super(NONE);
    }

    @Override
    public InternalRow apply(byte[] bytes) {
      if (row == null) {
        row = new UnsafeRowWriter(1, 256);
      }
      row.reset();
      row.zeroOutNullBytes();
      row.write(0, bytes);
      return row.getRow();
    }
  }

  private static final class FromRow extends Deserializer<byte[]> {
    FromRow() {
      super(NONE);
    }

    @Override
    public byte[] apply(InternalRow row) {
      return row.getBinary(0);
    }
  }
}
