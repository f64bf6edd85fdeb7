package dev.joinery.kernel.search;

/** Why a condition is not accepted. */
final class BrokenException extends Exception {
  private static final long serialVersionUID = 1L;

  BrokenException(String message) {
    super(message);
  }
}
