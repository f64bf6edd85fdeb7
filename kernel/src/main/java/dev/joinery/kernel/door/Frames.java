package dev.joinery.kernel.door;

import dev.joinery.kernel.format.Format;
import dev.joinery.kernel.format.Formats;
import dev.joinery.kernel.ingress.FrameIngress;
import dev.joinery.kernel.ingress.Ingress;
import dev.joinery.kernel.message.RawChange;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.spark.BatchTime;
import dev.joinery.kernel.spark.BytesEncoder;
import dev.joinery.kernel.spark.Calls;
import dev.joinery.kernel.spark.OutputReader;
import dev.joinery.kernel.spark.RowPacker;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.LongConsumer;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import scala.Tuple2;

/**
 * Collects the frames of one product, a frame a relation, and gives its documents as a frame.
 *
 * <p>Everything is planned in one session, whatever sessions the frames came from.
 */
public final class Frames {
  private final SparkSession session;
  private final Program program;
  private final Ingress.Destinations destinations;
  private final UnaryOperator<Dataset<Tuple2<byte[], byte[]>>> levels;
  private Dataset<Tuple2<byte[], byte[]>> wire;

  Frames(
      SparkSession session,
      Program program,
      Ingress.Destinations destinations,
      UnaryOperator<Dataset<Tuple2<byte[], byte[]>>> levels) {
    this.session = session;
    this.program = program;
    this.destinations = destinations;
    this.levels = levels;
  }

  /**
   * Adds typed changes.
   *
   * @param frame columns op and position, then the relation's columns, or those the frame has, in
   *     the program's order and of its types
   * @param absent the relation's columns that the frame does not have
   */
  public void typed(Dataset<Row> frame, int relation, String[] absent) {
    Program.RelationProgram columns = program.relations().get(relation);
    List<String> missing = Arrays.asList(absent);
    List<Column> values = new ArrayList<>();
    long[] mask = missing.isEmpty() ? null : new long[(columns.columns().size() + 63) / 64];
    int given = 2;
    for (int i = 0; i < columns.columns().size(); i++) {
      Program.Slot slot = columns.columns().get(i);
      if (missing.contains(slot.name())) {
        mask[i >> 6] |= 1L << i;
        values.add(functions.lit(null).cast(slot.type()));
      } else {
        values.add(frame.col(frame.columns()[given++]));
      }
    }
    Expression packer = Calls.literal(new RowPacker(columns.decoded()));
    Column row = functions.struct(values.toArray(Column[]::new));
    Dataset<Row> packed =
        here(
            frame.select(
                frame.col(frame.columns()[0]).as("op"),
                frame.col(frame.columns()[1]).as("position"),
                Calls.call(packer, "pack", DataTypes.BinaryType, row).as("row"),
                Calls.call(packer, "batch", DataTypes.LongType).as("batch"),
                timestamp()));
    FrameIngress ingress = new FrameIngress(program, destinations, relation, mask);
    add(packed.mapPartitions(ingress, BytesEncoder.WIRE));
  }

  /**
   * Adds undecoded records.
   *
   * @param frame columns major, minor (both null where the records stand in no log), file, key,
   *     value, error, logged
   * @param relationsJson what {@link Formats#of} reads
   */
  public void raw(
      Dataset<Row> frame, int relation, String relationsJson, String[] sources, String[] topics) {
    Format[] formats = Formats.of(relationsJson, frame.sparkSession());
    Expression packer = Calls.literal(new RowPacker(program.relations().get(relation).decoded()));
    Column batch = Calls.call(packer, "batch", DataTypes.LongType);
    Dataset<Row> records =
        here(
            frame.select(
                functions.lit(0).as("topic"),
                functions.coalesce(frame.col("major"), batch).as("major"),
                functions.coalesce(frame.col("minor"), functions.lit(RawChange.ORDERLESS))
                    .as("minor"),
                frame.col("file").cast("binary").as("file"),
                frame.col("key").cast("binary").as("key"),
                frame.col("value").cast("binary").as("value"),
                frame.col("error").cast("string").as("error"),
                timestamp(),
                functions.lit(null).cast("string").as("name"),
                frame.col("logged")));
    int[][] relations = {{relation}};
    Ingress ingress =
        new Ingress(program, formats, sources, topics, relations).sendingTo(destinations);
    add(records.mapPartitions(ingress, BytesEncoder.WIRE));
  }

  /**
   * Sends all that was added through the levels; a dead letter makes a batch fail, with one line
   * that tells its reason.
   *
   * @param json true for documents as text, false for structs
   * @return columns key, value, version
   */
  public Dataset<Row> documents(boolean json) {
    Output output = output();
    Column refusal = Calls.call(output.reader(), "refusal", DataTypes.StringType, output.message());
    Column kept =
        functions
            .when(refusal.isNotNull(), functions.raise_error(refusal).cast("boolean"))
            .otherwise(output.isDocument());
    return output.select(kept, json, false);
  }

  /** The same without failing; {@code watch} hears how many dead letters a batch left out. */
  public Dataset<Row> counted(boolean json, LongConsumer watch) {
    Output output = output();
    Column refusal = Calls.call(output.reader(), "refusal", DataTypes.StringType, output.message());
    Column count = functions.count_if(refusal.isNotNull()).as(LettersLeftOut.COUNT);
    session.streams().addListener(new LettersLeftOut(watch));
    return new Output(output.frame().observe(LettersLeftOut.METRIC, count), output.reader())
        .select(output.isDocument(), json, false);
  }

  /** The same with a row for each dead letter, which stands in a column {@code error}. */
  public Dataset<Row> withDeadLetters(boolean json) {
    Output output = output();
    Column letter =
        Calls.call(output.reader(), "isDeadLetter", DataTypes.BooleanType, output.message());
    return output.select(output.isDocument().or(letter), json, true);
  }

  private Output output() {
    Expression reader = Calls.literal(new OutputReader(program.products().get(0)));
    return new Output(levels.apply(wire).toDF("message", "address"), reader);
  }

  /** What left the chain, and what reads it. */
  private final class Output {
    private final Dataset<Row> frame;
    private final Expression reader;

    Output(Dataset<Row> frame, Expression reader) {
      this.frame = frame;
      this.reader = reader;
    }

    Dataset<Row> frame() {
      return frame;
    }

    Expression reader() {
      return reader;
    }

    Column message() {
      return frame.col("message");
    }

    Column isDocument() {
      return Calls.call(reader, "isDocument", DataTypes.BooleanType, message());
    }

    Dataset<Row> select(Column kept, boolean json, boolean deadLetters) {
      return frame.filter(kept).select(columns(json, deadLetters));
    }

    private Column[] columns(boolean json, boolean deadLetters) {
      Program.ProductProgram product = program.products().get(0);
      Column message = message();
      List<Column> columns = new ArrayList<>();
      columns.add(Calls.call(reader, "key", product.key(), message).as("key"));
      columns.add(
          json
              ? Calls.call(reader, "json", DataTypes.StringType, message).as("value")
              : Calls.call(reader, "value", product.value(), message).as("value"));
      columns.add(Calls.call(reader, "version", DataTypes.LongType, message).as("version"));
      if (deadLetters) {
        columns.add(Calls.call(reader, "error", DataTypes.StringType, message).as("error"));
      }
      return columns.toArray(Column[]::new);
    }
  }

  private void add(Dataset<Tuple2<byte[], byte[]>> more) {
    wire = wire == null ? more : wire.union(more);
  }

  /** The same frame, planned in this session. */
  private Dataset<Row> here(Dataset<Row> frame) {
    return Dataset$.MODULE$.ofRows(
        session,
        ((org.apache.spark.sql.classic.Dataset<Row>) frame).queryExecution().analyzed());
  }

  private static Column timestamp() {
    return BatchTime.micros().as("timestamp");
  }
}
