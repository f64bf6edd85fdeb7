package dev.joinery.kernel.egress;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.commons.io.FileUtils;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.util.functional.FutureIO;
import org.apache.spark.util.SerializableConfiguration;

/**
 * Where the attempts of a batch's tasks leave their files, until the driver keeps those of the
 * attempts whose results it has. Each attempt has names of its own.
 */
public sealed interface Staging extends Serializable {
  /** Makes room for a batch; called by the driver before any task begins. */
  void open() throws IOException;

  /** Makes room for what an attempt leaves; may fail where its batch is over. */
  void begin(long attempt) throws IOException;

  /** Opens a file of an attempt, which is there once it is closed. */
  OutputStream create(long attempt, String name) throws IOException;

  /** Brings to the driver's disk the files that attempts left. */
  void keep(List<Left> files) throws IOException;

  /** Lets tasks find what was kept and then changed on the driver's disk. */
  void replace(List<Left> files) throws IOException;

  /** Drops what was not kept, as far as none of it is still being written. */
  void clear();

  /**
   * A file that an attempt left.
   *
   * @param size in bytes, as the attempt counted them
   * @param place where it is to stand on the driver's disk; the folder is there
   */
  record Left(long attempt, String name, long size, Path place) {}

  /** Returns where parts are left on a disk that driver and tasks share: below the batch's own. */
  static Staging onDisk(String batch) {
    // No product's name begins so.
    return new OnDisk(Path.of(batch, ".attempts").toString());
  }

  /** Returns where parts are left in a store that driver and tasks reach: in a folder there. */
  static Staging inStore(String folder, Configuration settings) {
    return new InStore(folder, new SerializableConfiguration(settings));
  }

  /** On a disk that driver and tasks share, where what is kept is renamed. */
  record OnDisk(String folder) implements Staging {
    @Override
    public void open() throws IOException {
      Files.createDirectories(Path.of(folder));
    }

    @Override
    public void begin(long attempt) throws IOException {
      // Never its parents, too: once the batch is over they are gone, and stay so.
      Files.createDirectory(place(attempt));
    }

    @Override
    public OutputStream create(long attempt, String name) throws IOException {
      return new BufferedOutputStream(Files.newOutputStream(place(attempt).resolve(name)), 1 << 16);
    }

    @Override
    public void keep(List<Left> files) throws IOException {
      for (Left each : files) {
        Path left = place(each.attempt()).resolve(each.name());
        Files.move(left, each.place(), StandardCopyOption.ATOMIC_MOVE);
      }
    }

    @Override
    public void replace(List<Left> files) {}

    @Override
    public void clear() {
      FileUtils.deleteQuietly(Path.of(folder).toFile());
    }

    private Path place(long attempt) {
      return Path.of(folder, Long.toString(attempt));
    }
  }

  /**
   * In an object store, from which the driver copies what it keeps.
   *
   * <p>An attempt that ends after its batch may still leave a file there, which nobody reads;
   * whoever made the folder removes it, and what is left of earlier runs.
   */
  record InStore(String folder, SerializableConfiguration settings) implements Staging {
    private static final int COPIES_AT_ONCE = 16;
    private static final int BUFFER = 1 << 16;

    /** Skips S3A's checks that neither the path nor a parent is in the way. */
    private static final String UNASKED = "fs.s3a.create.performance";

    private static final String LENGTH = "fs.option.openfile.length";
    private static final String POLICY = "fs.option.openfile.read.policy";

    @Override
    public void open() {}

    @Override
    public void begin(long attempt) {}

    @Override
    public OutputStream create(long attempt, String name) throws IOException {
      org.apache.hadoop.fs.Path place = place(attempt, name);
      FSDataOutputStreamBuilder<?, ?> file = system(place).createFile(place);
      file.recursive().overwrite(true).opt(UNASKED, true);
      return new BufferedOutputStream(file.build(), BUFFER);
    }

    @Override
    public void keep(List<Left> files) throws IOException {
      copyAll(files, this::copy);
    }

    @Override
    public void replace(List<Left> files) throws IOException {
      copyAll(files, this::copyBack);
    }

    private interface Copy {
      Void of(Left file) throws IOException;
    }

    private static void copyAll(List<Left> files, Copy copy) throws IOException {
      if (files.isEmpty()) {
        return;
      }
      ExecutorService copying =
          Executors.newFixedThreadPool(Math.min(COPIES_AT_ONCE, files.size()));
      try {
        List<Future<Void>> copies = new ArrayList<>();
        for (Left each : files) {
          copies.add(copying.submit(() -> copy.of(each)));
        }
        for (Future<Void> each : copies) {
          await(each);
        }
      } finally {
        copying.shutdownNow();
      }
    }

    @Override
    public void clear() {}

    private Void copy(Left left) throws IOException {
      org.apache.hadoop.fs.Path place = place(left.attempt(), left.name());
      long copied;
      try (FSDataInputStream in =
              FutureIO.awaitFuture(
                  system(place)
                      .openFile(place)
                      .optLong(LENGTH, left.size())
                      .opt(POLICY, "whole-file, sequential")
                      .build());
          OutputStream out = Files.newOutputStream(left.place())) {
        copied = in.transferTo(out);
      }
      if (copied != left.size()) {
        throw new IOException(
            place + " has " + copied + " bytes, and " + left.size() + " were written to it");
      }
      return null;
    }

    private Void copyBack(Left left) throws IOException {
      try (OutputStream out = create(left.attempt(), left.name())) {
        Files.copy(left.place(), out);
      }
      return null;
    }

    private static void await(Future<Void> copy) throws IOException {
      try {
        copy.get();
      } catch (ExecutionException error) {
        if (error.getCause() instanceof IOException cause) {
          throw cause;
        }
        throw new IOException("could not read a staged part", error.getCause());
      } catch (InterruptedException error) {
        Thread.currentThread().interrupt();
        throw new IOException("interrupted while staged parts were read", error);
      }
    }

    private FileSystem system(org.apache.hadoop.fs.Path place) throws IOException {
      return place.getFileSystem(settings.value());
    }

    private org.apache.hadoop.fs.Path place(long attempt, String name) {
      return new org.apache.hadoop.fs.Path(folder, attempt + "/" + name);
    }
  }
}
