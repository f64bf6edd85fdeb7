package dev.joinery.kernel.door;

import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.python.PythonGatewayServer;
import org.apache.spark.scheduler.LiveListenerBus;
import org.apache.spark.scheduler.SparkListenerInterface;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.ui.SQLAppStatusListener;
import org.apache.spark.status.AppStatusListener;
import sun.misc.Signal;
import sun.misc.SignalHandler;

/**
 * The main class of a JVM that Python started itself: it opens the session while Python still reads
 * its project, and waits to be asked for it.
 *
 * <p>Spark's settings are system properties, as they are after {@code spark-submit}. The JVM ends
 * when the pipe on its standard input does.
 */
public final class Launch {
  private static final FutureTask<JavaSparkContext> OPENED = new FutureTask<>(Launch::open);

  private Launch() {}

  /** Serves Python's calls until the pipe ends; the session is opened beside it. */
  public static void main(String[] arguments) {
    // Supervisors send it to the whole group; Python takes it, and ends Spark after the batch.
    Signal.handle(new Signal("TERM"), SignalHandler.SIG_IGN);
    Thread self = Thread.currentThread();
    self.setContextClassLoader(new SessionLoader(self.getContextClassLoader()));
    Thread opening = new Thread(OPENED, "joinery-session");
    opening.setDaemon(true);
    opening.start();
    try {
      PythonGatewayServer.main(arguments);
    } catch (Throwable failure) {
      // The gateway's thread would keep a JVM alive whose Python ended before it was told where.
      failure.printStackTrace();
      System.exit(1);
    }
  }

  /**
   * Waits for the session, which is the default one, and returns its context.
   *
   * @throws Throwable why Spark did not start
   */
  public static JavaSparkContext context() throws Throwable {
    try {
      return OPENED.get();
    } catch (ExecutionException error) {
      throw error.getCause();
    }
  }

  private static JavaSparkContext open() {
    SparkSession session = SparkSession.builder().getOrCreate();
    session.sessionState();
    session.sparkContext().addSparkListener(new SpareMemory());
    if (!session.sparkContext().conf().getBoolean("spark.ui.enabled", true)) {
      forgetStatus(session.sparkContext().listenerBus());
    }
    return JavaSparkContext.fromSparkContext(session.sparkContext());
  }

  /** Without its pages nobody asks Spark what each task, stage and plan was. */
  private static void forgetStatus(LiveListenerBus bus) {
    for (SparkListenerInterface each : List.copyOf(bus.listeners())) {
      if (each instanceof AppStatusListener || each instanceof SQLAppStatusListener) {
        bus.removeListener(each);
      }
    }
  }
}
