package dev.joinery.kernel.ingress;

import com.google.crypto.tink.subtle.AesSiv;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import javax.crypto.Cipher;
import javax.crypto.Mac;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * A task's way to the vault; remembers the keys of the subjects that the task has met last.
 *
 * <p>Invariant: a key is held by one task and no longer, so a key that is destroyed is known to no
 * later batch. Nothing is sealed, and nothing goes on, while the vault does not answer.
 */
final class VaultLink implements Closeable {
  static final int NAME_BYTES = 16;
  private static final String MAC = "HmacSHA256";
  private static final int MAC_KEY_BYTES = 32;
  private static final int KEY_BYTES = 64;
  private static final byte[] LINE = "jyl1:".getBytes(StandardCharsets.US_ASCII);
  private static final int LINE_KEY_BYTES = 32;
  private static final int NONCE_BYTES = 12;
  private static final int TAG_BITS = 128;

  /** What is asked in place of a number of names. */
  private static final int OF_LINES = -1;

  private static final int MOST_ASKED = 1000;
  private static final int MOST_KNOWN = 20_000;

  private final Socket socket;
  private final DataInputStream in;
  private final DataOutputStream out;
  private final Mac names;
  private final Mac indexes;
  private final String day;
  private final AesSiv ofTheDay;
  private final Map<ByteBuffer, Subject> known = new HashMap<>();
  private final Map<String, SecretKeySpec> ofLines = new HashMap<>();

  /** Whose values are sealed; {@code cipher} is null once the key is destroyed. */
  record Subject(byte[] name, AesSiv cipher) {
    boolean isErased() {
      return cipher == null;
    }

    byte[] seal(byte[] clear) {
      try {
        return cipher.encryptDeterministically(clear, name);
      } catch (GeneralSecurityException impossible) {
        throw new IllegalStateException("a value cannot be sealed", impossible);
      }
    }
  }

  private VaultLink(Socket socket) throws IOException, GeneralSecurityException {
    this.socket = socket;
    in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
    out = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream()));
    names = mac();
    indexes = mac();
    day = in.readUTF();
    ofTheDay = new AesSiv(in.readNBytes(KEY_BYTES));
  }

  static VaultLink open(VaultAddress vault) {
    try {
      Socket socket = new Socket(InetAddress.getLoopbackAddress(), vault.port());
      try {
        socket.setTcpNoDelay(true);
        new DataOutputStream(socket.getOutputStream()).writeUTF(vault.token());
        return new VaultLink(socket);
      } catch (IOException | GeneralSecurityException error) {
        socket.close();
        throw error;
      }
    } catch (IOException away) {
      throw new VaultError(away);
    } catch (GeneralSecurityException broken) {
      throw new IllegalStateException("the vault gave a key that is none", broken);
    }
  }

  private Mac mac() throws IOException, GeneralSecurityException {
    Mac mac = Mac.getInstance(MAC);
    mac.init(new SecretKeySpec(in.readNBytes(MAC_KEY_BYTES), MAC));
    return mac;
  }

  /** The name of a relation's subject, which only the vault can tell from its key. */
  byte[] nameOf(byte[] relation, byte[] subject) {
    names.update(relation);
    names.update((byte) 0);
    return Arrays.copyOf(names.doFinal(subject), NAME_BYTES);
  }

  /** What values are joined by: equal for equal values, whosever they are. */
  byte[] indexOf(byte[] clear) {
    byte[] hash = Arrays.copyOf(indexes.doFinal(clear), NAME_BYTES);
    return Base64.getUrlEncoder().withoutPadding().encode(hash);
  }

  Subject subject(byte[] name) {
    ByteBuffer key = ByteBuffer.wrap(name);
    Subject found = known.get(key);
    if (found == null) {
      ask(List.of(key));
      found = known.get(key);
    }
    return found;
  }

  /** Has the keys of subjects at hand; those that nobody has heard of get one. */
  void ask(Collection<ByteBuffer> wanted) {
    if (known.size() > MOST_KNOWN) {
      known.keySet().retainAll(new HashSet<>(wanted));
    }
    List<ByteBuffer> unknown =
        wanted.stream().filter(each -> !known.containsKey(each)).distinct().toList();
    try {
      for (int from = 0; from < unknown.size(); from += MOST_ASKED) {
        askAll(unknown.subList(from, Math.min(unknown.size(), from + MOST_ASKED)));
      }
    } catch (IOException away) {
      throw new VaultError(away);
    } catch (GeneralSecurityException broken) {
      throw new IllegalStateException("the vault gave a key that is none", broken);
    }
  }

  private void askAll(List<ByteBuffer> unknown) throws IOException, GeneralSecurityException {
    out.writeInt(unknown.size());
    for (ByteBuffer each : unknown) {
      out.write(each.array());
    }
    out.flush();
    for (ByteBuffer each : unknown) {
      boolean there = in.readByte() != 0;
      AesSiv cipher = there ? new AesSiv(in.readNBytes(KEY_BYTES)) : null;
      known.put(each, new Subject(each.array(), cipher));
    }
  }

  /**
   * Opens a line that was sealed where it was captured; any other is returned as it is, and so is
   * one that is not what was sealed, which no format decodes.
   */
  byte[] opened(byte[] line) {
    if (!startsWith(line, LINE)) {
      return line;
    }
    String[] parts = new String(line, StandardCharsets.US_ASCII).split(":", 3);
    try {
      byte[] label = parts[1].getBytes(StandardCharsets.US_ASCII);
      byte[] body = Base64.getUrlDecoder().decode(parts.length < 3 ? "" : parts[2]);
      String name = new String(Base64.getUrlDecoder().decode(label), StandardCharsets.UTF_8);
      if (body.length < NONCE_BYTES) {
        return line;
      }
      Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
      GCMParameterSpec nonce = new GCMParameterSpec(TAG_BITS, body, 0, NONCE_BYTES);
      cipher.init(Cipher.DECRYPT_MODE, ofLines.computeIfAbsent(name, this::keyOfLines), nonce);
      cipher.updateAAD(label);
      return cipher.doFinal(body, NONCE_BYTES, body.length - NONCE_BYTES);
    } catch (GeneralSecurityException | IllegalArgumentException broken) {
      return line;
    }
  }

  private static boolean startsWith(byte[] line, byte[] head) {
    return line.length > head.length && Arrays.equals(line, 0, head.length, head, 0, head.length);
  }

  private SecretKeySpec keyOfLines(String name) {
    try {
      out.writeInt(OF_LINES);
      out.writeUTF(name);
      out.flush();
      if (in.readByte() == 0) {
        throw new IllegalStateException(
            "a spool has lines that were sealed under a key that the vault does not have");
      }
      return new SecretKeySpec(in.readNBytes(LINE_KEY_BYTES), "AES");
    } catch (IOException away) {
      throw new VaultError(away);
    }
  }

  /** Seals the bytes of a record that cannot be used, under the key of this day. */
  byte[] sealRecord(byte[] raw) {
    try {
      byte[] label = day.getBytes(StandardCharsets.US_ASCII);
      String body = Base64.getEncoder().encodeToString(ofTheDay.encryptDeterministically(raw, label));
      return ("jyd1:" + day + ":" + body).getBytes(StandardCharsets.US_ASCII);
    } catch (GeneralSecurityException impossible) {
      throw new IllegalStateException("a record cannot be sealed", impossible);
    }
  }

  @Override
  public void close() {
    try {
      socket.close();
    } catch (IOException closed) {
      // It is closed, as was wanted.
    }
  }
}
