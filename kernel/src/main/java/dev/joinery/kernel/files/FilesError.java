package dev.joinery.kernel.files;

/** A source whose files or whose own records do not allow to go on; says what to do. */
public final class FilesError extends RuntimeException {
  FilesError(String message) {
    super(message);
  }

  FilesError(String message, Throwable cause) {
    super(message, cause);
  }
}
