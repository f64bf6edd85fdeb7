package dev.joinery.capture;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MappingIterator;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/**
 * What a connector notes of statements that change tables; remembers how much of it was looked at.
 *
 * <p>A statement that the connector does not understand is noted without what it changes, and then
 * passed over. That is well where it is of a table that nobody captures. And where it is told once
 * more after a start, as a server with GTIDs tells the last one: what it changes is known by then, so
 * a column that it renames may be gone.
 *
 * <p>A statement that changes rows, of which the log tells none then, is passed over as well: it is
 * noted here, or {@link Statements} has it.
 *
 * <p>Invariant: it is noted before any row that follows it is told. So whoever looks before keeping
 * rows keeps none whose columns are not known.
 */
final class History {
  private static final int SHOWN = 160;

  private final Path file;
  private final List<String> tables;
  private final ObjectMapper json = new ObjectMapper();
  private long looked;

  /**
   * @param file the history; missing where a log tells the columns of its rows itself
   * @param tables those that are captured, as the connector is told of them
   */
  History(Path file, String tables) throws IOException {
    this.file = file;
    this.tables =
        Stream.of(tables.split("(?<!\\\\),"))
            .map(each -> each.replaceAll("\\\\(.)", "$1").toLowerCase(Locale.ROOT))
            .toList();
    looked = Files.exists(file) ? Files.size(file) : 0;
  }

  /** Refuses a statement that changes a captured table and was not understood. */
  void check() throws IOException {
    if (!Files.exists(file) || Files.size(file) <= looked) {
      return;
    }
    byte[] more;
    try (InputStream in = Files.newInputStream(file)) {
      in.skipNBytes(looked);
      more = in.readAllBytes();
    }
    int begin = 0;
    for (int end = 0; end < more.length; end++) {
      if (more[end] == '\n') {
        check(json.readTree(more, begin, end - begin));
        begin = end + 1;
      }
    }
    looked += begin;
  }

  private void check(JsonNode noted) throws IOException {
    String ddl = noted.path("ddl").asText();
    String database = noted.path("databaseName").asText();
    checkRows(ddl, database);
    if (noted.path("tableChanges").isEmpty()
        && TableName.altered(ddl).stream().anyMatch(each -> captured(each, database))
        && !wasUnderstood(noted)) {
      throw new IOException(
          "a statement that changes a captured table is not understood: " + shown(ddl));
    }
  }

  /**
   * Refuses a statement that changes rows of a captured table: the log does not tell which.
   *
   * @param database the session's; empty where it is not known, so that a table of whatever
   *     database is meant by a name that stands alone
   */
  void checkRows(String sql, String database) throws IOException {
    if (TableName.written(sql).stream().anyMatch(each -> captured(each, database))) {
      throw new IOException(
          "the log has a statement in place of the rows of a captured table: " + shown(sql));
    }
  }

  private static String shown(String sql) {
    String line = sql.strip().replaceAll("\\s+", " ");
    return line.length() > SHOWN ? line.substring(0, SHOWN) + "…" : line;
  }

  /** Returns whether it was noted before with its changes, at the same place of the log. */
  private boolean wasUnderstood(JsonNode noted) throws IOException {
    try (MappingIterator<JsonNode> all = json.readerFor(JsonNode.class).readValues(file.toFile())) {
      for (JsonNode each = all.nextValue(); !each.equals(noted); each = all.nextValue()) {
        if (!each.path("tableChanges").isEmpty()
            && each.path("ddl").equals(noted.path("ddl"))
            && each.path("position").equals(noted.path("position"))) {
          return true;
        }
      }
    }
    return false;
  }

  private boolean captured(TableName name, String database) {
    String of = name.database() == null ? database : name.database();
    String named = (of + "." + name.table()).toLowerCase(Locale.ROOT);
    return tables.stream()
        .anyMatch(each -> of.isEmpty() ? each.endsWith(named) : each.equals(named));
  }
}
