package dev.joinery.kernel.format;

/** Reads the records of one relation, written in one way, on one thread. */
interface RecordReader {
  /** Which builds and tells the rows. */
  Decoder decoder();

  /**
   * Tells a sink what a record says.
   *
   * @param value not null
   * @throws Rejected if it cannot be read
   */
  void read(int relation, byte[] key, byte[] value, ChangeSink sink);
}
