package dev.joinery.kernel.egress;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class FenceTest {
  @TempDir private Path folder;
  private Path lease;
  private Fence fence;

  @BeforeEach
  void holdTheLease() throws IOException {
    lease = folder.resolve("query.lease");
    Files.writeString(lease, "{\"owner\": \"me\"}");
    fence = new Fence(lease.toString(), "me");
  }

  @Test
  void theHolderPasses() {
    assertDoesNotThrow(fence::check);
  }

  @Test
  void aRunThatWasReplacedIsRefusedOnceItsLookIsOld() throws Exception {
    fence.check();
    Files.writeString(lease, "{\"owner\": \"other\"}");
    Thread.sleep(Fence.TRUST_MILLIS + 1);

    assertThrows(IllegalStateException.class, fence::check);
  }

  @Test
  void aRunThatGaveItsLeaseBackIsRefused() throws IOException {
    Files.writeString(lease, "{\"owner\": \"me\", \"released\": false}");
    assertDoesNotThrow(fence::checkNow);
    Files.writeString(lease, "{\"owner\": \"me\", \"released\": true}");

    assertThrows(IllegalStateException.class, fence::checkNow);
  }

  @Test
  void aCommitLooksAnewHoweverFreshTheLastLook() throws IOException {
    fence.check();
    Files.writeString(lease, "{\"owner\": \"other\"}");

    assertThrows(IllegalStateException.class, fence::checkNow);
  }

  @Test
  void aLeaseThatIsNotSharedWithThisMachineStopsNothing() {
    assertDoesNotThrow(new Fence(folder.resolve("absent").toString(), "me")::checkNow);
  }
}
