package dev.joinery.kernel.ingress;

import dev.joinery.kernel.format.ChangeSink;
import dev.joinery.kernel.format.Format;
import dev.joinery.kernel.format.RegistryError;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.SealedProgram;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.Row;

/**
 * How the personal columns of a query are sealed.
 *
 * @param erasuresFrom the first number of a topic whose records are erasures
 * @param scouts formats that look ahead for subjects, so that the vault is asked for many at once
 * @param erasures formats of erasures
 */
public record Sealing(
    VaultAddress vault, int erasuresFrom, Format[] scouts, Format[] erasures)
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

    private Task(Program program, int[][] relationsOf, VaultLink vault) {
      this.vault = vault;
      this.relationsOf = relationsOf;
      sealers =
          program.relations().stream()
              .map(each -> isSealed(each.sealed()) ? new Sealer(each, vault) : null)
              .toArray(Sealer[]::new);
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

    /** The same rows; the keys of their subjects are at hand when they come. */
    Iterator<Row> scouted(Iterator<Row> rows) {
      return new Iterator<>() {
        private Iterator<Row> chunk = List.<Row>of().iterator();

        @Override
        public boolean hasNext() {
          if (!chunk.hasNext()) {
            chunk = nextOf(rows).iterator();
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

    private List<Row> nextOf(Iterator<Row> rows) {
      List<Row> chunk = new ArrayList<>();
      int bytes = 0;
      while (chunk.size() < ROWS && bytes < BYTES && rows.hasNext()) {
        Row row = rows.next();
        chunk.add(row);
        if (!row.isNullAt(5)) {
          bytes += ((byte[]) row.get(5)).length;
          scout(row);
        }
      }
      vault.ask(met);
      met.clear();
      return chunk;
    }

    private void scout(Row row) {
      if (isErasure(row) || !row.isNullAt(6)) {
        return;
      }
      for (int relation : relationsOf[row.getInt(0)]) {
        if (sealers[relation] != null) {
          byte[] key = row.isNullAt(4) ? null : (byte[]) row.get(4);
          try {
            scouts[relation].decode(relation, key, (byte[]) row.get(5), new Scout());
          } catch (RegistryError away) {
            throw away;
          } catch (RuntimeException | StackOverflowError poison) {
            // Whoever decodes it tells why it cannot be.
          }
        }
      }
    }

    /** Notes whose values a record tells. */
    private final class Scout implements ChangeSink {
      @Override
      public void change(
          int relation,
          int op,
          boolean positioned,
          long position,
          byte[] row,
          int rowLength,
          long[] absent) {
        if (op == UPSERT) {
          ByteBuffer subject =
              sealers[relation].subjectOf(Slice.of(Arrays.copyOf(row, rowLength)));
          if (subject != null) {
            met.add(subject);
          }
        }
      }

      @Override
      public void deadLetter(int relation, String reason, String detail) {}

      @Override
      public void count(int relation, String counter) {}
    }
  }
}
