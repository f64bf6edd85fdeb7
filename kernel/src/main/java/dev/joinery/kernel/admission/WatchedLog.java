package dev.joinery.kernel.admission;

/** A log that tells from other threads whether there is more to read. */
public interface WatchedLog {
  /** Whether it had nothing new when the query last looked; false before it ever did. */
  boolean hadNothing();
}
