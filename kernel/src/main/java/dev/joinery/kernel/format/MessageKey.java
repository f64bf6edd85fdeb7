package dev.joinery.kernel.format;

/** Reads the keys of one relation's messages. */
interface MessageKey {
  /** Returns the image of a key, null or not; it is not there where the key has no columns. */
  Image scan(byte[] key);
}
