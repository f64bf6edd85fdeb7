package dev.joinery.kernel.search;

import dev.joinery.kernel.bytes.Slice;
import java.util.Collection;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Predicate;
import org.apache.spark.sql.catalyst.InternalRow;

/** What stored queries are written in: how they are read, and how those of a row are found. */
public interface Language {
  /** A text that was read: exactly one of the two is not null. */
  record Read(Condition condition, String broken) {}

  /** Stored queries, put so that a row is tried on few of them. */
  interface Index {
    /**
     * Gives the queries that hold of a row or fail, each once.
     *
     * @param on the code of the values that they must have
     * @param wanted those that count
     */
    void find(
        Slice on,
        InternalRow row,
        Predicate<StoredQuery> wanted,
        BiConsumer<StoredQuery, Condition.Verdict> found);
  }

  /** Reads texts, each for itself. It is not made for several threads. */
  List<Read> read(List<String> texts);

  Index index(Collection<StoredQuery> queries);
}
