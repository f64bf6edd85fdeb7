package dev.joinery.kernel.door;

import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.egress.Stage;
import dev.joinery.kernel.ingress.Ingress;
import dev.joinery.kernel.message.Change;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.ProgramReader;
import dev.joinery.kernel.spark.BatchTime;
import java.io.IOException;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * The door to an outbox: raw records in, the rows that were inserted out, each as it came and in
 * the order of its log. Nothing is remembered.
 *
 * <p>An event is staged as a document whose key is its place (partition, offset), whose version is
 * the source's position, -1 without one, and whose value is the row.
 */
public final class Relay {
  private static final StructType PLACE =
      new StructType().add("partition", DataTypes.LongType).add("offset", DataTypes.LongType);

  private final Program program;

  private Relay(Program program) {
    this.program = program;
  }

  /**
   * @param programJson of a product whose root is the outbox, as the planner writes it
   */
  public static Relay open(String programJson) {
    return new Relay(ProgramReader.read(programJson));
  }

  /**
   * Decodes raw records.
   *
   * @return for {@link #stage}, in no order: Spark sorts no stream
   */
  public Dataset<Row> chain(Reading reading) {
    Ingress ingress = reading.ingress(program).sendingTo(origin -> new Events());
    return reading.through(ingress, BatchTime.micros()).toDF();
  }

  /** Runs a batch once, in the order of the log; see {@link Kernel#stage}. */
  public String stage(Dataset<Row> batch, String folder) throws IOException {
    StructType row = program.relations().get(0).decoded();
    String name = program.products().get(0).name();
    Program.ProductProgram events = new Program.ProductProgram(name, PLACE, row);
    Dataset<Row> sorted = batch.repartition(1).sortWithinPartitions(batch.columns()[1]);
    return Kernel.stage(sorted, new Stage(List.of(events), folder));
  }

  /** Sends each inserted row out, under an address that sorts as the log does. */
  private static final class Events implements Ingress.Destination {
    private final UnsafeRowWriter place = new UnsafeRowWriter(PLACE.length());

    @Override
    public boolean insertsOnly() {
      return true;
    }

    @Override
    public void send(
        int relation, Change change, Slice row, long timestamp, Outbox outbox) {
      place.reset();
      place.zeroOutNullBytes();
      place.write(0, change.major());
      place.write(1, change.minor());
      long version = change.positioned() ? change.position() : -1;
      Slice key = new Slice(place.getBuffer(), 0, place.totalSize());
      byte[] message = Message.document(timestamp, 0, version, key, row);
      ByteWriter address = new ByteWriter(16);
      address.writeLong(change.major() ^ Long.MIN_VALUE);
      outbox.pass(message, address.writeLong(change.minor() ^ Long.MIN_VALUE).toBytes());
    }
  }
}
