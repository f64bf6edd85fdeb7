package dev.joinery.kernel.files;

import java.io.IOException;
import java.net.URI;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options;

/** A folder of small files, each put in place complete. */
interface LogFolder {
  List<String> names() throws IOException;

  byte[] read(String name) throws IOException;

  void write(String name, byte[] content) throws IOException;

  void delete(String name) throws IOException;

  /** Opens a checkpoint's folder, on a disk or on any file system Hadoop knows. */
  static LogFolder of(String location, Configuration configuration) {
    URI uri = new org.apache.hadoop.fs.Path(location).toUri();
    if (uri.getScheme() == null || uri.getScheme().equals("file")) {
      return new Local(Path.of(uri.getPath()));
    }
    return new Remote(new org.apache.hadoop.fs.Path(location), configuration);
  }

  /** On a disk of this machine. */
  record Local(Path folder) implements LogFolder {
    @Override
    public List<String> names() throws IOException {
      if (!Files.isDirectory(folder)) {
        return List.of();
      }
      try (Stream<Path> files = Files.list(folder)) {
        return files.map(each -> each.getFileName().toString()).toList();
      }
    }

    @Override
    public byte[] read(String name) throws IOException {
      return Files.readAllBytes(folder.resolve(name));
    }

    @Override
    public void write(String name, byte[] content) throws IOException {
      Files.createDirectories(folder);
      Path aside = folder.resolve("." + name + ".tmp");
      Files.write(aside, content);
      try (FileChannel channel = FileChannel.open(aside, StandardOpenOption.WRITE)) {
        channel.force(true);
      }
      Path place = folder.resolve(name);
      Files.move(
          aside, place, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    @Override
    public void delete(String name) throws IOException {
      Files.deleteIfExists(folder.resolve(name));
    }
  }

  /** Through Hadoop. */
  record Remote(org.apache.hadoop.fs.Path folder, Configuration configuration)
      implements LogFolder {
    private static final String OBJECTS = "s3a";

    private FileSystem system() throws IOException {
      return folder.getFileSystem(configuration);
    }

    private org.apache.hadoop.fs.Path path(String name) {
      return new org.apache.hadoop.fs.Path(folder, name);
    }

    @Override
    public List<String> names() throws IOException {
      List<String> names = new ArrayList<>();
      if (system().exists(folder)) {
        for (FileStatus status : system().listStatus(folder)) {
          names.add(status.getPath().getName());
        }
      }
      return names;
    }

    @Override
    public byte[] read(String name) throws IOException {
      try (FSDataInputStream in = system().open(path(name))) {
        return in.readAllBytes();
      }
    }

    @Override
    public void write(String name, byte[] content) throws IOException {
      if (OBJECTS.equals(folder.toUri().getScheme())) {
        // Whole once it is closed; to rename it would be to copy it.
        put(path(name), content);
        return;
      }
      org.apache.hadoop.fs.Path aside = path("." + name + ".tmp");
      put(aside, content);
      // What a batch wrote that was not committed may be there: a plain rename would refuse.
      FileContext.getFileContext(folder.toUri(), configuration)
          .rename(aside, path(name), Options.Rename.OVERWRITE);
    }

    private void put(org.apache.hadoop.fs.Path path, byte[] content) throws IOException {
      try (FSDataOutputStream out = system().create(path, true)) {
        out.write(content);
      }
    }

    @Override
    public void delete(String name) throws IOException {
      system().delete(path(name), false);
    }
  }
}
