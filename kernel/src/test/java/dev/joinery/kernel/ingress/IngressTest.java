package dev.joinery.kernel.ingress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.chain.HeldProgram;
import dev.joinery.kernel.chain.SharedProgram;
import dev.joinery.kernel.chain.StateMark;
import dev.joinery.kernel.chain.Table;
import dev.joinery.kernel.chain.Tree;
import dev.joinery.kernel.chain.TreeProgram;
import dev.joinery.kernel.door.ChangeFeed;
import dev.joinery.kernel.format.ChangeSink;
import dev.joinery.kernel.format.ColumnsSeen;
import dev.joinery.kernel.format.Format;
import dev.joinery.kernel.format.Formats;
import dev.joinery.kernel.message.Change;
import dev.joinery.kernel.message.Counters;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.RawChange;
import dev.joinery.kernel.node.NodeContext;
import dev.joinery.kernel.node.RelationRows;
import dev.joinery.kernel.node.RowCell;
import dev.joinery.kernel.program.Compiler;
import dev.joinery.kernel.program.Program;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.commons.lang3.SerializationUtils;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.junit.jupiter.api.Test;

/** What becomes of raw records: places, records that count whole or not at all. */
class IngressTest {
  private static final Table USER = Table.of("user", 1, "id long, name string, at timestamp");
  private static final Program PROGRAM = TreeProgram.of(false, Tree.root("product", USER));
  private static final long LATE = 400_000_000_000_000_000L;

  private final List<JsonNode> letters = new ArrayList<>();
  private final List<RawChange> changes = new ArrayList<>();

  private static Format[] debezium() {
    return Formats.of(
        """
        [{"name": "user", "format": "debezium-json", "key": ["id"], "timeUnit": "micros",
          "columns": [{"name": "id", "type": "bigint"}, {"name": "name", "type": "string"},
                      {"name": "at", "type": "timestamp"}]}]""");
  }

  private static String update(Long before, long after, long lsn, long at) {
    String old = before == null ? "null" : "{\"id\":" + before + "}";
    return """
        {"before":%s,"after":{"id":%d,"name":"n%d","at":%d},"source":{"lsn":%d},"op":"u"}"""
        .formatted(old, after, lsn, at, lsn);
  }

  private static Row record(
      String topic, long partition, long offset, String file, String value) {
    return RowFactory.create(
        0, partition, offset, bytes(file), null, bytes(value), null, 1_000_000L, topic, null);
  }

  /** A record that its log took at a time. */
  private static Row logged(long at, long offset, String value) {
    return RowFactory.create(
        0, 0L, offset, null, null, bytes(value), null, 1_000_000L, null, at);
  }

  private static byte[] bytes(String text) {
    return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
  }

  private Ingress ingress(Format[] formats, String topic) {
    String[] topics = {topic};
    return new Ingress(PROGRAM, formats, new String[] {"s"}, topics, new int[][] {{0}})
        .sendingTo(origin -> new ChangeFeed.Changes(PROGRAM));
  }

  @Test
  void aProgramThatTasksShareDoesNotTravelWithThem() {
    StateMark mark = StateMark.of(List.of("format 1"));
    SharedProgram shared = SharedProgram.of(new Compiler(null).compile(PROGRAM), mark);
    Ingress ingress = ingress(debezium(), "user");
    String own = new String(SerializationUtils.serialize(ingress), StandardCharsets.ISO_8859_1);

    ingress.sharing(new HeldProgram(shared));
    String sharing = new String(SerializationUtils.serialize(ingress), StandardCharsets.ISO_8859_1);

    assertTrue(own.contains("RelationProgram"));
    assertFalse(sharing.contains("RelationProgram"));
    assertEquals(PROGRAM.products(), ingress.program().products());
  }

  /** The counts of one kind that a task told, by relation. */
  private static JsonNode counted(String kind, Ingress ingress, Row... records) {
    Counters counters = new Counters();
    ingress
        .call(List.of(records).iterator())
        .forEachRemaining(
            each -> {
              if (Message.kind(each._1()) == Message.COUNT) {
                counters.addMessage(Message.body(each._1()));
              }
            });
    return json(counters.toJson().getBytes(StandardCharsets.UTF_8)).path(kind);
  }

  private static final Clock[] AT = {new Clock(2, false, Clock.UNBOUNDED, null)};

  @Test
  void theNewestTimeIsToldByPartition() {
    Row[] records = {
      record(null, 0, 5, null, update(null, 1, 1, 500)),
      record(null, 0, 6, null, update(null, 2, 2, 300)),
      record(null, 1, 0, null, update(null, 3, 3, 200)),
      record(null, 1, 1, null, "{"),
    };

    Ingress ingress = ingress(debezium(), "user").timedBy(AT);

    assertEquals(json(bytes("{\"user\":{\"0\":500,\"1\":200}}")), counted("newest", ingress, records));
  }

  @Test
  void howFarRowsAreBehindIsToldInBuckets() {
    Row[] records = {
      record(null, 0, 5, null, update(null, 1, 1, 500)),
      record(null, 0, 6, null, update(null, 2, 2, 300)),
    };

    Ingress ingress = ingress(debezium(), "user").timedBy(AT);

    // 200 behind: from 192 to 223.
    assertEquals(json(bytes("{\"user\":{\"0\":1,\"26\":1}}")), counted("behind", ingress, records));
  }

  @Test
  void whatASnapshotReadMovesNoTime() {
    String read = update(null, 1, 1, 500).replace("\"u\"", "\"r\"");

    JsonNode newest =
        counted(
            "newest",
            ingress(debezium(), "user").timedBy(AT),
            record(null, 0, 5, null, read),
            record(null, 0, 6, null, update(null, 2, 2, 300)));

    assertEquals(json(bytes("{\"user\":{\"0\":300}}")), newest);
  }

  @Test
  void aTimeTooFarAheadOfTheLogMovesNoNewestTimeAndIsCounted() {
    Clock[] bounded = {new Clock(2, false, 100, null)};
    Row[] records = {
      logged(400, 5, update(null, 1, 1, 500)),
      logged(400, 6, update(null, 2, 2, 501)),
      record(null, 1, 0, null, update(null, 3, 3, 900)),
    };

    Ingress ingress = ingress(debezium(), "user").timedBy(bounded);

    assertEquals(
        json(bytes("{\"user\":{\"0\":500,\"1\":900}}")), counted("newest", ingress, records));
    assertEquals(
        1, counted("relations", ingress, records).path("user").path("time_ahead").asLong());
  }

  /** What a task knows of the newest times once it has read all. */
  private record NewestOnceRead(Ingress.Origin origin, Map<Long, Long> newest)
      implements Ingress.Destination {
    @Override
    public void send(int relation, Change change, Slice row, long timestamp, Outbox outbox) {}

    @Override
    public void close(Outbox outbox, long timestamp) {
      newest.putAll(origin.newest(0));
    }
  }

  @Test
  void aPartitionOfWhichNoRowTellsATimeHasNoNewestOne() {
    Map<Long, Long> newest = new HashMap<>();
    String timeless = update(null, 1, 1, 500).replace(",\"at\":500", ",\"at\":null");

    run(
        ingress(debezium(), "user")
            .timedBy(AT)
            .sendingTo(origin -> new NewestOnceRead(origin, newest)),
        record(null, 0, 5, null, timeless),
        record(null, 1, 5, null, update(null, 2, 2, 300)));

    assertEquals(Map.of(1L, 300L), newest);
  }

  private void run(Ingress ingress, Row... records) {
    ingress
        .call(List.of(records).iterator())
        .forEachRemaining(
            each -> {
              byte[] message = each._1();
              if (Message.kind(message) == Message.DEAD_LETTER) {
                letters.add(json(Message.body(message).rest().toBytes()));
              } else if (Message.kind(message) == Message.RAW) {
                changes.add(RawChange.read(message));
              }
            });
  }

  private static JsonNode json(byte[] text) {
    try {
      return new ObjectMapper().readTree(new String(text, StandardCharsets.UTF_8));
    } catch (JsonProcessingException notJson) {
      throw new IllegalStateException(notJson);
    }
  }

  @Test
  void aKeyChangeThatAStoreCannotHoldIsNotAppliedByHalf() {
    run(ingress(debezium(), "user"), record(null, 0, 5, null, update(1L, 2, 7, LATE)));

    assertEquals(List.of(), changes);
    assertEquals("out_of_range", letters.get(0).get("reason").asText());
    assertEquals(1, letters.size());
  }

  @Test
  void aKeyChangeIsADeleteAndAnUpsert() {
    run(ingress(debezium(), "user"), record(null, 0, 5, null, update(1L, 2, 7, 0)));

    assertEquals(
        List.of("1 1", "0 2"),
        changes.stream()
            .map(each -> each.op() + " " + BinaryRow.of(each.row(), 3).getLong(0))
            .toList());
    assertEquals(List.of(), letters);
  }

  @Test
  void aDecoderThatFailsHalfwayTellsNothing() {
    Format halfway =
        new Format() {
          @Override
          public void decode(int relation, byte[] key, byte[] value, ChangeSink sink) {
            debezium()[0].decode(relation, key, value, sink);
            throw new IllegalStateException("halfway");
          }

          @Override
          public void loggedAt(long micros) {}

          @Override
          public ColumnsSeen columnsSeen() {
            return null;
          }
        };
    run(
        ingress(new Format[] {halfway}, "user"),
        record(null, 0, 5, null, update(null, 2, 7, 0)));

    assertEquals(List.of(), changes);
    assertEquals("poison", letters.get(0).get("reason").asText());
  }

  @Test
  void whatFailsBehindADecoderIsNoDeadLetter() {
    Ingress ingress =
        ingress(debezium(), "user")
            .sendingTo(
                origin ->
                    new Ingress.Router(PROGRAM) {
                      @Override
                      public void send(
                          int relation,
                          Change change,
                          Slice row,
                          long timestamp,
                          Outbox outbox) {
                        throw new IllegalStateException("a node's own");
                      }
                    });

    Row[] records = {record(null, 0, 5, null, update(null, 2, 7, 0))};
    assertThrows(IllegalStateException.class, () -> run(ingress, records));
  }

  @Test
  void onePlaceOfTwoTopicsIsTwoPlaces() {
    run(
        ingress(debezium(), "pattern:shard_.*"),
        record("shard_a", 0, 5, null, update(null, 1, 100, 0)),
        record("shard_b", 0, 5, null, update(null, 1, 200, 0)),
        record("shard_b", 0, 6, null, "{"));

    RowCell cell = new RowCell();
    Outbox outbox = new Outbox();
    RelationRows rows = new NodeContext(new Compiler(null).compile(PROGRAM), () -> null).rows(0);
    rows.apply(cell, changes, 1, outbox);
    assertTrue(cell.exists);
    assertEquals(200, cell.position);
    assertEquals(false, outbox.hasNext());
    assertEquals("shard_b", letters.get(0).get("topic").asText());
    assertEquals(0, letters.get(0).get("partition").asLong());
    assertEquals(6, letters.get(0).get("offset").asLong());
  }

  @Test
  void aTombstoneFollowsTheDeleteOfItsOwnTopic() {
    String delete = """
        {"before":{"id":1},"after":null,"source":{"lsn":200},"op":"d"}""";
    Row tombstone =
        RowFactory.create(
            0, 0L, 6L, null, bytes("{\"id\":1}"), null, null, 1_000_000L, "shard_a", null);
    run(
        ingress(debezium(), "pattern:shard_.*"),
        record("shard_a", 0, 5, null, delete),
        record("shard_b", 0, 5, null, update(null, 1, 300, 0)),
        tombstone);

    RowCell cell = new RowCell();
    RelationRows rows = new NodeContext(new Compiler(null).compile(PROGRAM), () -> null).rows(0);
    rows.apply(cell, changes, 1, new Outbox());
    assertTrue(cell.exists);
  }

  @Test
  void aPlaceNamesTheTopicThenThePartitionOrTheFile() {
    List<String> places = new ArrayList<>();
    Ingress ingress =
        ingress(debezium(), "pattern:.*")
            .sendingTo(
                origin ->
                    new Ingress.Router(PROGRAM) {
                      @Override
                      public void send(
                          int relation,
                          Change change,
                          Slice row,
                          long timestamp,
                          Outbox outbox) {
                        places.add(origin.place());
                      }
                    });
    run(
        ingress,
        record("web", 3, 5, null, update(null, 1, 1, 0)),
        record(null, 17, 5, "0001.jsonl", update(null, 1, 1, 0)));

    assertEquals(List.of("web/3/5", "pattern:.*/0001.jsonl/5"), places);
  }
}
