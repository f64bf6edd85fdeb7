"""Brokers that ask for a password over TLS, or for a certificate, beside their plain listener."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from tests.services.authority import Authority

from joinery.dev.kafka import kafka
from joinery.dev.port import HOST, PORTS, free_port
from joinery.dev.service import Service

USER, PASSWORD, STORE_PASSWORD = "reader", "pass-4711", "store-4711"
_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@dataclass(frozen=True, slots=True)
class SecuredKafka:
    """The broker, and where its secured listener is."""

    service: Service
    secured: str
    truststore: Path

    def properties(self, password: str = PASSWORD) -> Mapping[str, str]:
        """Return what a client needs to be let in."""
        return {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": f'{_LOGIN} username="{USER}" password="{password}";',
            "ssl.truststore.location": str(self.truststore),
            "ssl.truststore.password": STORE_PASSWORD,
        }


def secured_kafka(folder: Path) -> SecuredKafka:
    """Return a broker, not yet started, whose data is in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    keystore = _keystore(folder)
    settings = {
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": f'{_LOGIN} user_{USER}="{PASSWORD}";',
        "ssl.keystore.location": str(keystore),
        "ssl.keystore.password": STORE_PASSWORD,
        "ssl.key.password": STORE_PASSWORD,
    }
    service, secured = _listening(folder, "SASL_SSL", settings)
    return SecuredKafka(service, secured, keystore)


def certified_kafka(folder: Path, authority: Authority) -> tuple[Service, str]:
    """Return a broker, not yet started, and its listener for clients of an authority alone."""
    folder.mkdir(parents=True, exist_ok=True)
    signed = authority.sign(folder, "broker", x509.IPAddress(ip_address(HOST)))
    settings = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(signed.together),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority.file),
        "ssl.client.auth": "required",
    }
    return _listening(folder, "SSL", settings)


def _listening(folder: Path, protocol: str, settings: Mapping[str, str]) -> tuple[Service, str]:
    """Return a broker with a second listener, and where that is."""
    ports: dict[str, int] = {}
    for name in ("client", "controller", "secured"):
        ports[name] = free_port(PORTS, ports.values())
    secured = f"{HOST}:{ports.pop('secured')}"
    # A service begins with the ports that it stood on last.
    (folder / "service.json").write_text(json.dumps({"ports": ports, "process": None}))
    plain = f"{HOST}:{ports['client']}"
    listeners = {
        "listeners": f"PLAINTEXT://{plain},{protocol}://{secured},"
        f"CONTROLLER://{HOST}:{ports['controller']}",
        "advertised.listeners": f"PLAINTEXT://{plain},{protocol}://{secured}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,"
        f"{protocol}:{protocol}",
    }
    return kafka(folder, properties={**listeners, **settings}), secured


def _keystore(folder: Path) -> Path:
    """Make a key for 127.0.0.1; its own certificate makes the file a truststore as well."""
    store = folder / "key.p12"
    subprocess.run(
        ["keytool", "-genkeypair", "-alias", "kafka", "-keyalg", "EC", "-validity", "2"]
        + ["-dname", "CN=kafka", "-ext", f"san=ip:{HOST}", "-storetype", "PKCS12"]
        + ["-keystore", str(store), "-storepass", STORE_PASSWORD],
        check=True,
        capture_output=True,
    )
    return store
