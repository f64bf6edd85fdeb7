package dev.joinery.kernel.chain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.BranchMessage;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.ParentMessage;
import dev.joinery.kernel.program.GroupProgram;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.state.MemoryState;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.LongFunction;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import scala.Tuple2;

/** What one change costs at a large address, counted in pages and messages, not in time. */
class ScalingTest {
  private static final int FEW_PAGES = 4;
  private static final Table STAR =
      Table.of("star", 3, "username long, repo_name long, repo_owner long, created long");
  private static final Table REPO =
      Table.of("repo", 2, "owner long, name long, description string");
  private static final Table USER = Table.of("user", 1, "email long, username long");
  private static final Table POST = Table.of("post", 1, "id long, topic long, score long");
  private static final Table NOTE = Table.of("note", 1, "id long, topic long, text string");
  private static final Table TOPIC = Table.of("topic", 1, "id long, slug long");

  private long place;

  private LogChange upsert(Table table, Object... row) {
    place++;
    return new LogChange(table, Message.OP_UPSERT, Arrays.asList(row), place, place);
  }

  private LogChange delete(Table table, Object... row) {
    place++;
    return new LogChange(table, Message.OP_DELETE, Arrays.asList(row), place, place);
  }

  private List<Emission> send(Network network, LogChange... changes) {
    network.resetCounts();
    return network.batch(Arrays.asList(changes), place, new Random(1));
  }

  private void fill(Network network, LongStream numbers, LongFunction<LogChange> row) {
    List<LogChange> changes = new ArrayList<>();
    numbers.mapToObj(row).forEach(changes::add);
    network.batch(changes, place, new Random(1));
  }

  private static Network stars(boolean elide) {
    Tree repo = Tree.one("r", REPO, "owner=repo_owner,name=repo_name");
    Tree user = Tree.root("profile", USER, Tree.many("stars", STAR, "username=username", repo));
    return new Network(new Chain(TreeProgram.of(elide, user)));
  }

  private static Network posts(int limit, String... aggregates) {
    Tree posts =
        Tree.many("posts", POST, "topic=slug")
            .order("score", true)
            .limit(limit)
            .aggregates(aggregates);
    return new Network(new Chain(TreeProgram.of(true, Tree.root("topic", TOPIC, posts))));
  }

  @Test
  void oneMoreParentOfALookupWithHalfAMillionTouchesAFewPages() {
    Network network = stars(true);
    network.endAfter(1);
    send(network, upsert(REPO, 1L, 1L, "text"));
    for (int part = 0; part < 5; part++) {
      long from = part * 100_000L;
      fill(network, LongStream.range(from, from + 100_000), each -> upsert(STAR, each, 1L, 1L, 0L));
    }
    MemoryState lookup = network.largestState();
    assertTrue(lookup.pageCount() > 1_000);
    lookup.resetCounts();

    send(network, upsert(STAR, 1_000_000L, 1L, 1L, 0L));

    assertTrue(lookup.pageReads <= FEW_PAGES, lookup.pageReads + " pages read");
    assertTrue(lookup.pageWrites <= FEW_PAGES, lookup.pageWrites + " pages written");
    assertTrue(lookup.bytesWritten() < 100_000, lookup.bytesWritten() + " bytes written");
    assertEquals(1, network.messages());
  }

  @Test
  void aChangedChildOfALookupTellsEachParentOnceAndWritesNoPage() {
    Network network = stars(false);
    send(network, upsert(REPO, 1L, 1L, "text"));
    fill(network, LongStream.range(0, 20_000), each -> upsert(STAR, each, 1L, 1L, 0L));
    MemoryState lookup = network.largestState();
    lookup.resetCounts();

    send(network, upsert(REPO, 1L, 1L, "other text"));

    assertEquals(0, lookup.pageWrites);
    assertTrue(lookup.pageReads <= lookup.pageCount(), "each page is read once");
    assertEquals(20_002, network.messages(), "raw change, changed child, one a parent");
  }

  private static final long SECOND = 1_000_000;

  private static GroupSample sessions(String... functions) {
    GroupProgram.SessionProgram session = new GroupProgram.SessionProgram(2 * SECOND, 0, true);
    return new GroupSample("sessions", null, session, List.of(functions), false);
  }

  private LogChange click(long key, double second) {
    return upsert(GroupSample.TABLE, key, "kind", (long) (second * SECOND), key, true);
  }

  private LogChange noClick(long key) {
    return delete(GroupSample.TABLE, key, null, null, null, null);
  }

  @Test
  void aLateRowAndADeleteInASessionOfManyRowsTouchAFewPages() {
    for (GroupSample sample : List.of(sessions("sum"), sessions("max", "min"))) {
      Network network = new Network(new Chain(sample.program()));
      fill(network, LongStream.range(0, 100_000), each -> click(each, each));
      MemoryState session = network.largestState();
      assertTrue(session.pageCount() > 200);

      session.resetCounts();
      assertEquals(1, send(network, click(200_000, 50_000.5)).size());
      assertTrue(session.pageReads <= FEW_PAGES, session.pageReads + " pages read");

      session.resetCounts();
      List<Emission> greatestGone = send(network, noClick(99_999), noClick(0));
      assertEquals(2, greatestGone.size(), "a moved start: a tombstone and a document");
      assertTrue(session.pageReads <= 40, session.pageReads + " pages read");

      send(network, noClick(200_000));
      session.resetCounts();
      List<Emission> split = send(network, noClick(50_000), noClick(50_001));
      assertEquals(2, split.size(), "the earlier part and the later one");
      assertTrue(session.pageReads <= 40, session.pageReads + " pages read");
      assertTrue(session.pageWrites <= 8, session.pageWrites + " pages written");
    }
  }

  @Test
  void aThousandParentsOfALimitedWindowHearSmallMessages() {
    Network network = posts(10);
    fill(network, LongStream.range(0, 1_000), each -> upsert(TOPIC, each, 7L));
    fill(network, LongStream.range(0, 100_000), each -> upsert(POST, each, 7L, each));
    MemoryState match = network.largestState();
    assertTrue(match.pageCount() > 300);
    match.resetCounts();

    List<Emission> emissions = send(network, upsert(POST, 200_000L, 7L, 200_000L));

    assertEquals(1_000, emissions.size());
    assertEquals(1_002, network.messages(), "raw change, child, one a parent");
    assertTrue(network.largestMessage() < 300, network.largestMessage() + " bytes");
    assertTrue(match.pageReads <= FEW_PAGES + 5, match.pageReads + " pages read");
    assertTrue(match.pageWrites <= FEW_PAGES, match.pageWrites + " pages written");
  }

  @Test
  void embedsOnTheSameColumnsAreToldInOneMessage() {
    Tree posts = Tree.many("posts", POST, "topic=slug");
    Tree notes = Tree.many("notes", NOTE, "topic=slug");
    Tree topic = Tree.root("topic", TOPIC, posts, notes);
    Network network = new Network(new Chain(TreeProgram.of(true, topic)));

    send(network, upsert(TOPIC, 1L, 7L));

    assertEquals(4, network.messages(), "raw change, announcement, own row, one answer");

    send(network, upsert(POST, 1L, 7L, 1L), upsert(NOTE, 1L, 7L, "text"));

    assertEquals(5, network.messages(), "raw changes, children, one message to the parent");
  }

  @Test
  void aChildBeyondTheWindowTellsParentsOnlyTheTotal() {
    Network network = posts(10);
    fill(network, LongStream.range(0, 100), each -> upsert(TOPIC, each, 7L));
    fill(network, LongStream.range(0, 20_000), each -> upsert(POST, each, 7L, each));

    send(network, upsert(POST, 200_000L, 7L, -1L));

    assertEquals(102, network.messages());
    assertTrue(network.largestMessage() < 120, network.largestMessage() + " bytes");
  }

  @Test
  void aKeptChildThatLeavesIsReplacedWithoutARescan() {
    Network network = posts(10);
    fill(network, LongStream.range(0, 3), each -> upsert(TOPIC, each, 7L));
    fill(network, LongStream.range(0, 50_000), each -> upsert(POST, each, 7L, each));
    MemoryState match = network.largestState();
    match.resetCounts();

    List<Emission> emissions = send(network, delete(POST, 49_999L, null, null));

    assertEquals(3, emissions.size());
    assertTrue(emissions.get(0).value().contains("\"id\":49989"), "the next took its place");
    assertTrue(match.pageReads <= FEW_PAGES, match.pageReads + " pages read");
  }

  @Test
  void aWindowThatRunsShortIsFilledAgain() {
    Network network = posts(10);
    send(network, upsert(TOPIC, 1L, 7L));
    fill(network, LongStream.range(0, 2_000), each -> upsert(POST, each, 7L, each));
    fill(network, LongStream.range(1_955, 1_990), each -> delete(POST, each, null, null));

    List<Emission> emissions =
        send(
            network,
            LongStream.range(1_990, 2_000)
                .mapToObj(each -> delete(POST, each, null, null))
                .toArray(LogChange[]::new));

    assertEquals(1, emissions.size());
    String ids = emissions.get(0).value().replaceAll(".*?\"id\":(\\d+),\"topic.*?\\}", "$1 ");
    assertTrue(ids.startsWith("1954 1953 1952 1951 1950 1949 1948 1947 1946 1945 "), ids);
    assertTrue(ids.endsWith("\"posts_total\":1955}"), ids);
  }

  @Test
  void aggregatesFollowAnInsertAndARemoveWithoutARescan() {
    Network network = posts(5, "sum:score", "max:score", "min:score", "count:score");
    send(network, upsert(TOPIC, 1L, 7L));
    fill(network, LongStream.range(0, 100_000), each -> upsert(POST, each, 7L, each));
    MemoryState match = network.largestState();
    match.resetCounts();

    List<Emission> emissions = send(network, upsert(POST, 100_000L, 7L, 50L));
    send(network, delete(POST, 777L, null, null));

    assertTrue(emissions.get(0).value().contains("\"posts_sum_score\":4999950050"));
    assertTrue(match.pageReads <= 2 * FEW_PAGES, match.pageReads + " pages read");
    assertTrue(match.pageWrites <= 2 * FEW_PAGES, match.pageWrites + " pages written");
  }

  @Test
  void aNewParentOfManyChildrenIsAnsweredAPartAtATime() {
    Tree tree = Tree.root("topic", TOPIC, Tree.many("posts", POST, "topic=slug"));
    Chain chain = new Chain(TreeProgram.of(true, tree));
    Network network = new Network(chain);
    fill(network, LongStream.range(0, 60_000), each -> upsert(POST, each, 7L, each));
    MemoryState match = network.largestState();
    match.resetCounts();
    List<Slice> addresses = network.addresses(match);
    byte[] address = addresses.get(0).toBytes();
    byte[] announcement = ParentMessage.put(place, 1, new byte[] {1, 2}, Slice.EMPTY);
    Outbox outbox = new Outbox();

    chain
        .node(Address.nodeOf(address))
        .handle(Address.keyOf(address), new ArrayList<>(List.of(announcement)), match, outbox);

    assertTrue(match.pageReads <= FEW_PAGES, "nothing is read before it is asked for");
    Tuple2<byte[], byte[]> first = outbox.next();
    assertTrue(first._1().length < BranchMessage.MAX_BYTES + 1_000);
    assertTrue(match.pageReads < match.pageCount() / 2, match.pageReads + " pages read");
    int messages = 1;
    while (outbox.hasNext()) {
      outbox.next();
      messages++;
    }
    assertTrue(messages > 2 && messages < 10, messages + " messages");
  }

  /** Of one row among the children of one parent, to the Match and to the Fold. */
  private long bytesWrittenAChange(int children) {
    Network network = posts(0);
    send(network, upsert(TOPIC, 1L, 7L));
    fill(network, LongStream.range(0, children), each -> upsert(POST, each, 7L, each));
    long before = network.bytesWritten();
    int changes = 150;
    for (int i = 0; i < changes; i++) {
      send(network, upsert(POST, (long) i % children, 7L, 1_000L + i));
    }
    return (network.bytesWritten() - before) / changes;
  }

  /** A Match of a hundred children is a value of 6 KB, its Fold one of 7; of a thousand, ten times. */
  @Test
  void whatIsWrittenForAChangeIsAsLargeAsTheChangeAndNotAsItsGroup() {
    long amongFew = bytesWrittenAChange(5);
    long amongHundred = bytesWrittenAChange(100);
    long amongThousand = bytesWrittenAChange(1_000);

    String told = amongFew + ", " + amongHundred + " and " + amongThousand + " bytes";
    assertTrue(amongFew < 400, told);
    assertTrue(amongHundred < 800, told);
    assertTrue(amongThousand < 1_500, told);
  }

  private Network largeRoot(String on, int children) {
    return largeRoot(on, children, 16 << 20);
  }

  private Network largeRoot(String on, int children, long maxBytes) {
    Tree topic = Tree.root("topic", TOPIC, Tree.many("posts", POST, on).order("score", true));
    Program program = TreeProgram.limited(TreeProgram.of(true, topic), maxBytes);
    Network network = new Network(new Chain(program));
    send(network, upsert(TOPIC, 7L, 7L));
    fill(network, LongStream.range(0, children), each -> upsert(POST, each, 7L, each));
    return network;
  }

  @Test
  void aChildMoreMovedOrLessOfARootWithManyWritesWhatChanged() {
    for (String on : List.of("topic=id", "topic=slug")) {
      Network network = largeRoot(on, 20_000);
      MemoryState fold = network.stateOf(0);
      assertTrue(fold.pageCount() > 50, fold.pageCount() + " pages");
      send(network, upsert(POST, 20_000L, 7L, 1L));
      fold.resetCounts();

      for (long i = 1; i <= 20; i++) {
        assertEquals(1, send(network, upsert(POST, 20_000L + i, 7L, 5_000L)).size());
        assertEquals(1, send(network, upsert(POST, 100 + i, 7L, 9_000L)).size());
        assertEquals(1, send(network, delete(POST, 200 + i, null, null)).size());
      }

      long written = fold.bytesWritten() / 60;
      assertTrue(written < 3_000, written + " bytes written a change");
      assertTrue(fold.pageWrites <= 60 * FEW_PAGES, fold.pageWrites + " pages written");
      String value = send(network, upsert(POST, 3L, 7L, 50_000L)).get(0).value();
      assertTrue(value.contains("\"posts\":[{\"id\":3,\"topic\":7,\"score\":50000},"));
      assertEquals(20_001, value.split("\"score\":").length - 1);
    }
  }

  @Test
  void aRootWithManyThatGoesAndReturnsHasItsChildrenAndLeavesNoPage() {
    Network network = largeRoot("topic=id", 5_000);
    assertEquals(null, send(network, delete(TOPIC, 7L, null)).get(0).value());
    String again = send(network, upsert(TOPIC, 7L, 8L)).get(0).value();
    assertEquals(5_000, again.split("\"score\":").length - 1);

    fill(network, LongStream.range(0, 5_000), each -> delete(POST, each, null, null));
    send(network, delete(TOPIC, 7L, null));

    assertEquals(0, network.stateOf(0).pageCount());
  }

  @Test
  void aRootAboveTheLimitCostsAFewPagesUntilItsDocumentMayBeSentAgain() {
    Network network = largeRoot("topic=id", 20_000, 400_000);
    MemoryState fold = network.stateOf(0);
    assertTrue(fold.pageCount() > 50);
    fold.resetCounts();

    assertEquals(List.of(), send(network, upsert(POST, 20_000L, 7L, 1L)));

    assertTrue(fold.pageReads <= FEW_PAGES, fold.pageReads + " pages read");
    fill(network, LongStream.range(10_000, 20_000), each -> delete(POST, each, null, null));
    String value = send(network, delete(POST, 20_000L, null, null)).get(0).value();
    assertEquals(10_000, value.split("\"score\":").length - 1);
    assertTrue(value.length() < 400_000);
  }

  @Test
  void aRootWithManyIsWhatItWasAfterACrash() {
    Network network = largeRoot("topic=id", 5_000);
    var checkpoint = network.checkpoint();
    LogChange[] changes = {upsert(POST, 9_000L, 7L, 1L), delete(POST, 1L, null, null)};
    List<Emission> first = send(network, changes);
    network.restore(checkpoint);

    List<Emission> second = send(network, changes);

    assertEquals(1, first.size());
    assertEquals(first, second);
  }
}
