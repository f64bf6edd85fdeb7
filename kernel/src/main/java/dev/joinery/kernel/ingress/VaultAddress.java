package dev.joinery.kernel.ingress;

import java.io.Serializable;

/**
 * Where the tasks of a query ask for the keys of subjects: a door of the run, on this machine.
 *
 * @param token what the door lets in, a secret of the run
 */
public record VaultAddress(int port, String token) implements Serializable {
  @Override
  public String toString() {
    return "vault at port " + port;
  }
}
