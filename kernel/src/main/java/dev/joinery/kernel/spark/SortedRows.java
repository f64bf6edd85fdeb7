package dev.joinery.kernel.spark;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.UnsafeExternalRowSorter;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.ByteArray;
import org.apache.spark.util.collection.unsafe.sort.PrefixComparators;
import org.apache.spark.util.collection.unsafe.sort.RecordComparator;

/** Brings the messages of one address together by Spark's sorter, which goes to disk. */
final class SortedRows implements AutoCloseable {
  private static final StructType COLUMNS =
      new StructType().add("message", DataTypes.BinaryType).add("address", DataTypes.BinaryType);
  private static final long PAGE = 1 << 20;

  /** What it needs to begin with: a page, and the places of its rows. */
  static final long LEAST_MEMORY = 2 * PAGE;

  private static final int MESSAGE = 0;
  private static final int ADDRESS = 1;

  private final UnsafeExternalRowSorter sorter;

  private SortedRows(UnsafeExternalRowSorter sorter) {
    this.sorter = sorter;
  }

  static SortedRows ofTask() {
    try {
      return new SortedRows(
          UnsafeExternalRowSorter.createWithRecordComparator(
              COLUMNS,
              ByAddress::new,
              PrefixComparators.BINARY,
              new Beginnings(),
              PAGE,
              false));
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  void add(UnsafeRow row) {
    try {
      sorter.insertRow(row);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  Iterator<RowGroups.Group> groups() {
    try {
      return new Groups(sorter.sort());
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  @Override
  public void close() {
    sorter.cleanupResources();
  }

  private static final class Groups implements Iterator<RowGroups.Group> {
    private final scala.collection.Iterator<InternalRow> rows;
    private byte[] address;
    private byte[] message;

    Groups(scala.collection.Iterator<InternalRow> rows) {
      this.rows = rows;
      read();
    }

    private void read() {
      InternalRow row = rows.hasNext() ? rows.next() : null;
      address = row == null ? null : row.getBinary(ADDRESS);
      message = row == null ? null : row.getBinary(MESSAGE);
    }

    @Override
    public boolean hasNext() {
      return address != null;
    }

    @Override
    public RowGroups.Group next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      byte[] ours = address;
      List<byte[]> messages = new ArrayList<>();
      do {
        messages.add(message);
        read();
      } while (Arrays.equals(ours, address));
      return new RowGroups.Group(ours, messages);
    }
  }

  private static final class Beginnings extends UnsafeExternalRowSorter.PrefixComputer {
    private final Prefix prefix = new Prefix();

    @Override
    public Prefix computePrefix(InternalRow row) {
      prefix.value = ByteArray.getPrefix(row.getBinary(ADDRESS));
      return prefix;
    }
  }

  private static final class ByAddress extends RecordComparator {
    private final UnsafeRow one = new UnsafeRow(2);
    private final UnsafeRow two = new UnsafeRow(2);

    @Override
    public int compare(
        Object base1, long offset1, int size1, Object base2, long offset2, int size2) {
      one.pointTo(base1, offset1, size1);
      two.pointTo(base2, offset2, size2);
      return Arrays.compareUnsigned(one.getBinary(ADDRESS), two.getBinary(ADDRESS));
    }
  }
}
