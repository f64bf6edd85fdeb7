package dev.joinery.kernel.door;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.InvocationTargetException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * Runs the {@code main} of one class after the other, each with an input and an output of its own:
 * what tests of Python ask of a process each, one process answers (tests/warm_doors.py).
 *
 * <p>Its input has the name of a class, then what that reads; its output what that writes. All are
 * parts with their length in front, as an int. An empty part ends an input; a length of -1 ends an
 * output, and a last part behind it tells the error, empty where there was none.
 */
public final class WarmDoors {
  public static void main(String[] arguments) throws IOException {
    DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
    DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out));
    for (byte[] door = part(in); door.length > 0; door = part(in)) {
      InputStream its = new Parts(in);
      System.setIn(its);
      System.setOut(new PrintStream(new BufferedOutputStream(new InParts(out))));
      byte[] error = run(new String(door, StandardCharsets.UTF_8));
      System.out.flush();
      out.writeInt(-1);
      out.writeInt(error.length);
      out.write(error);
      out.flush();
      its.readAllBytes(); // Who asks may be told of the end before it ends its questions.
    }
  }

  /** Runs a class; returns what a process would write of its end. */
  private static byte[] run(String door) {
    try {
      Class.forName(door).getMethod("main", String[].class).invoke(null, (Object) new String[0]);
      return new byte[0];
    } catch (InvocationTargetException error) {
      StringWriter told = new StringWriter().append("Exception in thread \"main\" ");
      error.getCause().printStackTrace(new PrintWriter(told));
      return told.toString().getBytes(StandardCharsets.UTF_8);
    } catch (ReflectiveOperationException error) {
      throw new IllegalArgumentException(error);
    }
  }

  /** The next part; an empty one at the end of all. */
  private static byte[] part(DataInputStream in) throws IOException {
    byte[] length = in.readNBytes(4);
    return length.length < 4 ? new byte[0] : in.readNBytes(ByteBuffer.wrap(length).getInt());
  }

  /** The parts up to an empty one, as they come. */
  private static final class Parts extends InputStream {
    private final DataInputStream in;
    private byte[] part = new byte[0];
    private int at;
    private boolean ended;

    Parts(DataInputStream in) {
      this.in = in;
    }

    @Override
    public int read() throws IOException {
      return available() == 0 && !more() ? -1 : part[at++] & 0xff;
    }

    @Override
    public int read(byte[] target, int offset, int most) throws IOException {
      if (most == 0 || (available() == 0 && !more())) {
        return most == 0 ? 0 : -1;
      }
      int size = Math.min(most, available());
      System.arraycopy(part, at, target, offset, size);
      at += size;
      return size;
    }

    @Override
    public int available() {
      return part.length - at;
    }

    private boolean more() throws IOException {
      part = ended ? part : part(in);
      ended = ended || part.length == 0;
      at = ended ? part.length : 0;
      return !ended;
    }
  }

  /** Writes each flush of an output as a part. */
  private static final class InParts extends OutputStream {
    private final DataOutputStream out;

    InParts(DataOutputStream out) {
      this.out = out;
    }

    @Override
    public void write(int one) throws IOException {
      write(new byte[] {(byte) one}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int size) throws IOException {
      if (size > 0) {
        out.writeInt(size);
        out.write(bytes, offset, size);
      }
    }

    @Override
    public void flush() throws IOException {
      out.flush();
    }
  }

  private WarmDoors() {}
}
