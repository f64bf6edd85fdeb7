package dev.joinery.kernel.format;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/** Asks a schema registry; waits for one that is down, up to a bound. */
final class RegistryClient {
  private static final Duration TIMEOUT = Duration.ofSeconds(10);
  private static final long FIRST_PAUSE_MILLIS = 100;
  private static final long LONGEST_PAUSE_MILLIS = 5_000;

  private final RegistryOptions options;
  private final HttpClient http =
      HttpClient.newBuilder()
          .connectTimeout(TIMEOUT)
          .followRedirects(HttpClient.Redirect.NORMAL)
          .build();

  /** One asking: an answer that stands, or why another may bring one. */
  private record Answer(JsonNode found, boolean stands, String failure) {
    static Answer of(JsonNode found) {
      return new Answer(found, true, null);
    }

    static Answer again(String failure) {
      return new Answer(null, false, failure);
    }
  }

  RegistryClient(RegistryOptions options) {
    this.options = options;
  }

  /**
   * Returns what stands at a path, null where the registry says that there is no such thing.
   *
   * @param what is asked for, for people
   * @throws RegistryError if the registry does not answer in time, or does not let us in
   */
  JsonNode get(String path, String what) {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(options.waitMillis());
    long pause = FIRST_PAUSE_MILLIS;
    for (int attempt = 0; ; attempt++) {
      String url = options.urls().get(attempt % options.urls().size());
      Answer answer = ask(url, path);
      if (answer.stands()) {
        return answer.found();
      }
      if (System.nanoTime() >= deadline) {
        throw new RegistryError(
            "could not get %s from the schema registry %s within %s s: %s"
                .formatted(what, url, options.waitSeconds(), answer.failure()));
      }
      sleep(ThreadLocalRandom.current().nextLong(pause) + 1);
      pause = Math.min(2 * pause, LONGEST_PAUSE_MILLIS);
    }
  }

  private Answer ask(String url, String path) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(url + path))
            .timeout(TIMEOUT)
            .header("Accept", "application/vnd.schemaregistry.v1+json, application/json");
    if (options.authorization() != null) {
      request.header("Authorization", options.authorization());
    }
    try {
      return read(http.send(request.build(), HttpResponse.BodyHandlers.ofString()), url);
    } catch (ConnectException refused) {
      return Answer.again("it cannot be connected to");
    } catch (IOException failed) {
      return Answer.again(
          failed.getMessage() == null ? failed.getClass().getSimpleName() : failed.getMessage());
    } catch (InterruptedException stopped) {
      throw interrupted();
    }
  }

  private static Answer read(HttpResponse<String> response, String url) {
    int status = response.statusCode();
    JsonNode body = json(response.body());
    if (status == 200 && body != null) {
      return Answer.of(body);
    }
    if (status == 404 && body != null && body.path("error_code").asInt() / 100 == 404) {
      return Answer.of(null);
    }
    if (status == 408 || status == 429 || status >= 500) {
      return Answer.again("it answers with status " + status);
    }
    if (status == 401 || status == 403) {
      throw new RegistryError(
          "the schema registry %s does not let us in (status %d): check user and password"
              .formatted(url, status));
    }
    throw new RegistryError(
        "no schema registry answers at %s (status %d): check its url".formatted(url, status));
  }

  private static JsonNode json(String text) {
    try {
      JsonNode body = new ObjectMapper().readTree(text);
      return body != null && body.isObject() ? body : null;
    } catch (JsonProcessingException notJson) {
      return null;
    }
  }

  private static void sleep(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException stopped) {
      throw interrupted();
    }
  }

  private static RegistryError interrupted() {
    Thread.currentThread().interrupt();
    return new RegistryError("stopped while waiting for the schema registry");
  }
}
