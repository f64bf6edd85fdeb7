package dev.joinery.kernel.egress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Tally;
import dev.joinery.kernel.program.Program;
import java.io.IOException;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import scala.Tuple2;
import scala.Tuple5;

/** A document above what its topic takes is a dead letter that a replay understands. */
class SinkRowsTest {
  private static final StructType KEY = new StructType().add("id", DataTypes.LongType);
  private static final StructType VALUE = new StructType().add("name", DataTypes.StringType);
  private static final String TARGET =
      "{\"topics\": [[{\"topic\": \"t\", \"maxBytes\": 2000, \"sink\": \"kafka topic t at k:1\"}]],"
          + " \"deadLetters\": {\"topic\": \"d\", \"maxBytes\": 1000000, \"sink\": \"\"}}";

  private static Slice row(StructType type, Object value) {
    InternalRow row = new GenericInternalRow(new Object[] {value});
    return BinaryRow.copy(UnsafeProjection.create(type).apply(row));
  }

  private static Iterator<Tuple5<String, byte[], byte[], String, byte[]>> records(int length) {
    UTF8String name = UTF8String.fromString("x".repeat(length));
    return records(Message.document(1, 0, 7, row(KEY, 5L), row(VALUE, name)));
  }

  private static Iterator<Tuple5<String, byte[], byte[], String, byte[]>> records(byte[] message) {
    SinkRows rows =
        new SinkRows(
            List.of(new Program.ProductProgram("p", KEY, VALUE)),
            SinkRows.Target.read(TARGET),
            new Tally(),
            new Fence("absent", "me"));
    return rows.call(List.of(new Tuple2<>(message, new byte[0])).iterator());
  }

  private static JsonNode letter(int length) throws IOException {
    Iterator<Tuple5<String, byte[], byte[], String, byte[]>> records = records(length);
    Tuple5<String, byte[], byte[], String, byte[]> record = records.next();
    assertEquals("d", record._1());
    assertFalse(records.hasNext());
    return new ObjectMapper().readTree(record._3());
  }

  @Test
  void aDocumentThatFitsGoesToItsTopic() {
    assertEquals("t", records(100).next()._1());
  }

  @Test
  void itsDeadLetterNamesTheSinkAsTheDriverDoes() throws IOException {
    assertEquals("kafka topic t at k:1", letter(3_000).path("sink").asText());
  }

  @Test
  void aDocumentThatIsKeptWholeIsNotCalledCut() throws IOException {
    JsonNode letter = letter(3_000);

    assertFalse(letter.path("cut").asBoolean());
    assertEquals(3_000 + "{\"name\":\"\"}".length(), letter.path("value").asText().length());
  }

  @Test
  void ofALargeDocumentTheBeginningIsKept() throws IOException {
    JsonNode letter = letter(100_000);

    assertEquals("true", letter.path("cut").toString());
    assertEquals(64 * 1024, letter.path("value").asText().length());
  }

  @Test
  void aDeadLetterAboveItsTopicIsCutAndHasItsIdForKey() throws IOException {
    String value = "x".repeat(2_000_000);
    byte[] told = ("{\"reason\":\"undecodable\",\"value\":\"" + value + "\"}").getBytes();

    Tuple5<String, byte[], byte[], String, byte[]> record =
        records(Message.deadLetter(1, told)).next();

    JsonNode kept = new ObjectMapper().readTree(record._3());
    assertEquals("true", kept.path("cut").toString());
    assertEquals(KeptLetter.of(record._3(), 1_000_000).id(), new String(record._2()));
    assertEquals("undecodable", new String(record._5()));
  }
}
