package dev.joinery.kernel.node;

import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.SearchProgram;
import dev.joinery.kernel.search.Conditions;
import dev.joinery.kernel.search.Language;
import dev.joinery.kernel.search.StoredQueries;
import dev.joinery.kernel.search.TextQueries;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.types.StructType;

/** Remembers the queries that the Search nodes of a program share among the tasks of a worker. */
public final class Searches {
  private final Map<Integer, StoredQueries> queries = new ConcurrentHashMap<>();

  StoredQueries of(int node, SearchProgram program, Program whole) {
    return queries.computeIfAbsent(
        node, each -> new StoredQueries(language(program, whole)));
  }

  private static Language language(SearchProgram program, Program whole) {
    StructType row = program.searched(whole);
    int most = program.mostCharacters();
    Conditions conditions = new Conditions(row, Set.copyOf(program.functions()), most);
    return switch (program.language()) {
      case "sql" -> conditions;
      case "lucene" -> new TextQueries(row, conditions, most);
      default -> throw new IllegalArgumentException("language " + program.language());
    };
  }
}
