package dev.joinery.kernel.state;

import dev.joinery.kernel.bytes.Slice;
import java.util.Arrays;
import java.util.Iterator;

/**
 * Values under addresses, each a whole one and patches behind it: what is written of a value that
 * changed in a few places is as large as these.
 *
 * <p>A value is written whole again once its patches are many or large together, so what is written
 * of it is, for each change, the change and a fraction of the value, and reading it takes little
 * more than the value.
 */
public final class PatchedValues implements Expiry.Store {
  /** Of a smaller value a patch saves nothing. */
  private static final int LEAST_BYTES = 256;
  /** One for so many bytes of the value, within bounds. */
  private static final int BYTES_A_PATCH = 256;

  private static final int FEW_PATCHES = 32;
  private static final int MANY_PATCHES = Byte.MAX_VALUE;

  /** Parts under addresses, in the order in which they were put there. */
  public interface Parts {
    /** The parts of an address; none where nothing is there. */
    Iterator<Slice> get(byte[] address);

    /** Puts a part in place of all that are there. */
    void put(byte[] address, byte[] part);

    /** Adds a part behind those that are there. */
    void append(byte[] address, byte[] part);

    void remove(byte[] address);
  }

  /**
   * A value as it stands.
   *
   * @param whole how many bytes the whole one has, which may have been larger than the value is
   * @param patches how many there are behind it, and {@code patchBytes} their bytes
   */
  public record Standing(byte[] value, int whole, int patches, int patchBytes) {
    static Standing whole(byte[] value) {
      return new Standing(value, value.length, 0, 0);
    }
  }

  private final Parts parts;

  public PatchedValues(Parts parts) {
    this.parts = parts;
  }

  /** What was put there whole; what is written by {@link #write} is read by {@link #read}. */
  @Override
  public byte[] get(byte[] address) {
    Iterator<Slice> stored = parts.get(address);
    return stored.hasNext() ? stored.next().toBytes() : null;
  }

  @Override
  public void put(byte[] address, byte[] bytes) {
    parts.put(address, bytes);
  }

  @Override
  public void remove(byte[] address) {
    parts.remove(address);
  }

  /** The value of an address, or null. */
  public Standing read(byte[] address) {
    Iterator<Slice> stored = parts.get(address);
    if (!stored.hasNext()) {
      return null;
    }
    Slice whole = stored.next();
    if (!stored.hasNext()) {
      return Standing.whole(whole.toBytes());
    }
    Pieces pieces = new Pieces(whole);
    int patchBytes = 0;
    while (stored.hasNext()) {
      Slice patch = stored.next();
      pieces.apply(patch);
      patchBytes += patch.length();
    }
    return new Standing(pieces.toBytes(), whole.length(), pieces.patches(), patchBytes);
  }

  /**
   * Writes the next value of an address.
   *
   * @param standing what was read there, and is there still; null where nothing is known of it
   * @return what stands there now
   */
  public Standing write(byte[] address, Standing standing, byte[] value) {
    if (standing != null && Arrays.equals(standing.value(), value)) {
      return standing;
    }
    byte[] patch = standing == null ? null : patch(standing, value);
    if (patch == null) {
      parts.put(address, value);
      return Standing.whole(value);
    }
    parts.append(address, patch);
    int patchBytes = standing.patchBytes() + patch.length;
    return new Standing(value, standing.whole(), standing.patches() + 1, patchBytes);
  }

  private static byte[] patch(Standing standing, byte[] value) {
    int most = Math.min(MANY_PATCHES, Math.max(FEW_PATCHES, value.length / BYTES_A_PATCH));
    if (value.length < LEAST_BYTES || standing.patches() >= most) {
      return null;
    }
    int stands = standing.whole() + standing.patchBytes();
    int room = Math.min(2 * value.length - stands, value.length / 2);
    return room <= 0 ? null : Patch.between(standing.value(), value, standing.patches(), room);
  }
}
