package dev.joinery.kernel.stream;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What a store said, on its way to the tasks. */
class AnswersTest {
  private static Slice key(int number) {
    return Slice.of(new ByteWriter(8).writeInt(number).toBytes());
  }

  private static Answers sent(Answers answers) throws IOException, ClassNotFoundException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(answers);
    }
    byte[] written = bytes.toByteArray();
    try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(written))) {
      return (Answers) in.readObject();
    }
  }

  @Test
  void aTaskGetsWhatTheStoreSaid() throws Exception {
    Map<Slice, byte[]> cells = new HashMap<>();
    for (int i = 0; i < 1000; i++) {
      cells.put(key(i), new byte[] {(byte) i, 7});
    }

    Answers got = sent(new Answers(cells, Map.of(key(2000), "column \"é\" holds a text")));

    for (int i = 0; i < 1000; i++) {
      assertArrayEquals(new byte[] {(byte) i, 7}, got.state(key(i)).read());
    }
    assertNull(got.state(key(1500)).read());
    assertNull(got.unfit(key(7)));
    assertEquals("column \"é\" holds a text", got.unfit(key(2000)));
  }

  @Test
  void noAnswersAreSentAsNone() throws Exception {
    Answers got = sent(new Answers(Map.of(), Map.of()));

    assertNull(got.state(key(1)).read());
    assertNull(got.unfit(key(1)));
  }
}
