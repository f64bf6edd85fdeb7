package dev.joinery.kernel.format;

/** Says why a record becomes a dead letter; holds no value of the record. */
final class Rejected extends RuntimeException {
  static final String UNDECODABLE = "undecodable";
  static final String WRONG_TYPE = "wrong_type";
  static final String OUT_OF_RANGE = "out_of_range";
  static final String KEY_MISSING = "key_missing";
  static final String TRUNCATE = "truncate";
  static final String WRONG_FORMAT = "wrong_format";

  final String reason;
  private final String path;
  private final String what;

  private Rejected(String reason, String path, String what) {
    super(null, null, false, false);
    this.reason = reason;
    this.path = path;
    this.what = what;
  }

  static Rejected undecodable(String what) {
    return new Rejected(UNDECODABLE, "", what);
  }

  static Rejected wrongType(String what) {
    return new Rejected(WRONG_TYPE, "", what);
  }

  static Rejected outOfRange(String what) {
    return new Rejected(OUT_OF_RANGE, "", what);
  }

  static Rejected keyMissing(String what) {
    return new Rejected(KEY_MISSING, "", what);
  }

  static Rejected truncate(String what) {
    return new Rejected(TRUNCATE, "", what);
  }

  static Rejected wrongFormat(String what) {
    return new Rejected(WRONG_FORMAT, "", what);
  }

  /** The same, inside {@code outer}: a column, a field, {@code []} for an element. */
  Rejected in(String outer) {
    String inner = path.isEmpty() || path.startsWith("[") ? path : "." + path;
    return new Rejected(reason, outer + inner, what);
  }

  String detail() {
    return path.isEmpty() ? what : "column \"" + path + "\": " + what;
  }

  @Override
  public String getMessage() {
    return reason + ": " + detail();
  }
}
