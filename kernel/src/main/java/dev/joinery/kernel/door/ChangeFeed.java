package dev.joinery.kernel.door;

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

/**
 * The door to a query whose join state is in a store: raw records in, the changes they tell out.
 * Nothing is remembered.
 */
public final class ChangeFeed {
  private final Program program;

  private ChangeFeed(Program program) {
    this.program = program;
  }

  /**
   * @param programJson whose relations are read, as the planner writes it
   */
  public static ChangeFeed open(String programJson) {
    return new ChangeFeed(ProgramReader.read(programJson));
  }

  /**
   * Decodes raw records.
   *
   * @return for {@link #stage}, in no order
   */
  public Dataset<Row> chain(Reading reading) {
    Program read = program;
    Ingress ingress = reading.ingress(read).sendingTo(origin -> new Changes(read));
    return reading.through(ingress, BatchTime.micros()).toDF();
  }

  /**
   * Runs a batch once, and writes its changes and dead letters below {@code folder}; see {@link
   * Kernel#stage} and {@code ChangeLines}.
   */
  public String stage(Dataset<Row> batch, String folder) throws IOException {
    return Kernel.stage(batch, new Stage(List.of(), program.relations(), folder));
  }

  /** Sends each change out of the chain, unless it holds a time that stores cannot. */
  public static final class Changes implements Ingress.Destination {
    private final List<Years> years;

    public Changes(Program program) {
      years = program.relations().stream().map(each -> new Years(each.decoded())).toList();
    }

    @Override
    public String refusal(int relation, Slice row) {
      return years.get(relation).refusal(row);
    }

    @Override
    public void send(
        int relation, Change change, Slice row, long timestamp, Outbox outbox) {
      outbox.emit(Message.raw(timestamp, relation, 0, change, row));
    }
  }
}
