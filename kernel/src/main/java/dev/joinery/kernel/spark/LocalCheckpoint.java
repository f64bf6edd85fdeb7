package dev.joinery.kernel.spark;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager;

/**
 * Writes a checkpoint's files to a local disk as Spark's own manager does, with their checksums,
 * but without a process for each: Hadoop sets the mode of a new file by running {@code chmod}.
 *
 * <p>Spark makes it by its name, from the setting
 * {@code spark.sql.streaming.checkpointFileManagerClass}.
 */
public final class LocalCheckpoint extends FileSystemBasedCheckpointFileManager {
  private final LocalFileSystem files = new LocalFileSystem(new Raw());

  /** What Spark calls. */
  public LocalCheckpoint(Path path, Configuration conf) {
    super(path, conf);
    try {
      files.initialize(URI.create("file:///"), conf);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  @Override
  public FSDataOutputStream createTempFile(Path path) {
    try {
      return files.create(path, true);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  /** The local disk, where a mode is set by a system call. */
  private static final class Raw extends RawLocalFileSystem {
    @Override
    public void setPermission(Path path, FsPermission permission) throws IOException {
      String mode =
          permission.getUserAction().SYMBOL
              + permission.getGroupAction().SYMBOL
              + permission.getOtherAction().SYMBOL;
      Files.setPosixFilePermissions(
          pathToFile(path).toPath(), PosixFilePermissions.fromString(mode));
    }
  }
}
