package dev.joinery.kernel.files;

/** Waits, unless the thread is to end. */
final class Pauses {
  private Pauses() {}

  static void rest(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException ending) {
      Thread.currentThread().interrupt();
      throw new FilesError("reading change files was broken off", ending);
    }
  }
}
