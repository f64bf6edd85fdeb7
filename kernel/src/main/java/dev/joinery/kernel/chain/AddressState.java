package dev.joinery.kernel.chain;

import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.state.AddressValues;
import dev.joinery.kernel.state.Expiry;
import dev.joinery.kernel.state.State;
import java.util.function.ToLongFunction;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;

/**
 * The state of one address of a level: its values, and what the level forgets and wakes for it.
 *
 * @param forgetting hears what is forgotten now
 */
record AddressState(
    AddressValues values,
    Expiry expiry,
    Expiry forgetting,
    Level.WindowExpiry[] windows,
    LevelDeadlines deadlines,
    StatefulProcessorHandle handle,
    byte[] address)
    implements State {
  @Override
  public byte[] read() {
    return values.read();
  }

  @Override
  public void write(byte[] bytes) {
    values.write(bytes);
  }

  @Override
  public void clear() {
    values.clear();
  }

  @Override
  public void forget(long number) {
    values.clear();
    forgetting.forgotten(number);
  }

  @Override
  public long highestForgotten() {
    return highest(Expiry::highest);
  }

  @Override
  public long highestForgottenBefore() {
    return highest(Expiry::highestBefore);
  }

  private long highest(ToLongFunction<Expiry> number) {
    long highest = number.applyAsLong(expiry);
    for (Level.WindowExpiry each : windows) {
      highest = each == null ? highest : Math.max(highest, number.applyAsLong(each.expiry()));
    }
    return highest;
  }

  @Override
  public long watermark(int relation) {
    return windows[relation].watermark();
  }

  @Override
  public void expireAtWatermark(int relation, long time, Slice entry) {
    windows[relation].expiry().noteLater(address, entry, time);
  }

  @Override
  public void expireAfter(long timestamp, Slice entry) {
    expiry.note(address, entry, timestamp);
  }

  @Override
  public void expireAfter(long timestamp, long spanMicros, Slice entry) {
    expiry.note(address, entry, timestamp, spanMicros);
  }

  @Override
  public boolean hasPassed(int closing, long time) {
    return deadlines.hasPassed(closing, time);
  }

  @Override
  public boolean hasCome(int closing, long time) {
    return deadlines.hasCome(closing, time, address);
  }

  @Override
  public byte[] get(int page) {
    return values.get(page);
  }

  @Override
  public void put(int page, byte[] bytes) {
    values.put(page, bytes);
  }

  @Override
  public void remove(int page) {
    values.remove(page);
  }

  /** Never before its time, which Spark knows in milliseconds. */
  @Override
  public void wakeAt(long timestamp) {
    ImplicitGroupingKeyTracker.setImplicitKey(address);
    handle.registerTimer(Math.floorDiv(timestamp + 999, 1000));
  }
}
