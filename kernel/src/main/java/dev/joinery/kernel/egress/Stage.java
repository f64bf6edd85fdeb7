package dev.joinery.kernel.egress;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.Counters;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.RawChange;
import dev.joinery.kernel.message.Replacement;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.render.ByteSink;
import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.apache.commons.io.IOUtils;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.Function2;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Writes one batch's documents, changes and dead letters as JSON lines, a part a task; gives back
 * which parts these are, and counts.
 *
 * <p>Each attempt of a task writes files of its own ({@link Staging}), and the driver keeps what the
 * attempts left whose results it has. So an attempt that nobody waits for (of a speculative pair, of
 * an executor that was cut off) alters nothing, however late it writes.
 */
public final class Stage
    implements Function2<TaskContext, Iterator<InternalRow>, Stage.Part> {
  static final String DEAD_LETTERS = "dead_letters";

  /** No product's name begins so. */
  static final String CHANGES = ".changes";

  /**
   * What one attempt of a task left.
   *
   * @param sizes in bytes, of the files of products, changes and dead letters
   * @param indexes by product, of the lines whose keys may come again: what {@link LineIndex} wrote
   */
  public record Part(
      int partition,
      long attempt,
      Map<String, Long> sizes,
      Map<String, byte[]> indexes,
      Counters counts)
      implements Serializable {}

  private final List<Program.ProductProgram> products;
  private final List<Program.RelationProgram> relations;
  private final String folder;
  private final Staging staging;
  private final Set<String> readByTasks;
  private final Set<String> leftToTasks;
  private final Set<String> settling;

  public Stage(List<Program.ProductProgram> products, String folder) {
    this(products, List.of(), folder);
  }

  /**
   * Has tasks leave their parts in {@code staging}; what is kept goes to {@code folder}, but for the
   * documents of products that only tasks read.
   *
   * @param readByTasks products whose documents tasks read, where they left them
   * @param leftToTasks those of them that nobody else reads
   */
  public Stage(
      List<Program.ProductProgram> products,
      String folder,
      Staging staging,
      Set<String> readByTasks,
      Set<String> leftToTasks) {
    this(products, List.of(), folder, staging, readByTasks, leftToTasks, Set.of());
  }

  /** Writes the changes of {@code relations}, too. */
  public Stage(
      List<Program.ProductProgram> products,
      List<Program.RelationProgram> relations,
      String folder) {
    this(products, relations, folder, Staging.onDisk(folder), Set.of(), Set.of(), Set.of());
  }

  private Stage(
      List<Program.ProductProgram> products,
      List<Program.RelationProgram> relations,
      String folder,
      Staging staging,
      Set<String> readByTasks,
      Set<String> leftToTasks,
      Set<String> settling) {
    this.products = products;
    this.relations = relations;
    this.folder = folder;
    this.staging = staging;
    this.readByTasks = readByTasks;
    this.leftToTasks = leftToTasks;
    this.settling = settling;
  }

  /** The same, where lines of some products tell what they replace at a sink. */
  public Stage settling(Set<String> some) {
    return new Stage(products, relations, folder, staging, readByTasks, leftToTasks, some);
  }

  /** Makes room for a batch; called by the driver before any task begins. */
  public void open() throws IOException {
    staging.open();
  }

  @Override
  public Part call(TaskContext task, Iterator<InternalRow> rows) throws IOException {
    return write(task.partitionId(), task.taskAttemptId(), rows);
  }

  /** Writes the lines of one attempt; fails where its batch was kept or cleared meanwhile. */
  public Part write(int partition, long attempt, Iterator<InternalRow> rows) throws IOException {
    try (Parts parts = new Parts(attempt)) {
      while (rows.hasNext()) {
        parts.take(rows.next().getBinary(0));
      }
      return new Part(partition, attempt, parts.sizes(), parts.indexes(), parts.counts());
    }
  }

  /**
   * Puts the parts of a batch in place, one a task, with one line of each key.
   *
   * @return what was counted
   */
  public Counters keep(List<Part> parts) throws IOException {
    Counters counts = new Counters();
    parts.forEach(each -> counts.addAll(each.counts()));
    staging.keep(left(parts, name -> !leftToTasks.contains(name)));
    removeRepeats(parts, counts);
    return counts;
  }

  private List<Staging.Left> left(List<Part> parts, Predicate<String> wanted) throws IOException {
    List<Staging.Left> files = new ArrayList<>();
    for (Part part : parts) {
      for (Map.Entry<String, Long> file : part.sizes().entrySet()) {
        if (wanted.test(file.getKey())) {
          Path place = place(part, file.getKey());
          Files.createDirectories(place.getParent());
          files.add(new Staging.Left(part.attempt(), file.getKey(), file.getValue(), place));
        }
      }
    }
    return files;
  }

  /** Where a part stands once it was kept. */
  private Path place(Part part, String name) {
    return Path.of(folder, name, String.format("part-%05d.jsonl", part.partition()));
  }

  private void removeRepeats(List<Part> parts, Counters counts) throws IOException {
    for (Program.ProductProgram product : products) {
      String name = product.name();
      List<Part> repeating = new ArrayList<>();
      List<Repeats.Listed> listed = new ArrayList<>();
      for (Part part : parts) {
        if (part.indexes().containsKey(name)) {
          repeating.add(part);
          listed.add(new Repeats.Listed(place(part, name), part.indexes().get(name)));
        }
      }
      if (leftToTasks.contains(name) && Repeats.areIn(listed)) {
        staging.keep(left(repeating, name::equals));
      }
      Repeats removed = Repeats.remove(listed);
      if (removed.lines() > 0) {
        if (readByTasks.contains(name)) {
          List<Part> rewritten = removed.rewritten().stream().map(repeating::get).toList();
          staging.replace(left(rewritten, name::equals));
        }
        counts.product(name, "superseded", removed.lines());
        counts.add(Counters.DOCUMENTS, name, "upserts", -removed.lines());
        counts.add(Counters.DOCUMENTS, name, "bytes", -removed.bytes());
      }
    }
  }

  /** Drops what attempts left that was not kept, as far as none of them is still writing. */
  public void clear() {
    staging.clear();
  }

  private final class Parts implements AutoCloseable {
    private final long attempt;
    private final Map<String, Written> files = new HashMap<>();
    private final Counters counts = new Counters();
    private final Lines[] lines = new Lines[products.size()];
    private final ChangeLines changes = new ChangeLines(relations);
    private final ByteSink line = new ByteSink(4096);

    Parts(long attempt) {
      this.attempt = attempt;
    }

    void take(byte[] message) throws IOException {
      ByteReader in = Message.body(message);
      switch (Message.kind(message)) {
        case Message.DOCUMENT, Message.TOMBSTONE -> document(Message.kind(message), in);
        case Message.DEAD_LETTER -> deadLetter(in.rest());
        case Message.COUNT -> counts.addMessage(in);
        case Message.RAW -> change(RawChange.read(message));
        default -> throw Message.unexpected(message);
      }
    }

    private void document(int kind, ByteReader in) throws IOException {
      int product = in.readVarInt();
      if (lines[product] == null) {
        Program.ProductProgram of = products.get(product);
        lines[product] = new Lines(of, settling.contains(of.name()));
      }
      String name = products.get(product).name();
      line.clear();
      lines[product].write(kind, in, line);
      write(name, line);
      lines[product].count(kind, line);
    }

    private void deadLetter(Slice json) throws IOException {
      line.clear();
      line.append(json.array(), json.offset(), json.length());
      line.append('\n');
      write(DEAD_LETTERS, line);
      counts.add(Counters.DEAD_LETTERS, "", "count", 1);
    }

    private void change(RawChange change) throws IOException {
      line.clear();
      changes.write(change, line);
      write(CHANGES, line);
    }

    private void write(String name, ByteSink line) throws IOException {
      Written file = files.get(name);
      if (file == null) {
        file = open(name);
        files.put(name, file);
      }
      file.write(line);
    }

    private Written open(String name) throws IOException {
      if (files.isEmpty()) {
        staging.begin(attempt);
      }
      return new Written(staging.create(attempt, name));
    }

    Map<String, Long> sizes() {
      Map<String, Long> sizes = new HashMap<>();
      files.forEach((name, file) -> sizes.put(name, file.size));
      return sizes;
    }

    Map<String, byte[]> indexes() {
      Map<String, byte[]> indexes = new HashMap<>();
      for (int i = 0; i < lines.length; i++) {
        if (lines[i] != null && !lines[i].index.isEmpty()) {
          indexes.put(products.get(i).name(), lines[i].index.toBytes());
        }
      }
      return indexes;
    }

    Counters counts() {
      for (int i = 0; i < lines.length; i++) {
        if (lines[i] != null) {
          lines[i].tell(products.get(i).name(), counts);
        }
      }
      return counts;
    }

    @Override
    public void close() throws IOException {
      IOUtils.close(files.values().toArray(Written[]::new));
    }
  }

  /** A file that is written, and how many bytes it has so far. */
  private static final class Written implements Closeable {
    private final OutputStream out;
    private long size;

    Written(OutputStream out) {
      this.out = out;
    }

    void write(ByteSink line) throws IOException {
      out.write(line.array(), 0, line.size());
      size += line.size();
    }

    @Override
    public void close() throws IOException {
      out.close();
    }
  }

  /** Writes one product's documents as lines of the files sink, and counts them. */
  private static final class Lines {
    private static final String REPLACED = ",\"before\":\"%s\",\"after\":\"%s\"";
    private final SinkLine line;
    private final boolean settling;
    private final LineIndex index = new LineIndex();
    private Slice place;
    private int keyTo;
    private long upserts;
    private long tombstones;
    private long bytes;

    Lines(Program.ProductProgram product, boolean settling) {
      this.line = new SinkLine(product);
      this.settling = settling;
    }

    void count(int kind, ByteSink line) {
      index.add(line, SinkLine.KEY_FROM, keyTo, place);
      if (kind == Message.DOCUMENT) {
        upserts++;
      } else {
        tombstones++;
      }
      bytes += line.size();
    }

    void tell(String name, Counters counts) {
      if (upserts > 0) {
        counts.add(Counters.DOCUMENTS, name, "upserts", upserts);
      }
      if (tombstones > 0) {
        counts.add(Counters.DOCUMENTS, name, "tombstones", tombstones);
      }
      counts.add(Counters.DOCUMENTS, name, "bytes", bytes);
    }

    void write(int kind, ByteReader in, ByteSink out) {
      long version = in.readLong();
      place = in.readBlob();
      Slice replaced = in.readBlob();
      line.key(in.readBlob(), out);
      keyTo = out.size();
      line.value(kind == Message.DOCUMENT ? in.rest() : null, out);
      line.version(version, out);
      if (settling && !replaced.isEmpty()) {
        Replacement told = Replacement.read(replaced);
        String before = told.held() ? HexFormat.of().toHexDigits(told.before()) : "";
        String after = told.holds() ? HexFormat.of().toHexDigits(told.after()) : "";
        out.append(REPLACED.formatted(before, after).getBytes(StandardCharsets.UTF_8));
      }
      out.append('}');
      out.append('\n');
    }
  }
}
