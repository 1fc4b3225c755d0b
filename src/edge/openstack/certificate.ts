import { MigrationError } from "../../model/error.ts";

/** What an error of a connection means; the code comes first, then the message. */
interface Fault {
  readonly known: RegExp;
  readonly why: string;
  readonly fix: string;
}

/** @source Node's tls module and OpenSSL: X509_V_ERR_*, reasons of SSL routines */
const FAULTS: readonly Fault[] = [
  {
    known:
      /^(UNABLE_TO_(GET_ISSUER|VERIFY_LEAF)|(DEPTH_ZERO_)?SELF_SIGNED|(INVALID_CA|CERT_UNTRUSTED|CERT_CHAIN_TOO_LONG|PATH_LENGTH_EXCEEDED) )/,
    why: "no authority known here has signed its certificate",
    fix: "Give the file of its authority with --os-cacert, OS_CACERT or `cacert` of clouds.yaml; the system's are often in /etc/ssl/certs/ca-certificates.crt.",
  },
  {
    known: /^(ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH) /,
    why: "its certificate is made for other names",
    fix: "Write a name the certificate has into the URL, or have a certificate made for this one.",
  },
  {
    known: /^CERT_(HAS_EXPIRED|NOT_YET_VALID) /,
    why: "its certificate has expired or is not valid yet",
    fix: "Renew it at the service; where it is new, compare the clocks of both machines.",
  },
  {
    known: / alert (certificate|bad certificate|unknown ca|unsupported certificate)/,
    why: "it wants a certificate of this client, and takes none it was given",
    fix: "Give `cert` and `key` (OS_CERT, OS_KEY) of a user it knows.",
  },
  {
    known: /:(wrong version number|packet length too long|http request):/,
    why: "it does not speak TLS there",
    fix: "Compare http:// and https:// and the port of the URL.",
  },
  {
    // TLS 1.2 has no alert of its own for a certificate that was not shown.
    known: / alert handshake failure/,
    why: "it breaks the handshake off",
    fix: "Where it wants a certificate of this client, give `cert` and `key` (OS_CERT, OS_KEY); else compare the TLS settings of both.",
  },
  {
    known:
      /:(unsupported protocol|no shared cipher|no protocols available):| alert protocol version/,
    why: "no encrypted connection comes about",
    fix: "Compare the TLS settings of the service with those of this machine.",
  },
];

/**
 * What an error of a connection says of certificates and TLS; null when it is about something else.
 * No second try would change it. Its message is looked at and not quoted.
 *
 * @param where scheme, host and port of the service
 */
export function certificateFault(error: Error, where: string): MigrationError | null {
  const code = "code" in error ? String(error.code) : "";
  const fault = FAULTS.find(({ known }) => known.test(`${code} ${error.message}`));
  if (fault === undefined) return null;
  return new MigrationError("N2I-E213", `${where}: ${fault.why} (${code})`, { fix: fault.fix });
}
