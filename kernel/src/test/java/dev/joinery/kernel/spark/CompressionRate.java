package dev.joinery.kernel.spark;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.CompressionType;
import org.rocksdb.FlushOptions;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.SstFileReader;
import org.rocksdb.SstFileReaderIterator;
import org.rocksdb.WriteOptions;

/**
 * Prints what the values of a checkpoint's level take and cost in RocksDB's files by each
 * compression, read at random past RocksDB's cache; run by hand with the level's folder.
 */
final class CompressionRate {
  private static final int READS = 200_000;
  private static final int PASSES = 3;

  private record Entry(byte[] key, byte[] value) {}

  private CompressionRate() {}

  public static void main(String[] arguments) throws Exception {
    RocksDB.loadLibrary();
    List<Entry> entries = new ArrayList<>();
    for (Path file : files(Path.of(arguments[0]))) {
      read(file, entries);
    }
    Collections.shuffle(entries, new Random(1));
    System.out.println(entries.size() + " values");
    for (int round = 0; round < PASSES; round++) {
      measure(entries, CompressionType.LZ4_COMPRESSION);
      measure(entries, CompressionType.ZSTD_COMPRESSION);
    }
  }

  private static List<Path> files(Path folder) throws IOException {
    try (Stream<Path> all = Files.walk(folder)) {
      return all.filter(each -> each.toString().endsWith(".sst")).toList();
    }
  }

  private static void read(Path file, List<Entry> entries) throws RocksDBException {
    try (SstFileReader reader = new SstFileReader(new Options())) {
      reader.open(file.toString());
      try (SstFileReaderIterator each = reader.newIterator(new ReadOptions())) {
        for (each.seekToFirst(); each.isValid(); each.next()) {
          entries.add(new Entry(each.key(), each.value()));
        }
      }
    }
  }

  /** With Spark's blocks and filters, and a cache that holds hardly anything. */
  private static void measure(List<Entry> entries, CompressionType type) throws Exception {
    Path folder = Files.createTempDirectory("rocksdb");
    BlockBasedTableConfig table =
        new BlockBasedTableConfig()
            .setBlockSize(4096)
            .setFilterPolicy(new BloomFilter(10, false))
            .setFormatVersion(5)
            .setBlockCache(new LRUCache(1 << 20));
    Options options =
        new Options()
            .setCreateIfMissing(true)
            .setTableFormatConfig(table)
            .setCompressionType(type);
    try (RocksDB store = RocksDB.open(options, folder.toString())) {
      double seconds = written(store, entries);
      long bytes = 0;
      for (Path each : files(folder)) {
        bytes += Files.size(each);
      }
      System.out.printf(
          "%s: %.1f MB, written and merged in %.2f s, %.2f µs a read%n",
          type, bytes / 1e6, seconds, micros(store, entries));
    }
    RocksDB.destroyDB(folder.toString(), options);
  }

  private static double written(RocksDB store, List<Entry> entries) throws RocksDBException {
    OperatingSystemMXBean system =
        (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    long start = system.getProcessCpuTime();
    try (WriteOptions unlogged = new WriteOptions().setDisableWAL(true)) {
      for (Entry each : entries) {
        store.put(unlogged, each.key(), each.value());
      }
    }
    store.flush(new FlushOptions().setWaitForFlush(true));
    store.compactRange();
    return (system.getProcessCpuTime() - start) / 1e9;
  }

  private static double micros(RocksDB store, List<Entry> entries) throws RocksDBException {
    Random random = new Random(2);
    double best = Double.MAX_VALUE;
    for (int pass = 0; pass < PASSES; pass++) {
      long start = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
      for (int i = 0; i < READS; i++) {
        store.get(entries.get(random.nextInt(entries.size())).key());
      }
      long taken = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - start;
      best = Math.min(best, taken / 1e3 / READS);
    }
    return best;
  }
}
