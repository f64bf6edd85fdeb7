package dev.joinery.kernel.ingress;

import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.format.Format;
import dev.joinery.kernel.message.Marks;
import dev.joinery.kernel.program.CompiledAssembler;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.SealedProgram;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Queue;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import org.apache.spark.sql.Row;

/**
 * How the personal columns of a query are sealed: many records are decoded before the first of them
 * is, so that the vault is asked for the keys of many subjects at once.
 *
 * @param erasuresFrom the first number of a topic whose records are erasures
 * @param erasures formats of erasures
 * @param spools by topic, whether its lines may be sealed: they are a capture's own
 * @param derived by relation, what derives columns from personal ones; null where nothing does
 */
public record Sealing(
    VaultAddress vault,
    int erasuresFrom,
    Format[] erasures,
    boolean[] spools,
    List<CompiledAssembler> derived)
    implements Serializable {
  private static final int ROWS = 1000;
  private static final int BYTES = 4 << 20;

  /** Whether any relation of a program has personal columns. */
  public static boolean isNeeded(Program program) {
    return program.relations().stream().anyMatch(each -> each.sealed() != null);
  }

  /** The sealing of a task. */
  Task open(Program program, int[][] relationsOf) {
    return new Task(program, relationsOf, VaultLink.open(vault));
  }

  final class Task {
    final VaultLink vault;
    private final Sealer[] sealers;
    private final int[][] relationsOf;
    private final List<ByteBuffer> met = new ArrayList<>();
    private final Queue<Told> told = new ArrayDeque<>();

    private Task(Program program, int[][] relationsOf, VaultLink vault) {
      this.vault = vault;
      this.relationsOf = relationsOf;
      sealers =
          IntStream.range(0, program.relations().size())
              .mapToObj(each -> sealer(program.relations().get(each), derived.get(each)))
              .toArray(Sealer[]::new);
    }

    private Sealer sealer(Program.RelationProgram relation, CompiledAssembler deriving) {
      return isSealed(relation.sealed()) ? new Sealer(relation, deriving, vault) : null;
    }

    private static boolean isSealed(SealedProgram sealed) {
      return sealed != null && !sealed.isEmpty();
    }

    /** What seals a relation's rows; null where nothing personal of them is asked for. */
    Sealer sealer(int relation) {
      return sealers[relation];
    }

    /** Whether anything in rows of a relation could be erased. */
    boolean isErasable(int relation) {
      return sealers[relation] != null;
    }

    boolean isErasure(Row record) {
      return record.getInt(0) >= erasuresFrom;
    }

    Format erasure(int relation) {
      return erasures[relation];
    }

    /** The value of a record, as it was before a capture sealed it. */
    byte[] valueOf(Row record) {
      byte[] value = record.isNullAt(5) ? null : (byte[]) record.get(5);
      return value != null && spools[record.getInt(0)] ? vault.opened(value) : value;
    }

    /** What was decoded of the next record of a relation that is sealed, in their order. */
    Told told() {
      return told.remove();
    }

    /**
     * The same rows; they are decoded, and the keys of their subjects at hand, when they come.
     *
     * @param insertsOnly relations whose updates are ignored
     */
    Iterator<Row> decoded(Iterator<Row> rows, Format[] formats, IntPredicate insertsOnly) {
      return new Iterator<>() {
        private Iterator<Row> chunk = List.<Row>of().iterator();

        @Override
        public boolean hasNext() {
          if (!chunk.hasNext()) {
            chunk = nextOf(rows, formats, insertsOnly).iterator();
          }
          return chunk.hasNext();
        }

        @Override
        public Row next() {
          hasNext();
          return chunk.next();
        }
      };
    }

    private List<Row> nextOf(Iterator<Row> rows, Format[] formats, IntPredicate insertsOnly) {
      List<Row> chunk = new ArrayList<>();
      int bytes = 0;
      while (chunk.size() < ROWS && bytes < BYTES && rows.hasNext()) {
        Row row = rows.next();
        chunk.add(row);
        bytes += row.isNullAt(5) ? 0 : ((byte[]) row.get(5)).length;
        decode(row, formats, insertsOnly);
      }
      vault.ask(met);
      met.clear();
      return chunk;
    }

    /** Decodes a record, and notes whose values it tells. */
    private void decode(Row record, Format[] formats, IntPredicate insertsOnly) {
      if (isErasure(record) || !record.isNullAt(6)) {
        return;
      }
      byte[] key = record.isNullAt(4) ? null : (byte[]) record.get(4);
      byte[] value = valueOf(record);
      for (int relation : relationsOf[record.getInt(0)]) {
        Sealer sealer = sealers[relation];
        if (sealer != null) {
          formats[relation].loggedAt(record.isNullAt(9) ? Marks.UNKNOWN : record.getLong(9));
          Told each = new Told(row -> rowOf(sealer, row), insertsOnly.test(relation));
          told.add(each.of(formats[relation], relation, key, value));
        }
      }
    }

    /** A row with its derived columns; the subject whose values it holds is noted. */
    private Slice rowOf(Sealer sealer, Slice decoded) {
      Slice row = sealer.derived(decoded);
      ByteBuffer subject = sealer.subjectOf(row);
      if (subject != null) {
        met.add(subject);
      }
      return row;
    }
  }
}
