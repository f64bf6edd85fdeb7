package dev.joinery.kernel.chain;

import dev.joinery.kernel.message.Counters;
import dev.joinery.kernel.node.Searches;
import dev.joinery.kernel.program.CompiledProgram;
import dev.joinery.kernel.program.Program;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import org.apache.spark.SparkConf;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.serializer.SerializerInstance;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * A compiled program as all tasks share it; remembers, on each worker, the nodes that tasks have
 * done with, for the next tasks, and what a task at its end has counted and not yet sent.
 *
 * <p>It travels as a broadcast, once for each worker: within a task's closure it would be written
 * and read several times a batch, and all expressions compiled again. Expressions are not made to be
 * used from several threads, so each {@link Nodes} has a program of its own.
 */
public final class SharedProgram implements Serializable {
  private final byte[] program;
  private final StateMark mark;
  private final transient ConcurrentLinkedDeque<Nodes> idle = new ConcurrentLinkedDeque<>();
  private transient volatile Program read;
  private final transient Searches searches = new Searches();
  private final transient Map<Long, Counters> counted = new ConcurrentHashMap<>();

  private SharedProgram(byte[] program, StateMark mark) {
    this.program = program;
    this.mark = mark;
  }

  public static SharedProgram of(CompiledProgram compiled, StateMark mark) {
    ByteBuffer packed = serializer().serialize(compiled, tag());
    byte[] program = new byte[packed.remaining()];
    packed.get(program);
    return new SharedProgram(program, mark);
  }

  /** What the state of the program is marked with. */
  StateMark mark() {
    return mark;
  }

  /** The program itself, a value that all threads of a worker may read. */
  public Program program() {
    if (read == null) {
      Nodes nodes = take();
      read = nodes.program();
      giveBack(nodes);
    }
    return read;
  }

  /** Gives nodes that nobody else uses until they are given back. */
  public Nodes take() {
    Nodes left = idle.pollFirst();
    return left != null ? left : new Nodes(unpacked(), searches);
  }

  /** Only after a task that has sent all it had; another's are left to be collected. */
  public void giveBack(Nodes nodes) {
    idle.addFirst(nodes);
  }

  /** Takes over what a task counted, until the same task collects it. */
  void leave(long task, Counters counters) {
    counters.drainTo(counted.computeIfAbsent(task, each -> new Counters()));
  }

  Counters collect(long task) {
    Counters counters = counted.remove(task);
    return counters != null ? counters : new Counters();
  }

  private CompiledProgram unpacked() {
    ClassLoader ours = SharedProgram.class.getClassLoader();
    return serializer().deserialize(ByteBuffer.wrap(program), ours, tag());
  }

  private static SerializerInstance serializer() {
    return new JavaSerializer(new SparkConf(false)).newInstance();
  }

  private static ClassTag<CompiledProgram> tag() {
    return ClassTag$.MODULE$.apply(CompiledProgram.class);
  }

  private Object readResolve() {
    return new SharedProgram(program, mark);
  }
}
