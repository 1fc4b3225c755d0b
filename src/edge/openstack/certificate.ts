import { MigrationError } from "../../model/error.ts";

interface Fault {
  readonly why: string;
  readonly fix: string;
}

const AUTHORITY: Fault = {
  why: "no authority known here has signed its certificate",
  fix: "Give the file of its authority with --os-cacert, OS_CACERT or `cacert` of clouds.yaml; the system's are often in /etc/ssl/certs/ca-certificates.crt.",
};
const NAMES: Fault = {
  why: "its certificate is made for other names",
  fix: "Write a name the certificate has into the URL, or have a certificate made for this one.",
};
const DATES: Fault = {
  why: "its certificate has expired or is not valid yet",
  fix: "Renew it at the service; where it is new, compare the clocks of both machines.",
};
const OURS: Fault = {
  why: "it wants a certificate of this client, and takes none it was given",
  fix: "Give `cert` and `key` (OS_CERT, OS_KEY) of a user it knows.",
};
/** TLS 1.2 has no alert of its own for a certificate that was not shown. */
const BROKEN_OFF: Fault = {
  why: "it breaks the handshake off",
  fix: "Where it wants a certificate of this client, give `cert` and `key` (OS_CERT, OS_KEY); else compare the TLS settings of both.",
};
const PLAIN: Fault = {
  why: "it does not speak TLS there",
  fix: "Compare http:// and https:// and the port of the URL.",
};
const OTHERWISE: Fault = {
  why: "no encrypted connection comes about",
  fix: "Compare the TLS settings of the service with those of this machine.",
};

/** @source Node's tls module and OpenSSL: X509_V_ERR_*, reasons of SSL routines */
const FAULTS: readonly (readonly [RegExp, Fault])[] = [
  [/^(UNABLE_TO_(GET_ISSUER|VERIFY_LEAF)|SELF_SIGNED|DEPTH_ZERO_SELF_SIGNED)/, AUTHORITY],
  [/^(INVALID_CA|CERT_UNTRUSTED|CERT_CHAIN_TOO_LONG|PATH_LENGTH_EXCEEDED) /, AUTHORITY],
  [/^(ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH) /, NAMES],
  [/^CERT_(HAS_EXPIRED|NOT_YET_VALID) /, DATES],
  [/ alert (certificate|bad certificate|unknown ca|unsupported certificate)/, OURS],
  [/:(wrong version number|packet length too long|http request):/, PLAIN],
  [/:(unsupported protocol|no shared cipher|no protocols available):/, OTHERWISE],
  [/ alert handshake failure/, BROKEN_OFF],
  [/ alert protocol version/, OTHERWISE],
];

/**
 * What an error of a connection says of certificates and TLS; null when it is about something else.
 * No second try would change it. Its message is looked at and not quoted.
 *
 * @param where scheme, host and port of the service
 */
export function certificateFault(error: Error, where: string): MigrationError | null {
  const code = "code" in error ? String(error.code) : "";
  const [, fault] = FAULTS.find(([known]) => known.test(`${code} ${error.message}`)) ?? [];
  if (fault === undefined) return null;
  return new MigrationError("N2I-E213", `${where}: ${fault.why} (${code})`, { fix: fault.fix });
}
