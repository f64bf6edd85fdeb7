package dev.joinery.kernel.door;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.joinery.kernel.format.Format;
import dev.joinery.kernel.format.Formats;
import dev.joinery.kernel.ingress.Clock;
import dev.joinery.kernel.ingress.Ingress;
import dev.joinery.kernel.program.Compiler;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.spark.BytesEncoder;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.SparkSession;
import scala.Tuple2;

/**
 * What one query reads: its raw records, and what they say of which relation.
 *
 * @param raw columns topic (its place in {@code readJson}), major, minor, file, key, value, error,
 *     name (the topic's own name where a relation reads several, else null), logged (when the log
 *     took it, in microseconds since 1970, else null)
 * @param relationsJson what {@link Formats#of} reads
 * @param sources of each relation
 * @param topics of each relation
 * @param readJson for each number in the column topic, the places of its relations
 * @param clocksJson what {@link Clock#listOf} reads
 * @param sealingJson what {@link SealingText} reads; empty where nothing is personal
 */
public record Reading(
    Dataset<Row> raw,
    String relationsJson,
    String[] sources,
    String[] topics,
    String readJson,
    String clocksJson,
    String sealingJson) {

  Ingress ingress(Program program) {
    Format[] formats = Formats.of(relationsJson, raw.sparkSession());
    return new Ingress(program, formats, sources, topics, numbers())
        .timedBy(Clock.listOf(clocksJson))
        .sealedBy(SealingText.read(sealingJson, program, compiler()));
  }

  private Compiler compiler() {
    return Compiler.opening(() -> (SparkSession) raw.sparkSession());
  }

  private int[][] numbers() {
    try {
      return new ObjectMapper().readValue(readJson, int[][].class);
    } catch (JsonProcessingException notNumbers) {
      throw new IllegalArgumentException("not a list of lists of numbers", notNumbers);
    }
  }

  /** Sends the records to the first nodes, each under a time in microseconds. */
  Dataset<Tuple2<byte[], byte[]>> through(Ingress ingress, Column timestamp) {
    return through(raw, ingress, timestamp);
  }

  /** Does the same to records that may be others. */
  static Dataset<Tuple2<byte[], byte[]>> through(
      Dataset<Row> raw,
      MapPartitionsFunction<Row, Tuple2<byte[], byte[]>> ingress,
      Column timestamp) {
    Dataset<Row> stamped =
        raw.select(
            raw.col("topic"),
            raw.col("major"),
            raw.col("minor"),
            raw.col("file").cast("binary").as("file"),
            raw.col("key"),
            raw.col("value"),
            raw.col("error"),
            timestamp.as("timestamp"),
            raw.col("name"),
            raw.col("logged"));
    return stamped.mapPartitions(ingress, BytesEncoder.WIRE);
  }
}
