package dev.joinery.capture;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MappingIterator;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
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
  private static final Pattern STATEMENT =
      Pattern.compile("(?is)(?:\\s|/\\*.*?\\*/|#[^\\n]*\\n|-- [^\\n]*\\n)*(\\w+)\\b(.*)");
  private static final String NAME = "(`(?:[^`]|``)+`|\"[^\"]+\"|[^\\s`\".(,;]+)";
  private static final Pattern TABLE =
      Pattern.compile(
          "(?is)\\btables?\\s+(?:if\\s+(?:not\\s+)?exists\\s+)?" + NAME + "(?:\\s*\\.\\s*" + NAME + ")?");
  private static final Pattern INTO =
      Pattern.compile(
          "(?is)\\s+(?:(?:low_priority|delayed|high_priority|ignore|into)\\s+)*"
              + NAME + "(?:\\s*\\.\\s*" + NAME + ")?.*");
  private static final Pattern SETS = Pattern.compile("(?is)\\s+set\\s");
  private static final Pattern WHERE = Pattern.compile("(?is)\\s+where\\s");
  private static final Pattern WORD = Pattern.compile("(?s)" + NAME);
  private static final int SHOWN = 160;

  private final Path file;
  private final List<Pattern> tables;
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
            .map(each -> Pattern.compile(each, Pattern.CASE_INSENSITIVE))
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
        && changes(ddl, database)
        && !wasUnderstood(noted)) {
      throw new IOException(
          "a statement that changes a captured table is not understood: " + shown(ddl));
    }
  }

  /** Refuses a statement that changes rows of a captured table: the log does not tell which. */
  void checkRows(String sql, String database) throws IOException {
    if (changesRows(sql, database)) {
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

  /** Returns whether a statement is of a captured table; rather once too often. */
  boolean changes(String ddl, String database) {
    Matcher statement = STATEMENT.matcher(ddl);
    if (!statement.matches()) {
      return false;
    }
    String rest = statement.group(2);
    return switch (statement.group(1).toLowerCase()) {
      case "drop", "rename" -> TABLE.matcher(rest).find() && names(rest);
      case "alter", "create", "truncate" -> {
        Matcher table = TABLE.matcher(rest);
        yield table.find() && captured(database, table.group(1), table.group(2));
      }
      default -> false;
    };
  }

  /** As {@link #changes}, of rows; the database is empty where it is not known. */
  private boolean changesRows(String sql, String database) {
    Matcher statement = STATEMENT.matcher(sql);
    if (!statement.matches()) {
      return false;
    }
    String rest = statement.group(2);
    return switch (statement.group(1).toLowerCase()) {
      case "insert", "replace" -> {
        Matcher into = INTO.matcher(rest);
        yield into.matches() && captured(database, into.group(1), into.group(2));
      }
      case "load" -> {
        Matcher table = TABLE.matcher(rest);
        yield table.find() && captured(database, table.group(1), table.group(2));
      }
      case "update" -> names(SETS.split(rest, 2)[0]);
      case "delete" -> names(WHERE.split(rest, 2)[0]);
      case "with" -> names(rest);
      // MariaDB: settings for one statement.
      case "set" -> {
        int from = rest.toLowerCase().indexOf(" for ");
        yield from >= 0 && changesRows(rest.substring(from + " for ".length()), database);
      }
      default -> false;
    };
  }

  private boolean names(String sql) {
    return WORD.matcher(sql).results().anyMatch(each -> named(plain(each.group(1))));
  }

  private boolean captured(String database, String first, String second) {
    if (second == null && database.isEmpty()) {
      return named(plain(first));
    }
    String name =
        second == null ? database + "." + plain(first) : plain(first) + "." + plain(second);
    return tables.stream().anyMatch(each -> each.matcher(name).matches());
  }

  /** Returns whether a captured table, of whatever database, has a name. */
  private boolean named(String name) {
    return tables.stream().anyMatch(each -> each.pattern().endsWith("\\." + escaped(name)));
  }

  private static String escaped(String name) {
    return name.replaceAll("([^\\p{L}\\p{N}_])", "\\\\$1");
  }

  private static String plain(String name) {
    boolean quoted = name.startsWith("`") || name.startsWith("\"");
    return quoted ? name.substring(1, name.length() - 1).replace("``", "`") : name;
  }
}
