package dev.joinery.kernel.node;

import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.SearchProgram;
import dev.joinery.kernel.search.Conditions;
import dev.joinery.kernel.search.StoredQueries;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Remembers the queries that the Search nodes of a program share among the tasks of a worker. */
public final class Searches {
  private final Map<Integer, StoredQueries> queries = new ConcurrentHashMap<>();

  StoredQueries of(int node, SearchProgram program, Program whole) {
    return queries.computeIfAbsent(
        node,
        each ->
            new StoredQueries(
                new Conditions(
                    program.searched(whole),
                    Set.copyOf(program.functions()),
                    program.mostCharacters())));
  }
}
