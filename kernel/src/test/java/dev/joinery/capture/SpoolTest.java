package dev.joinery.capture;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Complete files name the one before them, whatever way they come into their place. */
class SpoolTest {
  private static final String TABLE = "public.t";
  private static final Map<String, Long> PLACE = Map.of("lsn", 7L);

  @TempDir Path folder;

  private Spool open() throws IOException {
    return new Spool(folder, 1 << 20);
  }

  private static void write(Spool spool, String table, String line) throws IOException {
    spool.add(table, line.getBytes());
    spool.write();
  }

  private static void advance(Spool spool) throws IOException {
    spool.advance(Map.of(), PLACE, 0);
  }

  private Path files() {
    return folder.resolve("files").resolve(TABLE);
  }

  /** The numbers of a table's complete files, each with the one before it. */
  private List<String> files(String table) throws IOException {
    try (Stream<Path> all = Files.list(folder.resolve("files").resolve(table))) {
      return all.map(each -> each.getFileName().toString().replaceAll("(^|[.])0*(?=[0-9])", "$1"))
          .map(each -> each.replace(".jsonl", ""))
          .sorted()
          .toList();
    }
  }

  @Test
  void eachFileNamesTheOneBeforeItOfItsTable() throws IOException {
    Spool spool = open();
    write(spool, TABLE, "{}");
    write(spool, "public.u", "{}");
    advance(spool);
    write(spool, TABLE, "{}");
    write(spool, "public.u", "{}");

    assertEquals(List.of("1.0", "3.1"), files(TABLE));
    assertEquals(List.of("2.0", "4.2"), files("public.u"));
  }

  @Test
  void theLastIsKnownAlsoOnceAllWereRemoved() throws IOException {
    Spool spool = open();
    advance(spool);
    write(spool, TABLE, "{}");
    advance(spool);
    Files.delete(files().resolve("0000000000000001.0000000000000000.jsonl"));

    write(open(), TABLE, "{}");

    assertEquals(List.of("2.1"), files(TABLE));
  }

  @Test
  void aFileWhosePositionWasNotNotedIsTheLast() throws IOException {
    Spool spool = open();
    advance(spool);
    write(spool, TABLE, "{}");

    write(open(), TABLE, "{}");

    assertEquals(List.of("1.0", "2.1"), files(TABLE));
  }

  @Test
  void whatStoodAsideFollowsWhatIsInPlaceAlsoWhereThatWasBrokenOff() throws IOException {
    Spool spool = open();
    advance(spool);
    write(spool, TABLE, "{}");
    spool.hold(List.of(TABLE));
    write(spool, TABLE, "{}");
    write(spool, TABLE, "{}");
    Path held = folder.resolve(".held").resolve(TABLE).resolve(Chain.aside(2));
    Files.move(held, files().resolve("0000000000000004.0000000000000001.jsonl"));

    Spool next = open();
    next.hold(List.of(TABLE));
    next.adopt(TABLE, folder.resolve(".rows"));
    write(next, TABLE, "{}");

    assertEquals(List.of("1.0", "4.1", "5.4", "6.5"), files(TABLE));
  }

  @Test
  void aFileThatWasInSightKeepsItsNameAndIsTheLast() throws IOException {
    Spool spool = open();
    advance(spool);
    spool.follow();
    write(spool, TABLE, "{}");
    spool.add(TABLE, "{}".getBytes());
    spool.show();

    Spool next = open();
    next.follow();
    write(next, TABLE, "{}");

    assertEquals(List.of("1.0", "2.1", "3.2"), files(TABLE));
  }

  @Test
  void filesOfBeforeAreGoneOnFrom() throws IOException {
    Spool spool = open();
    advance(spool);
    Files.createDirectories(files());
    Files.writeString(files().resolve(Chain.aside(1)), "{}\n");

    write(open(), TABLE, "{}");

    assertEquals(List.of("1", "2.1"), files(TABLE));
  }
}
