package dev.joinery.kernel.door;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.joinery.kernel.format.RegistryWait;

/** Tells which schema registries tasks of this process wait for. */
public final class RegistryWaits {
  private static final ObjectMapper JSON = new ObjectMapper();

  private RegistryWaits() {}

  /** Returns, as JSON, what {@link RegistryWait#open} does. */
  public static String open() {
    return JSON.valueToTree(RegistryWait.open()).toString();
  }
}
