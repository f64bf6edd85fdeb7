package dev.joinery.kernel.door;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class SessionLoaderTest {
  private static final String SERVICE =
      "META-INF/services/org.apache.spark.sql.SparkSessionExtensionsProvider";
  private static final ClassLoader SPARK = SessionLoaderTest.class.getClassLoader();

  @Test
  void the_extension_of_machine_learning_is_hidden() throws IOException {
    assertTrue(SPARK.getResources(SERVICE).hasMoreElements(), "Spark brings none any more");

    assertEquals(List.of(), found(new SessionLoader(SPARK), SERVICE));
  }

  @Test
  void extensions_of_others_are_found(@TempDir Path folder) throws IOException {
    Path service = folder.resolve(SERVICE);
    Files.createDirectories(service.getParent());
    Files.writeString(service, "org.example.Extension");

    try (URLClassLoader parent = new URLClassLoader(new URL[] {url(folder)}, SPARK)) {
      assertEquals(List.of(url(service)), found(new SessionLoader(parent), SERVICE));
    }
    try (SessionLoader loader = new SessionLoader(SPARK)) {
      loader.addURL(url(folder));
      assertEquals(List.of(url(service)), found(loader, SERVICE));
    }
  }

  @Test
  void all_else_is_found_as_by_its_parent() throws IOException {
    String other = "META-INF/services/org.apache.spark.sql.sources.DataSourceRegister";

    assertEquals(Collections.list(SPARK.getResources(other)), found(new SessionLoader(SPARK), other));
  }

  private static List<URL> found(ClassLoader loader, String name) throws IOException {
    return Collections.list(loader.getResources(name));
  }

  private static URL url(Path path) throws IOException {
    return path.toUri().toURL();
  }
}
