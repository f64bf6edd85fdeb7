package dev.joinery.kernel.chain;

import dev.joinery.kernel.bytes.Address;
import dev.joinery.kernel.bytes.Slice;
import dev.joinery.kernel.node.Node;
import dev.joinery.kernel.node.Tracing;
import dev.joinery.kernel.spark.BytesEncoder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.StatefulProcessorHandleImpl;
import org.apache.spark.sql.execution.streaming.state.NoPrefixKeyStateEncoderSpec;
import org.apache.spark.sql.execution.streaming.state.StateStore;
import org.apache.spark.sql.execution.streaming.state.StateStoreConf;
import org.apache.spark.sql.execution.streaming.state.StateStoreId;
import org.apache.spark.sql.execution.streaming.state.StateStoreProvider;
import org.apache.spark.sql.execution.streaming.state.StateStoreProvider$;
import org.apache.spark.sql.execution.streaming.state.StateStoreProviderId;
import org.apache.spark.sql.execution.streaming.state.UnsafeRowPair;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.Tuple2;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * One partition of a level as a batch left it, outside of a query and beside whatever run goes on:
 * its nodes answer as they would in the next batch, and nothing of that is kept.
 *
 * <p>Spark's own provider reads the files of the checkpoint into a folder of this process, as for a
 * reader, so that it writes none there; what a node writes is undone once it has answered.
 */
public final class CommittedLevel implements AutoCloseable {
  private static final String STORE = StateStoreId.DEFAULT_STORE_NAME();

  private final StateStoreProvider provider;
  private final Broadcast<SharedProgram> shared;
  private final int level;
  private final long version;
  private final String id;

  /**
   * @param place of the state of the level's operator
   * @param settings of Spark's state stores, with which the state was written
   * @param version of the state, which is the number of the batch after it
   * @param id by which a commit names the state that counts; null where it names none
   */
  public CommittedLevel(
      Broadcast<SharedProgram> shared,
      int level,
      Place place,
      Map<String, String> settings,
      long version,
      String id) {
    this.shared = shared;
    this.level = level;
    this.version = version;
    this.id = id;
    SQLConf conf = new SQLConf();
    settings.forEach(conf::setConfString);
    StructType schema = new BytesEncoder().schema();
    provider =
        StateStoreProvider$.MODULE$.createAndInit(
            new StateStoreProviderId(
                new StateStoreId(place.root(), place.operator(), place.partition(), STORE),
                UUID.randomUUID()),
            schema,
            schema,
            new NoPrefixKeyStateEncoderSpec(schema),
            true,
            new StateStoreConf(conf, Map$.MODULE$.empty()),
            new Configuration(),
            false,
            Option.empty());
  }

  /** The folder of all state, and where in it a partition's is. */
  public record Place(String root, int operator, int partition) {}

  /** What the node of an address sends out of the chain at a message. */
  public List<byte[]> ask(byte[] address, byte[] message) {
    StateStore store = opened();
    try {
      Level nodes = over(store);
      List<byte[]> sent = new ArrayList<>();
      CollectionConverters.asJava(
              nodes.handleInputRows(
                  address, CollectionConverters.asScala(List.of(message).iterator()), null))
          .forEachRemaining(
              (Tuple2<byte[], byte[]> each) -> {
                if (Address.nodeOf(each._2()) < 0) {
                  sent.add(each._1());
                }
              });
      nodes.close();
      return sent;
    } finally {
      store.abort();
    }
  }

  /** Gives what the node of an address has given sinks, as messages. */
  public void show(byte[] address, Consumer<byte[]> taking) {
    StateStore store = opened();
    try {
      Level nodes = over(store);
      give(nodes, address, taking);
      nodes.close();
    } finally {
      store.abort();
    }
  }

  /** The same of all addresses that are asked for, one after the other. */
  public void showAll(Predicate<byte[]> asked, Consumer<byte[]> taking) {
    StateStore store = opened();
    try {
      Level nodes = over(store);
      byte[] last = null;
      Iterator<UnsafeRowPair> parts =
          CollectionConverters.asJava(store.iteratorWithMultiValues(MovedState.VARIABLE));
      while (parts.hasNext()) {
        byte[] address = parts.next().key().getBinary(0);
        // Patches stand behind what they are of.
        if (!Arrays.equals(address, last) && asked.test(address)) {
          give(nodes, address, taking);
        }
        last = address;
      }
      nodes.close();
    } finally {
      store.abort();
    }
  }

  /** Adds what is kept to the sizes. */
  public void measure(StateSizes sizes) {
    StateStore store = opened();
    try {
      Level nodes = over(store); // Names the variable to the store.
      byte[] last = null;
      Iterator<UnsafeRowPair> parts =
          CollectionConverters.asJava(store.iteratorWithMultiValues(MovedState.VARIABLE));
      while (parts.hasNext()) {
        UnsafeRowPair part = parts.next();
        byte[] address = part.key().getBinary(0);
        sizes.add(address, !Arrays.equals(address, last), part.value());
        last = address;
      }
      nodes.close();
    } finally {
      store.abort();
    }
  }

  /** Has the node of an address say what stands there; see {@link Node#trace}. */
  public void trace(byte[] address, Slice parent, Tracing tracing) {
    StateStore store = opened();
    try {
      Level nodes = over(store);
      nodes.trace(address, parent, tracing);
      nodes.close();
    } finally {
      store.abort();
    }
  }

  private static void give(Level nodes, byte[] address, Consumer<byte[]> taking) {
    nodes.show(address).forEachRemaining(each -> taking.accept(each._1()));
  }

  private StateStore opened() {
    // Of Spark's two providers the one of runs gives readers a whole store.
    return (StateStore) provider.getReadStore(version, Option.apply(id));
  }

  private Level over(StateStore store) {
    Level nodes = new Level(shared, level, new Counting.EachGroup());
    nodes.setHandle(handle(store));
    nodes.init(OutputMode.Update(), TimeMode.None());
    return nodes;
  }

  @SuppressWarnings("unchecked")
  private static StatefulProcessorHandleImpl handle(StateStore store) {
    return new StatefulProcessorHandleImpl(
        store,
        UUID.randomUUID(),
        (ExpressionEncoder<Object>) (ExpressionEncoder<?>) new BytesEncoder(),
        TimeMode.None(),
        true,
        Option.empty(),
        Option.empty(),
        Map$.MODULE$.empty(),
        Option.empty());
  }

  @Override
  public void close() {
    provider.close();
  }
}
