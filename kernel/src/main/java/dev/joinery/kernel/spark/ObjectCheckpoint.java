package dev.joinery.kernel.spark;

import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager;
import org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager;

/**
 * Writes a checkpoint's files to an object store, each put whole when it is closed, without a
 * rename, which there is a copy. A file that must not replace another is put on the condition that
 * there is none, so of two that commit the same batch one fails.
 *
 * <p>Spark makes it by its name, from the setting
 * {@code spark.sql.streaming.checkpointFileManagerClass}.
 */
public final class ObjectCheckpoint extends FileSystemBasedCheckpointFileManager {
  private static final String OBJECTS = "s3a";
  private static final String ONLY_NEW = "fs.option.create.conditional.overwrite";

  /** Whether a folder has the name, or a file the name of a folder above, is not asked. */
  private static final String UNASKED = "fs.s3a.create.performance";

  /** What Spark calls. */
  public ObjectCheckpoint(Path path, Configuration conf) {
    super(path, conf);
  }

  @Override
  public CheckpointFileManager.CancellableFSDataOutputStream createAtomic(
      Path path, boolean overwriteIfPossible) {
    if (!fs().getScheme().equals(OBJECTS)) {
      return super.createAtomic(path, overwriteIfPossible);
    }
    FSDataOutputStreamBuilder<?, ?> file = fs().createFile(path);
    file.recursive().overwrite(true).opt(UNASKED, true);
    if (!overwriteIfPossible) {
      file.must(ONLY_NEW, true);
    }
    try {
      return new Put(file.build());
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  /** A file that becomes visible when it is closed, and never if it is cancelled before. */
  private static final class Put extends CheckpointFileManager.CancellableFSDataOutputStream {
    private final FSDataOutputStream out;
    private boolean over;

    Put(FSDataOutputStream out) {
      super(out);
      this.out = out;
    }

    @Override
    public void cancel() {
      if (!over) {
        over = true;
        out.abort();
      }
    }

    @Override
    public void close() throws IOException {
      if (!over) {
        over = true;
        out.close();
      }
    }
  }
}
