package dev.joinery.kernel.files;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

class ListingTest {
  private static final int MANY = 3000;

  @TempDir private Path folder;

  private String put(String name) {
    try {
      Files.writeString(folder.resolve(name), "");
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
    return name;
  }

  @Test
  void filesOfAFolderAreListedOnceInTheirOrder() throws IOException {
    List.of("c", "a", ".b").forEach(this::put);

    List<String> listed = List.copyOf(listing().of(folder, name -> !name.startsWith(".")));

    assertEquals(List.of("a", "c"), listed);
    assertEquals(Set.of(), listing().of(folder.resolve("none"), name -> true));
  }

  private static Listing listing() {
    return new Listing(Comparator.naturalOrder());
  }

  @Test
  void fileThatWasPassedOverIsListedWithThoseThatFollowedIt() throws IOException {
    Iterator<List<String>> looks = List.of(List.of("a", "c"), List.of("a", "b", "c", "d")).iterator();
    Listing listing =
        new Listing(
            Comparator.naturalOrder(),
            (in, told) -> {
              put("b");
              looks.next().forEach(told);
            });

    List<String> listed = List.copyOf(listing.of(folder, name -> !name.equals("a")));

    assertEquals(List.of("b", "c"), listed);
  }

  @Test
  @Timeout(60)
  void whateverIsListedWhileFilesComeIsWithoutAGap() throws Exception {
    Thread comes = new Thread(() -> IntStream.range(0, MANY).forEach(i -> renamed(name(i))));
    comes.start();

    int listed = 0;
    while (listed < MANY) {
      List<String> names = List.copyOf(listing().of(folder, name -> name.endsWith("l")));
      listed = names.size();
      assertEquals(IntStream.range(0, listed).mapToObj(ListingTest::name).toList(), names);
    }

    comes.join();
  }

  private static String name(int number) {
    return String.format("%016d.jsonl", number);
  }

  private void renamed(String name) {
    try {
      Files.move(folder.resolve(put("." + name + ".part")), folder.resolve(name));
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }
}
