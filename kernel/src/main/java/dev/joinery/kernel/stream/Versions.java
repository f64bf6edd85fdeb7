package dev.joinery.kernel.stream;

import dev.joinery.kernel.bytes.ByteReader;
import dev.joinery.kernel.bytes.ByteWriter;
import dev.joinery.kernel.bytes.Slice;
import java.util.ArrayList;
import java.util.List;

/**
 * The versions of one row, each from its time on, in the order of their times, and of one time in
 * that of their positions.
 *
 * <p>A version that came late is used only from a later time on; what stood before it is used until
 * then.
 */
final class Versions {
  private record Version(long since, long position, long usedFrom, Slice row) {
    /** Whether this one is used at all times at which an other of the same time could be. */
    boolean covers(Version other) {
      return since == other.since && usedFrom <= other.usedFrom;
    }
  }

  private final List<Version> versions = new ArrayList<>();

  static Versions read(Slice bytes) {
    Versions read = new Versions();
    ByteReader in = bytes == null ? null : new ByteReader(bytes);
    while (in != null && in.hasMore()) {
      read.versions.add(
          new Version(in.readLong(), in.readLong(), in.readLong(), in.readBlob()));
    }
    return read;
  }

  Slice toBytes() {
    ByteWriter out = new ByteWriter(256);
    for (Version each : versions) {
      out.writeLong(each.since).writeLong(each.position).writeLong(each.usedFrom);
      out.writeBlob(each.row);
    }
    return Slice.of(out.toBytes());
  }

  /** The row that is valid for an event of a time, or null before the first. */
  Slice at(long time) {
    int place = usedAt(time);
    return place < 0 ? null : versions.get(place).row;
  }

  /** The row of the last version at or before a time, late or not; null before the first. */
  Slice before(long time) {
    int place = placeOf(time);
    return place < 0 ? null : versions.get(place).row;
  }

  /** Takes a version; of one time the later position stands. True where it is used at any time. */
  boolean put(long since, long position, long usedFrom, Slice row) {
    Version taken = new Version(since, position, usedFrom, row.detach());
    int place = placeOf(since);
    while (place >= 0 && versions.get(place).since == since) {
      Version other = versions.get(place);
      if (other.position > position && other.covers(taken)) {
        return false;
      }
      if (other.position <= position && !taken.covers(other)) {
        break;
      }
      if (other.position <= position) {
        versions.remove(place);
      }
      place--;
    }
    versions.add(place + 1, taken);
    return true;
  }

  /** Forgets the versions that ended before a time: all before the one that is used then. */
  void forgetBefore(long time) {
    int place = usedAt(time);
    if (place > 0) {
      versions.subList(0, place).clear();
    }
  }

  private int usedAt(long time) {
    int place = placeOf(time);
    while (place >= 0 && versions.get(place).usedFrom > time) {
      place--;
    }
    return place;
  }

  /** The last version at or before a time, -1 where there is none. */
  private int placeOf(long time) {
    int low = 0;
    int high = versions.size();
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (versions.get(middle).since <= time) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low - 1;
  }
}
