import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;

/** Prints the samples of a flight recording: how many, thread, frames from the innermost out. */
final class Samples {
  private static final List<String> KINDS =
      List.of("jdk.ExecutionSample", "jdk.NativeMethodSample");

  public static void main(String[] arguments) throws Exception {
    Map<String, Integer> counts = new HashMap<>();
    try (RecordingFile recording = new RecordingFile(Path.of(arguments[0]))) {
      while (recording.hasMoreEvents()) {
        RecordedEvent event = recording.readEvent();
        if (KINDS.contains(event.getEventType().getName()) && event.getStackTrace() != null) {
          counts.merge(told(event), 1, Integer::sum);
        }
      }
    }
    counts.forEach((told, count) -> System.out.println(count + "\t" + told));
  }

  private static String told(RecordedEvent event) {
    String frames =
        event.getStackTrace().getFrames().stream()
            .filter(RecordedFrame::isJavaFrame)
            .map(each -> each.getMethod().getType().getName() + "." + each.getMethod().getName())
            .collect(Collectors.joining(";"));
    RecordedThread thread = event.getThread("sampledThread");
    return (thread == null ? "" : thread.getJavaName()) + "\t" + frames;
  }
}
