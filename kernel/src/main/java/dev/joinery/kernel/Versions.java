package dev.joinery.kernel;

import java.util.ArrayList;
import java.util.List;

/** The versions of one row, each from its time on, in the order of their times. */
final class Versions {
  private record Version(long since, long position, Slice row) {}

  private final List<Version> versions = new ArrayList<>();

  static Versions read(Slice bytes) {
    Versions read = new Versions();
    ByteReader in = bytes == null ? null : new ByteReader(bytes);
    while (in != null && in.hasMore()) {
      read.versions.add(new Version(in.readLong(), in.readLong(), in.readBlob()));
    }
    return read;
  }

  Slice toBytes() {
    ByteWriter out = new ByteWriter(256);
    for (Version each : versions) {
      out.writeLong(each.since).writeLong(each.position).writeBlob(each.row);
    }
    return Slice.of(out.toBytes());
  }

  /** The row that is valid at a time, or null before the first. */
  Slice at(long time) {
    int place = placeOf(time);
    return place < 0 ? null : versions.get(place).row;
  }

  /** Takes a version; of one time the later position stands. True where it is one. */
  boolean put(long since, long position, Slice row) {
    int place = placeOf(since);
    Version taken = new Version(since, position, row.detach());
    if (place >= 0 && versions.get(place).since == since) {
      if (position < versions.get(place).position) {
        return false;
      }
      versions.set(place, taken);
    } else {
      versions.add(place + 1, taken);
    }
    return true;
  }

  /** Forgets the versions that ended before a time: all but the last at or before it. */
  void forgetBefore(long time) {
    int place = placeOf(time);
    if (place > 0) {
      versions.subList(0, place).clear();
    }
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
