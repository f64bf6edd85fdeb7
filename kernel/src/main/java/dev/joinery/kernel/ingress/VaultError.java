package dev.joinery.kernel.ingress;

import java.io.IOException;

/** A vault that does not answer. */
final class VaultError extends RuntimeException {
  VaultError(IOException away) {
    super("the vault does not answer", away);
  }
}
