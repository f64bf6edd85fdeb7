package dev.joinery.kernel.spark;

import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.memory.MemoryManager;
import org.apache.spark.memory.MemoryMode;
import org.apache.spark.memory.TaskMemoryManager;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.array.ByteArrayMethods;
import org.apache.spark.unsafe.memory.MemoryBlock;

/**
 * Brings the messages of one address together, in memory; a row is a message and its address.
 *
 * <p>An address begins with four bytes of hash. Numbers made of a hash and a row's place are
 * sorted, not rows: rows stay where they were put, and are compared only with those of the same
 * hash. Groups come in the order of their hashes, those of one in the order of addresses, and the
 * messages of a group in the order in which they were added.
 *
 * <p>Once there is no memory for more, the rows go to {@link SortedRows}, which go to disk.
 */
public final class RowGroups extends MemoryConsumer implements AutoCloseable {
  private static final Pattern LOCAL = Pattern.compile("^local\\[(\\d+)");
  private static final int MESSAGE = 0;
  private static final int ADDRESS = 1;
  private static final long FIRST_PAGE = 1 << 16;
  private static final long LARGEST_PAGE = 1 << 22;
  private static final int FIRST_ROWS = 256;
  private static final int OFFSET_BITS = 19; // in units of eight bytes, up to LARGEST_PAGE
  private static final int MOST_PAGES = 1 << (Integer.SIZE - OFFSET_BITS);
  private static final int READ_AHEAD = 32;
  private static final boolean REVERSED = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;

  /** What one address is sent. */
  public record Group(byte[] address, List<byte[]> messages) {}

  private final long most;
  private final List<MemoryBlock> pages = new ArrayList<>();
  private long free;
  private long position;
  private long[] order = {};
  private int count;
  private long reserve;
  private SortedRows sorted;

  private RowGroups(TaskMemoryManager memory, long most) {
    super(memory, LARGEST_PAGE, MemoryMode.ON_HEAP);
    this.most = most;
  }

  /** Of the task that calls; what it holds is freed at the task's end. */
  public static RowGroups ofTask() {
    return of(TaskContext.get(), mostInTask());
  }

  /** {@code most}: how many bytes it may take at most. */
  static RowGroups of(TaskContext task, long most) {
    RowGroups groups = new RowGroups(task.taskMemoryManager(), most);
    task.addTaskCompletionListener(
        (org.apache.spark.util.TaskCompletionListener) each -> groups.close());
    return groups;
  }

  /** Half of what Spark gives to any task at last, so that whatever else it does has some, too. */
  private static long mostInTask() {
    SparkEnv spark = SparkEnv.get();
    MemoryManager memory = spark.memoryManager();
    int tasks = tasksAtOnce(spark.conf());
    return (memory.maxOnHeapStorageMemory() + memory.onHeapExecutionMemoryUsed()) / (4L * tasks);
  }

  /** There may be more than processors, as with {@code local[8]} on two. */
  static int tasksAtOnce(SparkConf conf) {
    Matcher local = LOCAL.matcher(conf.get("spark.master", ""));
    return local.find()
        ? Integer.parseInt(local.group(1))
        : conf.getInt("spark.executor.cores", Runtime.getRuntime().availableProcessors());
  }

  /** Copies a row. */
  public void add(UnsafeRow row) {
    if (sorted == null && !fits(row.getSizeInBytes())) {
      moveToSorter();
    }
    if (sorted != null) {
      sorted.add(row);
      return;
    }
    MemoryBlock page = pages.get(pages.size() - 1);
    Platform.putLong(page.getBaseObject(), page.getBaseOffset() + position, row.getSizeInBytes());
    long start = position + Long.BYTES;
    Platform.copyMemory(
        row.getBaseObject(),
        row.getBaseOffset(),
        page.getBaseObject(),
        page.getBaseOffset() + start,
        row.getSizeInBytes());
    long place = (long) (pages.size() - 1) << OFFSET_BITS | start / Long.BYTES;
    order[count++] = ((long) hashOf(row) ^ 0x80000000) << 32 | place;
    position = start + row.getSizeInBytes();
    free -= Long.BYTES + row.getSizeInBytes();
  }

  private static int hashOf(UnsafeRow row) {
    long field = row.getLong(ADDRESS);
    int hash = Platform.getInt(row.getBaseObject(), row.getBaseOffset() + (field >>> 32));
    return REVERSED ? Integer.reverseBytes(hash) : hash;
  }

  private boolean fits(int size) {
    return (count < order.length || moreRows()) && (size + Long.BYTES <= free || morePages(size));
  }

  private boolean moreRows() {
    int rows = Math.max(FIRST_ROWS, count + (count >> 1));
    long bytes = (long) (rows - count) * Long.BYTES;
    if (getUsed() - reserve + bytes > most) {
      return false;
    }
    long granted = acquireMemory(bytes);
    if (granted < bytes) {
      freeMemory(granted);
      return false;
    }
    order = Arrays.copyOf(order, rows);
    return true;
  }

  private boolean morePages(int size) {
    if (pages.isEmpty()) {
      reserve = acquireMemory(SortedRows.LEAST_MEMORY);
    }
    if (pages.size() == MOST_PAGES) {
      return false;
    }
    long usual = Math.min(LARGEST_PAGE, FIRST_PAGE << Math.min(pages.size(), 6));
    long bytes = Math.max(usual, size + Long.BYTES);
    if (getUsed() - reserve + bytes > most) {
      return false;
    }
    MemoryBlock page = taskMemoryManager.allocatePage(bytes, this);
    if (page == null) {
      return false;
    }
    used.addAndGet(page.size());
    pages.add(page);
    if (page.size() < bytes) {
      return false;
    }
    free = page.size();
    position = 0;
    return true;
  }

  /** The sorter is given the memory kept for it, then that of each page that has gone to it. */
  private void moveToSorter() {
    freeMemory(reserve);
    reserve = 0;
    sorted = SortedRows.ofTask();
    UnsafeRow row = new UnsafeRow(2);
    int page = 0;
    for (int i = 0; i < count; i++) {
      for (; page < pageOf(order[i]); page++) {
        freePage(pages.set(page, null));
      }
      point(row, order[i]);
      sorted.add(row);
    }
    free();
  }

  /** The groups, once; no row may be added later. */
  public Iterator<Group> groups() {
    if (sorted != null) {
      return sorted.groups();
    }
    Arrays.sort(order, 0, count);
    return new InMemory();
  }

  @Override
  public long spill(long size, MemoryConsumer trigger) {
    return 0;
  }

  @Override
  public void close() {
    free();
    if (sorted != null) {
      sorted.close();
    }
  }

  private void free() {
    pages.stream().filter(Objects::nonNull).forEach(this::freePage);
    pages.clear();
    freeMemory(reserve);
    reserve = 0;
    freeMemory((long) order.length * Long.BYTES);
    order = new long[0];
    count = 0;
    free = 0;
  }

  private void point(UnsafeRow row, long ordered) {
    MemoryBlock page = pages.get(pageOf(ordered));
    long start = startOf(page, ordered);
    row.pointTo(page.getBaseObject(), start, sizeAt(page, start));
  }

  private static int pageOf(long ordered) {
    return (int) ordered >>> OFFSET_BITS;
  }

  private static long startOf(MemoryBlock page, long ordered) {
    return page.getBaseOffset() + (ordered & (1 << OFFSET_BITS) - 1) * Long.BYTES;
  }

  private static int sizeAt(MemoryBlock page, long start) {
    return (int) Platform.getLong(page.getBaseObject(), start - Long.BYTES);
  }

  private final class InMemory implements Iterator<Group> {
    private final UnsafeRow first = new UnsafeRow(2);
    private final UnsafeRow other = new UnsafeRow(2);
    private int next;
    private int endOfHash;
    private int readAhead;
    private long lastBytes;

    @Override
    public boolean hasNext() {
      return next < count;
    }

    @Override
    public Group next() {
      if (next == endOfHash) {
        endOfHash = endOfHash();
        sortByAddress(next, endOfHash);
      }
      pointAt(first, next++);
      byte[] address = first.getBinary(ADDRESS);
      byte[] message = first.getBinary(MESSAGE);
      if (next == endOfHash) {
        return new Group(address, List.of(message));
      }
      List<byte[]> messages = new ArrayList<>();
      messages.add(message);
      while (next < endOfHash && pointsAtAddressOfFirst(other, next)) {
        messages.add(other.getBinary(MESSAGE));
        next++;
      }
      return new Group(address, messages);
    }

    /**
     * Rows lie at random in memory, in the order of their hashes: the next ones are touched at
     * once, so that the processor waits for all of them together, not for one after the other.
     */
    private void pointAt(UnsafeRow row, int index) {
      if (index >= readAhead) {
        readAhead = Math.min(count, index + READ_AHEAD);
        for (int i = index; i < readAhead; i++) {
          MemoryBlock page = pages.get(pageOf(order[i]));
          long start = startOf(page, order[i]);
          long end = start + sizeAt(page, start);
          lastBytes += Platform.getLong(page.getBaseObject(), end - Long.BYTES);
        }
      }
      point(row, order[index]);
    }

    private int endOfHash() {
      int end = next + 1;
      while (end < count && order[end] >>> 32 == order[next] >>> 32) {
        end++;
      }
      return end;
    }

    /** Where two addresses share a hash; hardly ever. */
    private void sortByAddress(int from, int to) {
      pointAt(first, from);
      int same = from + 1;
      while (same < to && pointsAtAddressOfFirst(other, same)) {
        same++;
      }
      if (same < to) {
        Long[] rows = Arrays.stream(order, from, to).boxed().toArray(Long[]::new);
        Arrays.sort(rows, (a, b) -> Arrays.compareUnsigned(addressOf(a), addressOf(b)));
        for (int i = from; i < to; i++) {
          order[i] = rows[i - from];
        }
      }
    }

    private byte[] addressOf(Long ordered) {
      point(other, ordered);
      return other.getBinary(ADDRESS);
    }

    private boolean pointsAtAddressOfFirst(UnsafeRow row, int index) {
      pointAt(row, index);
      long one = first.getLong(ADDRESS);
      long two = row.getLong(ADDRESS);
      return (int) one == (int) two
          && ByteArrayMethods.arrayEquals(
              first.getBaseObject(),
              first.getBaseOffset() + (one >>> 32),
              row.getBaseObject(),
              row.getBaseOffset() + (two >>> 32),
              (int) one);
    }
  }
}
