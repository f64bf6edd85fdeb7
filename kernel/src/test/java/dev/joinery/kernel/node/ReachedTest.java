package dev.joinery.kernel.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.joinery.kernel.message.Marks;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Which windows were closed at the ends of logs. */
class ReachedTest {
  @Test
  void aWindowWasClosedAtAnyEndThatItHadBegunByAndTheWatermarkHadNotReached() {
    Random random = new Random(3);
    for (int round = 0; round < 200; round++) {
      List<Reached.End> ends = ends(random);
      Reached reached = new Reached(Marks.UNKNOWN, ends);
      for (int each = 0; each < 50; each++) {
        long start = random.nextInt(120);
        long end = start + 1 + random.nextInt(20);
        long allowed = random.nextInt(3);
        boolean closed =
            ends.stream()
                .anyMatch(at -> start <= at.newest() && end + allowed > at.watermark());
        assertEquals(closed, reached.hasEnded(start, end, allowed), ends + " " + start);
      }
    }
  }

  private static List<Reached.End> ends(Random random) {
    List<Reached.End> ends = new ArrayList<>();
    long watermark = random.nextBoolean() ? Marks.UNKNOWN : random.nextInt(10);
    long newest = random.nextInt(10);
    for (int left = random.nextInt(6); left > 0; left--) {
      ends.add(new Reached.End(watermark, newest));
      watermark = watermark == Marks.UNKNOWN ? newest : watermark + random.nextInt(20);
      newest = Math.max(newest + random.nextInt(30), watermark);
    }
    return ends;
  }
}
