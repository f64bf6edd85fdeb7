package dev.joinery.kernel.format;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * Asks a schema registry; waits for one that is down, up to a bound, and tells so meanwhile.
 *
 * <p>Where it fails at one thing alone for as long as an outage is waited for, before and after it
 * lists its subjects, that thing is at fault.
 */
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

  /** The paths at which it was found to fail alone: of these nothing is waited for again. */
  private final Set<String> failing = ConcurrentHashMap.newKeySet();

  /**
   * One asking: what was found, null where the registry says that there is nothing; or why not.
   *
   * @param status of a failure that may be of what was asked for alone; else 0
   * @param passes whether asking again may bring an answer
   */
  private record Answer(JsonNode found, String failure, int status, boolean passes) {
    static Answer of(JsonNode found) {
      return new Answer(found, null, 0, false);
    }

    static Answer again(String failure) {
      return new Answer(null, failure, 0, true);
    }

    static Answer failed(int status, boolean passes) {
      return new Answer(null, "it answers with status " + status, status, passes);
    }
  }

  RegistryClient(RegistryOptions options) {
    this.options = options;
  }

  /**
   * Returns what stands at a path, null where the registry says that there is no such thing.
   *
   * @param what is asked for, for people
   * @throws Rejected if the registry answers, but not where it is asked for this
   * @throws RegistryError if the registry does not answer in time, or does not let us in
   */
  JsonNode get(String path, String what) {
    try (RegistryWait wait = new RegistryWait(options.urls())) {
      return get(path, what, wait);
    }
  }

  private JsonNode get(String path, String what, RegistryWait wait) {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(options.waitMillis());
    long pause = FIRST_PAUSE_MILLIS;
    for (int attempt = 0; ; attempt++) {
      String url = options.urls().get(attempt % options.urls().size());
      Answer answer = ask(url, path);
      boolean late = System.nanoTime() >= deadline;
      if (answer.status() != 0 && (late || !answer.passes() || failing.contains(path))) {
        answer = unlessAlone(url, path, what, answer);
      }
      if (answer.failure() == null) {
        failing.remove(path);
        return answer.found();
      }
      if (!answer.passes()) {
        throw new RegistryError(
            "no schema registry answers at %s (status %d): check its url"
                .formatted(url, answer.status()));
      }
      if (late) {
        throw new RegistryError(
            "could not get %s from the schema registry %s within %s s: %s"
                .formatted(what, url, options.waitSeconds(), answer.failure()));
      }
      wait.failed(url + ": " + answer.failure());
      sleep(ThreadLocalRandom.current().nextLong(pause) + 1);
      pause = Math.min(2 * pause, LONGEST_PAUSE_MILLIS);
    }
  }

  /**
   * Returns why a path failed, or what a registry that was just started again has there now.
   *
   * @throws Rejected if the path fails alone: in the same way before and after subjects are listed
   */
  private Answer unlessAlone(String url, String path, String what, Answer failed) {
    if (!listsSubjects(url)) {
      return failed;
    }
    Answer again = ask(url, path);
    if (again.status() != failed.status()) {
      return again;
    }
    failing.add(path);
    throw Rejected.undecodable(
        "the schema registry answers with status %d where it is asked for %s"
            .formatted(failed.status(), what));
  }

  /** Whether there is a registry that answers: its subjects are in the store of its schemas. */
  private boolean listsSubjects(String url) {
    try {
      HttpResponse<String> response = send(url, "/subjects");
      return response.statusCode() == 200 && json(response.body()).isArray();
    } catch (IOException failed) {
      return false;
    }
  }

  private Answer ask(String url, String path) {
    try {
      return read(send(url, path), url);
    } catch (ConnectException refused) {
      return Answer.again("it cannot be connected to");
    } catch (IOException failed) {
      return Answer.again(
          failed.getMessage() == null ? failed.getClass().getSimpleName() : failed.getMessage());
    }
  }

  private HttpResponse<String> send(String url, String path) throws IOException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(url + path))
            .timeout(TIMEOUT)
            .header("Accept", "application/vnd.schemaregistry.v1+json, application/json");
    if (options.authorization() != null) {
      request.header("Authorization", options.authorization());
    }
    try {
      return http.send(request.build(), HttpResponse.BodyHandlers.ofString());
    } catch (InterruptedException stopped) {
      throw interrupted();
    }
  }

  private static Answer read(HttpResponse<String> response, String url) {
    int status = response.statusCode();
    JsonNode body = json(response.body());
    if (status == 200 && body.isObject()) {
      return Answer.of(body);
    }
    if (status == 404 && body.path("error_code").asInt() / 100 == 404) {
      return Answer.of(null);
    }
    if (status == 408 || status == 429) {
      return Answer.again("it answers with status " + status);
    }
    if (status == 401 || status == 403) {
      throw new RegistryError(
          "the schema registry %s does not let us in (status %d): check user and password"
              .formatted(url, status));
    }
    return Answer.failed(status, status >= 500);
  }

  private static JsonNode json(String text) {
    try {
      return new ObjectMapper().readTree(text);
    } catch (JsonProcessingException notJson) {
      return MissingNode.getInstance();
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
