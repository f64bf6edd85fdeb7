package dev.joinery.capture;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.connect.source.SourceRecord;

/**
 * Reads the log of a database into a spool, until its input ends.
 *
 * <p>The first line of its input tells the settings. On its output it says {@code ready} once it
 * reads, {@code held} where another process has the spool, {@code failed} and why. Before it keeps
 * the first of what follows the log it says {@code follows}, and waits for a line: whoever started
 * it looks whether the slot is still the one that it was. The connector makes one anew where it is
 * gone, and goes on over the gap. A line that is a map asks to read a table beside the log, or
 * to put its rows in place; one after the other it says {@code read}, {@code unread} and why not, or
 * {@code placed}. One that begins with {@code seal} tells the key under which lines are sealed from then on.
 *
 * <p>Invariant: a position is confirmed to the database once the files up to it, and then the
 * position itself, are on the disk. It is that of a commit: from within a transaction the connector
 * could go on too late, as where a changed key makes two records of one place, of which only the
 * first was kept. So files may hold more than their position tells; what follows it comes again,
 * with places of its own.
 */
public final class Capture {
  private static final int HELD = 3;
  private static final int ALLOWED_MS = 50;
  private static final int NEVER = 0;
  private static final String SEAL = "seal ";

  private final Settings settings;
  private final Spool spool;
  private final Connector connector;
  private final PrintStream told;
  private final CountDownLatch allowed;
  private final Queue<String> requests;
  private final Lines lines;
  private final History history;
  private final Statements statements;

  /** The reading of a table that is under way beside the log; null where none is. */
  private Reading reading;

  /** The last record that ended a transaction, or the first reading; null once confirmed. */
  private SourceRecord last;

  private long flushedAt;

  /** When the first came of what is not in complete files yet; {@link #NEVER} where nothing has. */
  private long takenAt = NEVER;

  /** When something was heard of the log, of which heartbeats come though nothing changes. */
  private long heardAt = NEVER;

  private Capture(
      Settings settings,
      PrintStream told,
      CountDownLatch allowed,
      Queue<String> requests,
      Statements statements)
      throws IOException {
    this.statements = statements;
    this.settings = settings;
    this.told = told;
    this.allowed = allowed;
    this.requests = requests;
    spool = new Spool(settings.spool(), settings.fileBytes());
    spool.hold(settings.held());
    if (settings.follows()) {
      spool.follow();
    }
    Position position = spool.position();
    long written = position == null ? 0 : position.rows();
    lines = new Lines(settings.connector(), settings.begunAt(), written, settings.seal());
    history = new History(spool.history(), settings.connector().get("table.include.list"));
    connector = new Connector(settings.connector(), spool::position);
  }

  /** Runs a capture; exits with 0 once its input has ended. */
  public static void main(String[] arguments) throws IOException {
    PrintStream told = System.out;
    Statements statements = new Statements(System.err);
    System.setErr(statements);
    System.setOut(System.err);
    BufferedReader input =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    Settings settings = Settings.of(input.readLine());
    Files.createDirectories(settings.spool());
    FileChannel lock =
        FileChannel.open(
            settings.spool().resolve("lock"),
            StandardOpenOption.CREATE,
            StandardOpenOption.WRITE);
    if (lock.tryLock() == null) {
      told.println("held");
      System.exit(HELD);
    }
    CountDownLatch allowed = new CountDownLatch(1);
    Queue<String> requests = new ConcurrentLinkedQueue<>();
    Thread ending = endOf(input, allowed, requests, settings.seal());
    System.exit(run(settings, ending, told, allowed, requests, statements));
  }

  private static int run(
      Settings settings,
      Thread ending,
      PrintStream told,
      CountDownLatch allowed,
      Queue<String> requests,
      Statements statements) {
    try {
      Capture capture = new Capture(settings, told, allowed, requests, statements);
      told.println("ready");
      capture.follow(ending);
      return 0;
    } catch (Exception failure) {
      failure.printStackTrace();
      told.println("failed " + reason(failure));
      return 1;
    }
  }

  /** Returns a thread that ends with the input: whoever started us is gone, or wants the end. */
  private static Thread endOf(
      BufferedReader input, CountDownLatch allowed, Queue<String> requests, Seal seal) {
    Thread thread =
        new Thread(
            () -> {
              try {
                for (String line = input.readLine(); line != null; line = input.readLine()) {
                  if (line.startsWith(SEAL)) {
                    seal.renew(line.substring(SEAL.length()));
                  } else if (line.startsWith("{")) {
                    requests.add(line);
                  } else {
                    allowed.countDown();
                  }
                }
              } catch (IOException gone) {
                // as good as its end
              }
            },
            "input");
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  /** Returns the first line of what the innermost failure says that says anything. */
  private static String reason(Throwable failure) {
    String told = failure.getClass().getSimpleName();
    Throwable each = failure;
    while (each != null) {
      String said = each.getMessage();
      told = said == null || said.isBlank() ? told : said;
      each = each.getCause() == each ? null : each.getCause();
    }
    return told.lines().findFirst().orElse("");
  }

  private void follow(Thread ending) throws IOException, InterruptedException {
    try (connector) {
      while (ending.isAlive()) {
        List<SourceRecord> heard = connector.poll();
        checkHeard(!heard.isEmpty());
        for (SourceRecord each : heard) {
          take(each);
          if (!spool.whole() && last != null) {
            flush();
          }
        }
        if (due() && mayFollow(ending)) {
          flush();
        } else if (!heard.isEmpty() && allowed.getCount() == 0) {
          show();
        }
        if (spool.whole() && allowed.getCount() == 0) {
          readBeside();
        }
      }
      if (spool.whole() && last != null && allowed.getCount() == 0) {
        flush();
      }
    }
  }

  /** Gives up a connection of which nothing is heard: its other end may be gone without a word. */
  private void checkHeard(boolean heard) throws IOException {
    long now = System.currentTimeMillis();
    long most = settings.silentMillis();
    if (heard && spool.whole()) {
      heardAt = now;
    } else if (spool.whole() && heardAt == NEVER) {
      heardAt = now + most; // once more as long: a server looks for the place in its log first
    }
    if (most > 0 && heardAt != NEVER && now - heardAt > most) {
      throw new IOException("nothing was heard of the log for " + most / 1000 + " s");
    }
  }

  private void take(SourceRecord record) throws IOException {
    takenAt = takenAt == NEVER ? System.currentTimeMillis() : takenAt;
    if (Lines.ends(record.sourceOffset())) {
      last = record;
    }
    Lines.Line line = lines.of(record);
    if (line != null) {
      spool.add(line.table(), line.json());
    }
  }

  /** Reads tables that are asked for, and puts their rows in place. */
  private void readBeside() throws IOException, InterruptedException {
    if (reading == null && !requests.isEmpty()) {
      Request request = Request.of(requests.remove());
      if (request.connector() == null) {
        spool.adopt(request.table(), request.rows());
        told.println("placed");
      } else {
        reading = new Reading(request, settings.fileBytes(), settings.seal());
      }
    }
    if (reading != null && reading.ended()) {
      reading.close();
      Throwable failure = reading.failure();
      told.println(failure == null ? "read" : "unread " + reason(failure));
      reading = null;
    }
  }

  private boolean due() {
    if (!spool.whole()) {
      return false;
    }
    // Who follows a file needs it in sight for a while; without, what comes first need not wait.
    long since = settings.follows() ? takenAt : flushedAt;
    boolean waited = System.currentTimeMillis() - since >= settings.flushMillis();
    return spool.full() || (last != null && waited);
  }

  /** Returns whether what follows the log may be kept: at once, but for the first time. */
  private boolean mayFollow(Thread ending) throws InterruptedException {
    if (allowed.getCount() > 0) {
      told.println("follows");
      while (ending.isAlive() && !allowed.await(ALLOWED_MS, TimeUnit.MILLISECONDS)) {}
    }
    return allowed.getCount() == 0;
  }

  private void show() throws IOException {
    check();
    spool.show();
  }

  /** Refuses to keep what follows a statement that says less than is needed. */
  private void check() throws IOException {
    history.check();
    for (String each : statements.passedOver()) {
      history.checkRows(each, "");
    }
  }

  private void flush() throws IOException, InterruptedException {
    check();
    spool.write();
    if (last != null) {
      spool.advance(last.sourcePartition(), last.sourceOffset(), lines.last());
      connector.confirm(last);
      last = null;
    }
    flushedAt = System.currentTimeMillis();
    takenAt = NEVER;
  }
}
