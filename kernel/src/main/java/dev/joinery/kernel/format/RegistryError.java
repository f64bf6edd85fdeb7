package dev.joinery.kernel.format;

/** A schema registry that does not answer, or does not let us in; says what to do. */
public final class RegistryError extends RuntimeException {
  RegistryError(String message) {
    super(message);
  }
}
