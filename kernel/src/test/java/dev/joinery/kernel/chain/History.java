package dev.joinery.kernel.chain;

import dev.joinery.kernel.message.Message;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * Random changes to all tables of some trees: few keys and few values, so that everything meets;
 * with deletes, tombstones, re-inserts, nulls, and old changes that come late.
 */
final class History {
  private final Random random;
  private final int spread;
  private final List<Table> tables;
  private final List<LogChange> log = new ArrayList<>();
  private final Map<List<Object>, LogChange> last = new HashMap<>();

  /** {@code spread}: about how many keys a table has; 0 for a handful. */
  History(List<Tree> roots, Random random, int spread) {
    this.random = random;
    this.spread = spread;
    Map<String, Table> found = new LinkedHashMap<>();
    roots.forEach(root -> collect(root, found));
    this.tables = List.copyOf(found.values());
  }

  private static void collect(Tree tree, Map<String, Table> found) {
    found.put(tree.table().name(), tree.table());
    tree.embeds().forEach(embed -> collect(embed, found));
  }

  List<LogChange> next(int count) {
    int from = log.size();
    for (int i = 0; i < count; i++) {
      log.add(change());
    }
    return new ArrayList<>(log.subList(from, log.size()));
  }

  private LogChange change() {
    long place = log.size();
    if (!log.isEmpty() && random.nextInt(12) == 0) {
      LogChange old = log.get(random.nextInt(log.size()));
      if (old.op() != Message.OP_TOMBSTONE) {
        return new LogChange(old.table(), old.op(), old.row(), old.position(), place);
      }
    }
    Table table = tables.get(random.nextInt(tables.size()));
    List<Object> row = row(table);
    List<Object> name = new ArrayList<>(table.keyOf(row));
    name.add(table.name());
    LogChange known = last.get(name);
    int op =
        known != null && known.isUpsert() && random.nextInt(3) == 0
            ? Message.OP_DELETE
            : Message.OP_UPSERT;
    if (op == Message.OP_DELETE) {
      row = padded(table, table.keyOf(row));
    } else if (known != null && known.isUpsert() && random.nextInt(3) > 0) {
      row = variation(table, known.row());
    }
    LogChange change = new LogChange(table, op, row, place, place);
    last.put(name, change);
    return change;
  }

  private static List<Object> padded(Table table, List<Object> key) {
    List<Object> row = new ArrayList<>(key);
    while (row.size() < table.type().length()) {
      row.add(null);
    }
    return row;
  }

  /** The same row with one column changed. */
  private List<Object> variation(Table table, List<Object> row) {
    List<Object> changed = new ArrayList<>(row);
    int columns = table.type().length();
    if (columns > table.keyColumns()) {
      int column = table.keyColumns() + random.nextInt(columns - table.keyColumns());
      changed.set(column, value(table.type().fields()[column].dataType()));
    }
    return changed;
  }

  private List<Object> row(Table table) {
    List<Object> row = new ArrayList<>();
    for (int i = 0; i < table.type().length(); i++) {
      DataType type = table.type().fields()[i].dataType();
      boolean key = i < table.keyColumns();
      row.add(key ? (Object) (long) random.nextInt(keysPerColumn(table, i)) : value(type));
    }
    return row;
  }

  /** Few roots, and few values where other columns follow, so that groups are large. */
  private int keysPerColumn(Table table, int column) {
    if (spread == 0 || table == tables.get(0)) {
      return table.keyColumns() > 1 ? 2 : 4;
    }
    return table.keyColumns() == 1 || column == 1 ? spread : 4;
  }

  private Object value(DataType type) {
    if (random.nextInt(8) == 0) {
      return null;
    }
    if (type.equals(DataTypes.BooleanType)) {
      return random.nextInt(3) > 0;
    }
    long number = random.nextInt(4);
    return type.equals(DataTypes.StringType) ? (Object) ("text " + number) : (Object) number;
  }
}
