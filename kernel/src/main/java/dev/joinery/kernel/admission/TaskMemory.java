package dev.joinery.kernel.admission;

import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.Map;

/** Tells how much memory the tasks of this application share: sorts, shuffles and what is kept. */
public final class TaskMemory {
  private TaskMemory() {}

  /** Returns the bytes of all executors; of the driver, where it is the only one. */
  public static long bytes() {
    Map<String, Tuple2<Object, Object>> status =
        SparkContext.getOrCreate().getExecutorMemoryStatus();
    String driver = SparkEnv.get().blockManager().blockManagerId().hostPort();
    long ofDriver = 0;
    long ofOthers = 0;
    Iterator<Tuple2<String, Tuple2<Object, Object>>> each = status.iterator();
    while (each.hasNext()) {
      Tuple2<String, Tuple2<Object, Object>> next = each.next();
      long most = (long) next._2()._1();
      if (next._1().equals(driver)) {
        ofDriver = most;
      } else {
        ofOthers += most;
      }
    }
    return ofOthers > 0 ? ofOthers : ofDriver;
  }
}
