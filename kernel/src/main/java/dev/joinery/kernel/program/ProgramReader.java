package dev.joinery.kernel.program;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.annotation.JsonDeserialize;
import com.fasterxml.jackson.databind.exc.InvalidTypeIdException;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.module.SimpleModule;
import dev.joinery.kernel.bytes.TypeText;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** Reads a program from the JSON that the planner writes; types are Spark DDL text. */
public final class ProgramReader {
  private ProgramReader() {}

  public static Program read(String json) {
    Types types = new Types();
    JsonMapper mapper =
        JsonMapper.builder()
            .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
            .enable(MapperFeature.ACCEPT_CASE_INSENSITIVE_ENUMS)
            .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
            .addMixIn(DataType.class, NotSparksJson.class)
            .addMixIn(StructType.class, NotSparksJson.class)
            .addModule(
                new SimpleModule()
                    .addDeserializer(DataType.class, types)
                    .addDeserializer(StructType.class, types.structs()))
            .build();
    try {
      return mapper.readValue(json, Program.class);
    } catch (InvalidTypeIdException unknown) {
      String base = unknown.getBaseType().getRawClass().getSimpleName();
      throw new IllegalArgumentException("no " + base + " of kind " + unknown.getTypeId(), unknown);
    } catch (JsonProcessingException error) {
      throw new IllegalArgumentException(
          "the kernel cannot read its program: " + error.getOriginalMessage(), error);
    }
  }

  /** Spark annotates its types to be read from JSON of another form. */
  @JsonDeserialize(using = JsonDeserializer.None.class)
  private interface NotSparksJson {}

  /** Parses each text of a type once: few are said, many times. */
  private static final class Types extends JsonDeserializer<DataType> {
    private final Map<String, DataType> known = new HashMap<>();

    @Override
    public DataType deserialize(JsonParser parser, DeserializationContext context)
        throws IOException {
      return known.computeIfAbsent(parser.getText(), TypeText::read);
    }

    JsonDeserializer<StructType> structs() {
      return new JsonDeserializer<>() {
        @Override
        public StructType deserialize(JsonParser parser, DeserializationContext context)
            throws IOException {
          return (StructType) Types.this.deserialize(parser, context);
        }
      };
    }
  }
}
