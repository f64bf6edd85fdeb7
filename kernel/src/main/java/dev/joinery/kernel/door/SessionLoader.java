package dev.joinery.kernel.door;

import java.io.IOException;
import java.net.URL;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;
import org.apache.spark.util.MutableURLClassLoader;

/**
 * Takes the jars of a session, and hides from it what Spark's machine learning adds to each: to
 * register its two functions starts Scala's reflection, a sixth of a short run.
 *
 * <p>Extensions that others have put beside Spark's jars are found as ever.
 */
final class SessionLoader extends MutableURLClassLoader {
  private static final String EXTENSIONS =
      "META-INF/services/org.apache.spark.sql.SparkSessionExtensionsProvider";
  private static final String MACHINE_LEARNING = "/spark-mllib_";

  static {
    registerAsParallelCapable(); // As its parent class is, of which it does not inherit that.
  }

  SessionLoader(ClassLoader parent) {
    super(new URL[0], parent);
  }

  @Override
  public Enumeration<URL> getResources(String name) throws IOException {
    Enumeration<URL> found = super.getResources(name);
    if (!name.equals(EXTENSIONS)) {
      return found;
    }
    List<URL> kept = Collections.list(found);
    kept.removeIf(each -> each.getPath().contains(MACHINE_LEARNING));
    return Collections.enumeration(kept);
  }
}
