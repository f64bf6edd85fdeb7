package dev.joinery.kernel;

/** The state of the address that is being handled: one value, and numbered pages. */
interface State extends Pages {
  /** The value, or null. */
  byte[] read();

  void write(byte[] value);

  void clear();

  /** Has the node called once a time in microseconds has come; asked again, it is called twice. */
  default void wakeAt(long timestamp) {
    throw new UnsupportedOperationException("a level without timers");
  }
}
