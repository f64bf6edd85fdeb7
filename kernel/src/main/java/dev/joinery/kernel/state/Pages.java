package dev.joinery.kernel.state;

/** Numbered pages of one address; a page that was never put, or was removed, is null. */
public interface Pages {
  byte[] get(int page);

  void put(int page, byte[] bytes);

  void remove(int page);
}
