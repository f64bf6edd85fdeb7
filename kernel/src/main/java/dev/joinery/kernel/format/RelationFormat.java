package dev.joinery.kernel.format;

/** The format of one relation, by its name in a project file; opened where the records are. */
final class RelationFormat implements Format {
  private final RelationSpec spec;
  private final Schemas schemas;
  private transient RecordReader reader;
  private transient long logged;

  /**
   * @param schemas where the schemas of its messages are, null where they need none
   */
  RelationFormat(RelationSpec spec, Schemas schemas) {
    this.spec = spec;
    this.schemas = schemas;
  }

  /** Whether its messages name the schemas that they were written with. */
  static boolean needsSchemas(RelationSpec spec) {
    return switch (spec.format()) {
      case "debezium-json", "json" -> false;
      case "debezium-avro", "avro" -> true;
      default -> throw unknown(spec);
    };
  }

  private static IllegalArgumentException unknown(RelationSpec spec) {
    return new IllegalArgumentException(
        "relation \"" + spec.name() + "\": no format \"" + spec.format() + "\"");
  }

  private RecordReader open() {
    return switch (spec.format()) {
      case "debezium-json" -> new DebeziumJson(spec);
      case "json" -> new FlatJson(spec);
      case "debezium-avro" -> new DebeziumAvro(spec, schemas);
      case "avro" -> new FlatAvro(spec, schemas);
      default -> throw unknown(spec);
    };
  }

  @Override
  public ColumnsSeen columnsSeen() {
    return reader == null ? null : reader.decoder().row.seen;
  }

  @Override
  public void loggedAt(long micros) {
    logged = micros;
  }

  @Override
  public void decode(int relation, byte[] key, byte[] value, ChangeSink sink) {
    if (reader == null) {
      reader = open();
    }
    reader.decoder().row.logged = logged;
    try {
      if (value == null) {
        reader.decoder().tombstone(relation, key, sink);
      } else {
        reader.read(relation, key, value, sink);
      }
    } catch (Rejected rejected) {
      sink.deadLetter(relation, rejected.reason, rejected.detail());
    }
  }
}
