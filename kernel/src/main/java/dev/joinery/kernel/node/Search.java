package dev.joinery.kernel.node;

import dev.joinery.kernel.bytes.BinaryRow;
import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Hash;
import dev.joinery.kernel.bytes.KeyCodec;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.message.DeadLetter;
import dev.joinery.kernel.message.DocumentLimit;
import dev.joinery.kernel.message.Message;
import dev.joinery.kernel.message.Outbox;
import dev.joinery.kernel.message.RawChange;
import dev.joinery.kernel.message.Replacement;
import dev.joinery.kernel.program.Buckets;
import dev.joinery.kernel.program.Program;
import dev.joinery.kernel.program.SearchProgram;
import dev.joinery.kernel.search.QuerySet;
import dev.joinery.kernel.search.StoredQuery;
import dev.joinery.kernel.state.EntryMap;
import dev.joinery.kernel.state.Mapped;
import dev.joinery.kernel.state.State;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * Remembers, for a share of the documents, all queries, each document and what it matches; sends a
 * match when its content changed, and a tombstone where the two match no more.
 *
 * <p>Documents stay where they are and queries come to all of them: a document is tried on all
 * queries under one address. One that changed is tried on those that an index finds; the others are
 * tried on the queries that changed, and only in a batch in which one did.
 *
 * <p>Invariant: after a batch the matches are those of its queries with its documents, whichever of
 * the two came first. All that a batch sends has one version, above all before.
 */
public final class Search implements Node {
  private static final String QUERY_BROKEN = "query_broken";
  private static final int DOCUMENTS = 1;

  private final SearchProgram program;
  private final NodeContext context;
  private final KeptQueries stored;
  private final Buckets buckets;
  private final Program.ProductProgram product;
  private final DocumentLimit limit;
  private final HitDocument document;
  private final Readers readers;

  /** Of the documents, where their cells are kept here; else null. */
  private final RelationRows rows;

  private final UnsafeRow searched;
  private final KeyCodec documentOn;

  public Search(int node, SearchProgram program, NodeContext context) {
    Program whole = context.program();
    this.program = program;
    this.context = context;
    this.stored = new KeptQueries(node, program, context);
    this.buckets = whole.buckets().get(node);
    this.product = whole.products().get(program.product());
    this.limit = new DocumentLimit(product, whole.maxDocumentBytes());
    this.document = new HitDocument(program, context);
    this.readers = new Readers(program.product(), context);
    this.rows = program.keepsCells() ? context.rows(program.documents()) : null;
    List<Program.Slot> columns = NodeContext.slotsOf(program.searched(whole));
    this.searched = new UnsafeRow(columns.size());
    this.documentOn = program.documentOn().codec(columns);
  }

  /** A query goes through all documents: those that change are not held up by it. */
  @Override
  public Turn turnOf(byte[] message) {
    return Message.kind(message) == Message.QUERY ? Turn.LATER : Turn.TOGETHER;
  }

  @Override
  public void handle(Slice bucket, List<byte[]> messages, State state, Outbox outbox) {
    Map<Slice, Slice> queries = new LinkedHashMap<>();
    Map<Slice, Slice> documents = new LinkedHashMap<>();
    Map<Slice, List<RawChange>> changes = new LinkedHashMap<>();
    List<Pending> pending = new ArrayList<>();
    for (byte[] message : messages) {
      ByteReader in = Message.body(message);
      switch (Message.kind(message)) {
        case Message.QUERY -> take(in, queries);
        case Message.SEARCHED -> take(in, documents);
        case Message.RAW -> takeChange(RawChange.read(in), changes);
        case Message.PENDING -> pending.add(Pending.read(in));
        default -> throw Message.unexpected(message);
      }
    }
    Batch batch = new Batch(bucket, Message.latest(messages), state, outbox);
    batch.handle(queries, documents, changes, pending);
  }

  /** Deletes that were remembered for long enough are no longer. */
  @Override
  public void expire(Slice bucket, List<Slice> entries, long timestamp, State state) {
    new Batch(bucket, timestamp, state, new Outbox()).expire(entries);
  }

  @Override
  public void show(Slice bucket, State state, Outbox outbox) {
    Batch batch = new Batch(bucket, 0, state, outbox);
    batch.open();
    outbox.later(new Mapped<>(batch.documents.iterator(), each -> () -> batch.show(each)));
  }

  /** A match that the sink may hold though it was never committed, and its version there. */
  private record Pending(long version, Match match) {
    static Pending read(ByteReader in) {
      long version = in.readLong();
      Slice query = in.readBlob();
      return new Pending(version, new Match(query, in.readBlob()));
    }
  }

  private record Match(Slice query, Slice document) {}

  private static void take(ByteReader in, Map<Slice, Slice> rows) {
    boolean exists = in.readByte() != 0;
    Slice key = in.readBlob();
    rows.put(key, exists ? in.rest() : null);
  }

  private void takeChange(RawChange change, Map<Slice, List<RawChange>> changes) {
    Slice key = Slice.of(rows.keyOf(change));
    changes.computeIfAbsent(key, each -> new ArrayList<>(1)).add(change);
  }

  /** One batch at one bucket. */
  private final class Batch {
    private final Slice bucket;
    private final long timestamp;
    private final State state;
    private final Outbox outbox;
    private long version;
    private long sending;
    private KeptQueries.At queries;
    private EntryMap documents;

    /** Pending matches of which nothing was sent yet. */
    private final Set<Match> again = new LinkedHashSet<>();

    Batch(Slice bucket, long timestamp, State state, Outbox outbox) {
      this.bucket = bucket;
      this.timestamp = timestamp;
      this.state = state;
      this.outbox = outbox;
    }

    void handle(
        Map<Slice, Slice> changedQueries,
        Map<Slice, Slice> changedDocuments,
        Map<Slice, List<RawChange>> changes,
        List<Pending> pending) {
      open();
      for (Pending each : pending) {
        version = Math.max(version, each.version());
        again.add(each.match());
      }
      sending = Math.max(timestamp, version + 1);
      queries.take(changedQueries).forEach(this::tellBroken);
      for (Slice key : documents.inPageOrder(changedDocuments.keySet(), each -> each)) {
        change(key, changedDocuments.get(key));
      }
      Set<Slice> tried = new HashSet<>(changedDocuments.keySet());
      for (Slice key : documents.inPageOrder(changes.keySet(), each -> each)) {
        if (apply(key, changes.get(key))) {
          tried.add(key);
        }
      }
      if (!queries.moved().isEmpty()) {
        lookBack(queries.moved(), tried);
      }
      List.copyOf(again).forEach(this::sendAgain);
      close();
    }

    private void open() {
      byte[] head = state.read();
      ByteReader in = head == null ? null : new ByteReader(head);
      version = in == null ? 0 : in.readLong();
      queries = stored.new At(in, state);
      documents =
          EntryMap.read(in == null ? null : new ByteReader(in.readBlob()), state, DOCUMENTS);
    }

    private void close() {
      ByteWriter out = new ByteWriter(256).writeLong(version);
      queries.write(out);
      KeptQueries.writeMap(documents, out);
      state.write(out.toBytes());
    }

    /** All buckets have the query; one of them tells that it is broken. */
    private void tellBroken(Slice key) {
      StoredQuery query = queries.all().get(key);
      boolean mine = Slice.of(buckets.of(key.toBytes())).equals(bucket);
      if (query != null && query.broken() != null && mine) {
        outbox.emit(
            new DeadLetter(QUERY_BROKEN, query.broken())
                .time(timestamp)
                .put("product", product.name())
                .put("key", product.key(), BinaryRow.of(document.key(key, null), 2))
                .toMessage(timestamp));
      }
    }

    // Documents

    private void change(Slice key, Slice row) {
      Slice old = documents.get(key);
      Map<Slice, Hit> hits = old == null ? Map.of() : Searched.read(old).hits;
      Map<Slice, Hit> now = tried(key, row, hits);
      if (row != null) {
        keep(key, row, now);
      } else if (old != null) {
        documents.remove(key);
      }
    }

    /** Applies changes to a document's cell; returns whether the document is another now. */
    private boolean apply(Slice key, List<RawChange> changes) {
      Slice old = documents.get(key);
      Searched before = old == null ? Searched.NOTHING : Searched.read(old);
      RowCell cell = RowCell.read(before.kept);
      Slice stood = rows.view(cell);
      if (!rows.apply(cell, changes, timestamp, outbox)) {
        return false;
      }
      Slice row = rows.view(cell);
      boolean changed = !Objects.equals(stood, row);
      Map<Slice, Hit> hits = changed ? tried(key, row, before.hits) : before.hits;
      keep(key, Slice.of(cell.toBytes()), hits);
      if (!cell.exists) {
        rows.expireLater(cell, key, state);
      }
      return changed;
    }

    void expire(List<Slice> entries) {
      open();
      for (Slice key : entries) {
        Slice stored = documents.get(key);
        RowCell cell = RowCell.read(stored == null ? null : Searched.keptOf(stored));
        if (cell.known && rows.isOver(cell, timestamp, key, state)) {
          documents.remove(key);
        }
      }
      close();
    }

    /** The row of a document as it is kept; null where it went. */
    private Slice rowOf(Slice kept) {
      return rows == null ? kept : rows.view(RowCell.read(kept));
    }

    /** What a document that changed matches now; tells what it matched, too, and does no more. */
    private Map<Slice, Hit> tried(Slice key, Slice row, Map<Slice, Hit> hits) {
      Map<Slice, Hit> now = new LinkedHashMap<>();
      if (row == null) {
        hits.forEach((query, hit) -> leave(query, key, hit));
        return now;
      }
      for (StoredQuery query : matching(queries.all(), row)) {
        now.put(query.key(), enter(query, key, row, hits.getOrDefault(query.key(), Hit.NONE)));
      }
      hits.forEach(
          (query, hit) -> {
            if (!now.containsKey(query)) {
              leave(query, key, hit);
            }
          });
      return now;
    }

    private void keep(Slice key, Slice kept, Map<Slice, Hit> hits) {
      if (program.retroactive()) {
        documents.put(key, new Searched(kept, hits).toBytes());
      } else if (!hits.isEmpty()) {
        documents.put(key, new Searched(Slice.EMPTY, hits).toBytes());
      } else {
        documents.remove(key);
      }
    }

    private List<StoredQuery> matching(QuerySet queries, Slice row) {
      BinaryRow.point(searched, row);
      if (documentOn.anyNull(searched)) {
        return List.of();
      }
      List<StoredQuery> found = new ArrayList<>();
      queries.matching(
          Slice.of(documentOn.encode(searched)),
          searched,
          found::add,
          each -> context.counters().product(product.name(), "condition_errors", 1));
      return found;
    }

    /** Tries the documents that did not change on the queries that did. */
    private void lookBack(Set<Slice> changed, Set<Slice> done) {
      QuerySet newer = queries.changed();
      Map<Slice, Searched> after = new LinkedHashMap<>();
      for (Iterator<EntryMap.Entry> each = documents.iterator(); each.hasNext(); ) {
        EntryMap.Entry entry = each.next();
        if (done.isEmpty() || !done.contains(entry.key())) {
          Slice stands = entry.value();
          Slice row = program.retroactive() ? rowOf(Searched.keptOf(stands)) : null;
          List<StoredQuery> found = row == null ? List.of() : matching(newer, row);
          if (!found.isEmpty() || Searched.matches(stands, changed)) {
            Slice key = entry.key().detach();
            after.put(key, lookBackAt(key, Searched.read(stands.detach()), changed, found));
          }
        }
      }
      after.forEach((key, each) -> keep(key, each.kept, each.hits));
    }

    /**
     * Returns the document as it is kept now.
     *
     * @param found those of the changed queries that it matches
     */
    private Searched lookBackAt(
        Slice key, Searched before, Set<Slice> changed, List<StoredQuery> found) {
      Map<Slice, Hit> now = new LinkedHashMap<>(before.hits);
      now.keySet().removeAll(changed);
      Slice row = found.isEmpty() ? null : rowOf(before.kept);
      for (StoredQuery query : found) {
        Hit last = before.hits.getOrDefault(query.key(), Hit.NONE);
        now.put(query.key(), enter(query, key, row, last));
      }
      before.hits.forEach(
          (query, hit) -> {
            if (!now.containsKey(query)) {
              leave(query, key, hit);
            }
          });
      return new Searched(before.kept, now);
    }

    // Matches

    private Hit enter(StoredQuery query, Slice key, Slice row, Hit last) {
      Slice value = document.of(query.row(), row);
      int failures = document.failures();
      context.counters().productFailures(product.name(), last.failures(), failures);
      String reason = limit.reason(value, 0, null);
      if (reason != null) {
        if (!last.failed()) {
          outbox.emit(limit.deadLetter(reason, false, document.key(query.key(), key), timestamp));
        }
        return last.failing(failures);
      }
      long content = Hash.longOf(value.array(), value.offset(), value.length());
      if (last.differs(content)) {
        send(query.key(), key, value, last.replacedBy(true, content));
      }
      return new Hit(true, false, failures, content);
    }

    private void leave(Slice query, Slice key, Hit hit) {
      if (hit.sent()) {
        send(query, key, null, hit.replacedBy(false, 0));
      }
    }

    /**
     * Sends a match; the sink may hold any that is to be sent again.
     *
     * @param value null where the two match no more
     */
    private void send(Slice query, Slice key, Slice value, Slice replaced) {
      version = sending;
      Slice known = again.remove(new Match(query, key)) ? Replacement.UNKNOWN : replaced;
      Slice row = document.key(query, key);
      outbox.emit(
          value == null
              ? Message.tombstone(timestamp, program.product(), sending, known, row)
              : Message.document(timestamp, program.product(), sending, known, row, value));
      readers.tell(row, value, sending, timestamp, outbox);
    }

    /** Sends the matches of a document; state does not tell their versions. */
    void show(EntryMap.Entry entry) {
      Slice key = entry.key().detach();
      Searched found = Searched.read(entry.value().detach());
      Slice row = rowOf(found.kept);
      found.hits.forEach(
          (query, hit) -> {
            Slice value = document.of(queries.row(query), row);
            Slice keyRow = document.key(query, key);
            String reason = limit.reason(value, 0, null);
            if (reason != null) {
              outbox.emit(limit.deadLetter(reason, false, keyRow, 0));
            } else if (hit.sent()) {
              outbox.emit(Message.document(0, program.product(), 0, keyRow, value));
            }
          });
    }

    private void sendAgain(Match match) {
      Slice stored = documents.get(match.document());
      Searched found = stored == null ? null : Searched.read(stored);
      Hit hit = found == null ? null : found.hits.get(match.query());
      if (hit == null || !hit.sent()) {
        send(match.query(), match.document(), null, Replacement.UNKNOWN);
      } else if (!hit.failed()) {
        Slice value = document.of(queries.all().get(match.query()).row(), rowOf(found.kept));
        send(match.query(), match.document(), value, Replacement.UNKNOWN);
      }
    }
  }
}
