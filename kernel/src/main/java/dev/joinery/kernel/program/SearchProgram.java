package dev.joinery.kernel.program;

import java.util.List;
import org.apache.spark.sql.types.StructType;

/**
 * Stored queries and the documents that they are tried on, which are shared among buckets; each has
 * all queries.
 *
 * @param documents the relation that is searched, {@code queries} that of the queries
 * @param stored the assembler, over a row of the queries, of what is kept of it; its row is a struct
 *     of the assembler of matches
 * @param text where the query is in what is kept
 * @param queryOn the columns of what is kept that a document must have, too, and {@code documentOn}
 *     those of the document
 * @param language of the queries: {@code sql} or {@code lucene}
 * @param functions that conditions may call
 * @param mostCharacters how long a condition may be
 * @param retroactive whether documents are kept, so that a new query finds them
 * @param assembler of matches: its inputs are the two rows
 * @param raw whether documents come as changes of their relation, which are applied here
 */
public record SearchProgram(
    String name,
    int level,
    int documents,
    int queries,
    int stored,
    int text,
    Program.Address queryOn,
    Program.Address documentOn,
    String language,
    List<String> functions,
    int mostCharacters,
    boolean retroactive,
    int assembler,
    int product,
    int buckets,
    Boolean raw)
    implements Program.NodeProgram {
  /** Whether it keeps the cells of documents, which no Retract has. */
  public boolean keepsCells() {
    return Boolean.TRUE.equals(raw);
  }

  /** What conditions see. */
  public StructType searched(Program program) {
    int view = program.relations().get(documents).assembler();
    return program.assemblers().get(view).type();
  }
}
