package dev.joinery.kernel.spark;

import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.util.Random;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statevariables.ValueStateImpl;
import org.apache.spark.sql.execution.streaming.state.NoPrefixKeyStateEncoderSpec;
import org.apache.spark.sql.execution.streaming.state.StateStore;
import org.apache.spark.sql.execution.streaming.state.StateStoreConf;
import org.apache.spark.sql.execution.streaming.state.StateStoreId;
import org.apache.spark.sql.execution.streaming.state.StateStoreProvider;
import org.apache.spark.sql.execution.streaming.state.StateStoreProvider$;
import org.apache.spark.sql.execution.streaming.state.StateStoreProviderId;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.Map$;

/** Prints what an access to state costs one core, by three ways to it; run by hand. */
final class StateRate {
  private static final StructType BYTES = new StructType().add("value", DataTypes.BinaryType);
  private static final String NAME = "value";
  private static final int KEYS = 200_000;
  private static final int TOGETHER = 64;

  private StateRate() {}

  public static void main(String[] arguments) throws Exception {
    StateStore store = provider().getStore(0, Option.empty(), false, false);
    store.createColFamilyIfAbsent(
        NAME, BYTES, BYTES, new NoPrefixKeyStateEncoderSpec(BYTES), false, false);
    ValueStateImpl<byte[]> variable =
        new ValueStateImpl<>(store, NAME, encoder(), encoder(), Map$.MODULE$.empty());
    byte[][] keys = keys();
    byte[] value = new byte[480];
    new Random(1).nextBytes(value);
    for (int round = 0; round < 6; round++) {
      System.out.printf(
          "put: variable %.2f, store %.2f; get: variable %.2f, store %.2f, multiGet %.2f µs%n",
          micros(() -> putByVariable(variable, keys, value)),
          micros(() -> putByStore(store, keys, value)),
          micros(() -> getByVariable(variable, keys)),
          micros(() -> getByStore(store, keys)),
          micros(() -> getTogether(store, keys)));
    }
    store.abort();
    System.exit(0);
  }

  private static double micros(Runnable pass) {
    long start = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    pass.run();
    return (ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - start) / 1e3 / KEYS;
  }

  private static void putByVariable(ValueStateImpl<byte[]> state, byte[][] keys, byte[] value) {
    for (byte[] key : keys) {
      ImplicitGroupingKeyTracker.setImplicitKey(key);
      state.update(value);
    }
  }

  private static void putByStore(StateStore store, byte[][] keys, byte[] value) {
    UnsafeRowWriter at = new UnsafeRowWriter(1, 256);
    UnsafeRowWriter bytes = new UnsafeRowWriter(1, 1024);
    for (byte[] key : keys) {
      store.put(row(at, key), row(bytes, value), NAME);
    }
  }

  private static void getByVariable(ValueStateImpl<byte[]> state, byte[][] keys) {
    for (byte[] key : keys) {
      ImplicitGroupingKeyTracker.setImplicitKey(key);
      taken(state.get());
    }
  }

  private static void getByStore(StateStore store, byte[][] keys) {
    UnsafeRowWriter at = new UnsafeRowWriter(1, 256);
    for (byte[] key : keys) {
      taken(store.get(row(at, key), NAME).getBinary(0));
    }
  }

  private static void getTogether(StateStore store, byte[][] keys) {
    UnsafeRowWriter at = new UnsafeRowWriter(1, 256);
    for (int first = 0; first < keys.length; first += TOGETHER) {
      UnsafeRow[] rows = new UnsafeRow[TOGETHER];
      for (int i = 0; i < TOGETHER; i++) {
        rows[i] = row(at, keys[first + i]).copy();
      }
      Iterator<UnsafeRow> found = store.multiGet(rows, NAME);
      while (found.hasNext()) {
        taken(found.next().getBinary(0));
      }
    }
  }

  private static void taken(byte[] bytes) {
    if (bytes.length == 0) {
      throw new IllegalStateException("nothing there");
    }
  }

  private static UnsafeRow row(UnsafeRowWriter writer, byte[] bytes) {
    writer.reset();
    writer.zeroOutNullBytes();
    writer.write(0, bytes);
    return writer.getRow();
  }

  /** In the order in which a level has them. */
  private static byte[][] keys() {
    Random random = new Random(2);
    byte[][] keys = new byte[KEYS / TOGETHER * TOGETHER][40];
    for (byte[] key : keys) {
      random.nextBytes(key);
    }
    java.util.Arrays.sort(keys, java.util.Arrays::compareUnsigned);
    return keys;
  }

  @SuppressWarnings("unchecked")
  private static ExpressionEncoder<Object> encoder() {
    return (ExpressionEncoder<Object>) (ExpressionEncoder<?>) new BytesEncoder();
  }

  private static StateStoreProvider provider() throws Exception {
    SQLConf conf = new SQLConf();
    String settings = "spark.sql.streaming.stateStore.";
    conf.setConfString(
        settings + "providerClass",
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider");
    conf.setConfString(settings + "rocksdb.trackTotalNumberOfRows", "false");
    conf.setConfString(settings + "rocksdb.changelogCheckpointing.enabled", "true");
    StateStoreId id =
        new StateStoreId(Files.createTempDirectory("state").toString(), 0, 0, "default");
    return StateStoreProvider$.MODULE$.createAndInit(
        new StateStoreProviderId(id, UUID.randomUUID()),
        BYTES,
        BYTES,
        new NoPrefixKeyStateEncoderSpec(BYTES),
        true,
        new StateStoreConf(conf, Map$.MODULE$.empty()),
        new Configuration(),
        false,
        Option.empty());
  }
}
