package dev.joinery.kernel;

/** The state of the address that is being handled: one value, and numbered pages. */
interface State extends Pages {
  /** The value, or null. */
  byte[] read();

  void write(byte[] value);

  void clear();
}
