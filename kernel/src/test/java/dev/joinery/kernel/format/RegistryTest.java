package dev.joinery.kernel.format;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.avro.Schema;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Against a server that fails on demand; a real registry is asked in the tests of services. */
class RegistryTest {
  private static final String SCHEMA =
      "{\"type\":\"record\",\"name\":\"t\",\"fields\":[{\"name\":\"id\",\"type\":\"int\"}]}";

  private record Reply(int status, String body) {}

  private static final String SUBJECTS = "[\"t-value\"]";

  private final Queue<Reply> replies = new ArrayDeque<>();

  /** By path, what is always answered. */
  private final Map<String, Reply> standing = new ConcurrentHashMap<>();

  private final List<String> asked = Collections.synchronizedList(new ArrayList<>());
  private volatile Runnable onRequest = () -> {};
  private HttpServer server;

  @BeforeEach
  void start() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", this::answer);
    server.start();
  }

  @AfterEach
  void stop() {
    server.stop(0);
  }

  private void answer(HttpExchange exchange) throws IOException {
    String authorization = exchange.getRequestHeaders().getFirst("Authorization");
    asked.add(
        exchange.getRequestURI().getRawPath() + (authorization == null ? "" : " " + authorization));
    onRequest.run();
    Reply always = standing.get(exchange.getRequestURI().getRawPath());
    Reply reply = always != null ? always : replies.remove();
    byte[] body = reply.body.getBytes(StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(reply.status, body.length);
    exchange.getResponseBody().write(body);
    exchange.close();
  }

  private String url() {
    return "http://127.0.0.1:" + server.getAddress().getPort();
  }

  private Registry registry(String... more) throws IOException {
    return registry(url(), 20_000, more);
  }

  /** {@code more} are names and values of further options. */
  private static Registry registry(String url, long waitMillis, String... more)
      throws IOException {
    ObjectNode options = new ObjectMapper().createObjectNode();
    options.put("url", url).put("waitMillis", waitMillis);
    for (int i = 0; i < more.length; i += 2) {
      options.put(more[i], more[i + 1]);
    }
    return new Registry(RegistryOptions.of(options));
  }

  private static String found(String schema, String more) {
    return "{\"schema\":" + new ObjectMapper().valueToTree(schema) + more + "}";
  }

  @Test
  void aSchemaIsAskedForOnce() throws IOException {
    replies.add(new Reply(200, found(SCHEMA, "")));
    Registry registry = registry();

    Schema first = registry.schema(7);

    assertSame(first, registry.schema(7));
    assertEquals("t", first.getName());
    assertEquals(List.of("/schemas/ids/7"), asked);
  }

  @Test
  void aRegistryThatIsOverloadedIsAskedAgain() throws IOException {
    replies.add(new Reply(503, ""));
    replies.add(new Reply(500, "{\"error_code\":50001}"));
    replies.add(new Reply(429, ""));
    replies.add(new Reply(200, found(SCHEMA, "")));

    assertEquals("t", registry().schema(7).getName());
    assertEquals(4, asked.size());
  }

  @Test
  void aRegistryThatIsDownIsWaitedForToABound() throws IOException {
    int port;
    try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = free.getLocalPort();
    }
    Registry registry = registry("http://127.0.0.1:" + port, 300);

    RegistryError error = assertThrows(RegistryError.class, () -> registry.schema(7));

    assertEquals(
        "could not get schema 7 from the schema registry http://127.0.0.1:"
            + port
            + " within 0.3 s: it cannot be connected to",
        error.getMessage());
  }

  @Test
  void theNextUrlIsAskedWhereOneDoesNotAnswer() throws IOException {
    int port;
    try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = free.getLocalPort();
    }
    replies.add(new Reply(200, found(SCHEMA, "")));

    Registry registry = registry("http://127.0.0.1:" + port + ", " + url() + "/", 20_000);

    assertEquals("t", registry.schema(7).getName());
  }

  @Test
  void anIdThatTheRegistryDoesNotHaveIsRejectedAndNotAskedForAgainSoon() throws IOException {
    replies.add(new Reply(404, "{\"error_code\":40403,\"message\":\"no\"}"));
    Registry registry = registry();

    assertEquals(
        "undecodable: schema 7 is not in the schema registry",
        assertThrows(Rejected.class, () -> registry.schema(7)).getMessage());
    assertThrows(Rejected.class, () -> registry.schema(7));
    assertEquals(1, asked.size());
  }

  @Test
  void aWrongUrlIsNoMissingSchema() throws IOException {
    replies.add(new Reply(404, "{\"error_code\":404,\"message\":\"HTTP 404 Not Found\"}"));
    replies.add(new Reply(404, "<html>nothing here</html>"));
    replies.add(new Reply(404, "<html>nothing here</html>"));
    replies.add(new Reply(200, "<html>a page of the proxy</html>"));
    Registry registry = registry();

    assertThrows(RegistryError.class, () -> registry.schema(7));
    RegistryError error = assertThrows(RegistryError.class, () -> registry.schema(7));
    assertEquals(
        "no schema registry answers at " + url() + " (status 404): check its url",
        error.getMessage());
    assertEquals("/subjects", asked.get(1));
  }

  @Test
  void anIdAtWhichTheRegistryFailsAloneIsRejectedAndNamed() throws IOException {
    standing.put("/subjects", new Reply(200, SUBJECTS));
    standing.put("/schemas/ids/7", new Reply(404, "<html>nothing here</html>"));
    standing.put("/schemas/ids/8", new Reply(500, "{\"error_code\":50001}"));

    assertEquals(
        "undecodable: the schema registry answers with status 404 where it is asked for schema 7",
        assertThrows(Rejected.class, () -> registry().schema(7)).getMessage());
    assertEquals(
        "undecodable: the schema registry answers with status 500 where it is asked for schema 8",
        assertThrows(Rejected.class, () -> registry(url(), 0).schema(8)).getMessage());
  }

  @Test
  void anIdAtWhichTheRegistryFailsIsWaitedForAsAnOutageIsButOnce() {
    standing.put("/subjects", new Reply(200, SUBJECTS));
    standing.put("/schemas/ids/8", new Reply(500, ""));
    RegistryClient client = new RegistryClient(new RegistryOptions(List.of(url()), null, 400, 4));

    long begun = System.nanoTime();
    assertThrows(Rejected.class, () -> client.get("/schemas/ids/8", "schema 8"));
    long tookMillis = (System.nanoTime() - begun) / 1_000_000;
    int first = asked.size();
    assertThrows(Rejected.class, () -> client.get("/schemas/ids/8", "schema 8"));

    assertTrue(tookMillis >= 400);
    assertTrue(first > 3);
    assertEquals(
        List.of("/schemas/ids/8", "/subjects", "/schemas/ids/8"), asked.subList(first, first + 3));
    assertEquals(first + 3, asked.size());
  }

  @Test
  void aRegistryThatIsStartedAgainWhileItIsAskedHasWhatItIsAskedFor() throws IOException {
    replies.add(new Reply(404, "<html>no such service</html>"));
    replies.add(new Reply(200, SUBJECTS));
    replies.add(new Reply(200, found(SCHEMA, "")));

    assertEquals("t", registry().schema(7).getName());
  }

  @Test
  void aRegistryWhoseStoreIsDownIsAwayThoughItAnswers() throws IOException {
    replies.add(new Reply(500, "{\"error_code\":50001}"));
    replies.add(new Reply(500, "{\"error_code\":50001}"));
    Registry registry = registry(url(), 0);

    RegistryError error = assertThrows(RegistryError.class, () -> registry.schema(7));

    assertTrue(error.getMessage().endsWith("within 0 s: it answers with status 500"));
    assertEquals(List.of("/schemas/ids/7", "/subjects"), asked);
  }

  @Test
  void aWaitIsToldWhileItLasts() throws Exception {
    List<Map<String, Map<String, Object>>> told = new ArrayList<>();
    replies.add(new Reply(503, ""));
    replies.add(new Reply(200, found(SCHEMA, "")));
    onRequest = () -> told.add(RegistryWait.open());

    registry().schema(7);

    assertFalse(told.get(0).containsKey(url()));
    assertEquals(url() + ": it answers with status 503", told.get(1).get(url()).get("reason"));
    assertEquals(1, told.get(1).get(url()).get("attempts"));
    assertFalse(RegistryWait.open().containsKey(url()));
  }

  @Test
  void aRegistryThatDoesNotLetUsInFailsAtOnceWithoutTheSecret() throws IOException {
    replies.add(new Reply(401, "{\"error_code\":40101}"));
    Registry registry = registry("user", "ada", "password", "engine");

    RegistryError error = assertThrows(RegistryError.class, () -> registry.schema(7));

    assertEquals(List.of("/schemas/ids/7 Basic YWRhOmVuZ2luZQ=="), asked);
    assertTrue(error.getMessage().contains("does not let us in (status 401)"));
    assertFalse(error.getMessage().contains("engine"));
  }

  @Test
  void aTokenIsSentAsBearer() throws IOException {
    replies.add(new Reply(200, found(SCHEMA, "")));

    registry("token", "secret").schema(1);

    assertEquals(List.of("/schemas/ids/1 Bearer secret"), asked);
  }

  @Test
  void schemasThatASchemaRefersToAreReadBeforeIt() throws IOException {
    String outer =
        "{\"type\":\"record\",\"name\":\"outer\",\"fields\":[{\"name\":\"t\",\"type\":\"t\"}]}";
    String reference =
        ",\"references\":[{\"name\":\"t\",\"subject\":\"a/b value\",\"version\":3}]";
    replies.add(new Reply(200, found(outer, reference)));
    replies.add(new Reply(200, found(SCHEMA, "")));

    Schema schema = registry().schema(7);

    assertEquals("id", schema.getField("t").schema().getFields().get(0).name());
    assertEquals(
        List.of("/schemas/ids/7", "/subjects/a%2Fb%20value/versions/3"), asked);
  }

  @Test
  void aSchemaThatIsNotOfAvroIsRejected() throws IOException {
    replies.add(new Reply(200, "{\"schemaType\":\"PROTOBUF\",\"schema\":\"message t {}\"}"));
    replies.add(new Reply(200, found("{\"type\":\"nonsense\"}", "")));
    Registry registry = registry();

    assertEquals(
        "undecodable: schema 7 is of PROTOBUF, not of Avro",
        assertThrows(Rejected.class, () -> registry.schema(7)).getMessage());
    assertEquals(
        "undecodable: schema 8 is not a schema of Avro",
        assertThrows(Rejected.class, () -> registry.schema(8)).getMessage());
  }
}
