// Describes connection errors in the words of Go's net and crypto packages, as clients of
// Kubernetes expect them.

import { getServers } from 'node:dns';
import { isIP } from 'node:net';

import { StatusError } from '#machinery/apierrors.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { joinHostPort } from './dial.ts';
import { quote } from '#machinery/text/go-format.ts';

/** The fields of errors of sockets, TLS and HTTP parsing. */
interface SystemError extends Error {
  readonly code?: string;
  readonly syscall?: string;
  readonly address?: string;
  readonly port?: number;
  readonly hostname?: string;
  /** The errors of an AggregateError: one for each address that was tried. */
  readonly errors?: readonly SystemError[];
  /** The bytes that could not be parsed. */
  readonly rawPacket?: Buffer;
}

const ERRNO: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset by peer',
  EHOSTUNREACH: 'no route to host',
  ENETUNREACH: 'network is unreachable',
  ETIMEDOUT: 'connection timed out',
  EPIPE: 'broken pipe',
  EACCES: 'permission denied',
  EINVAL: 'invalid argument',
};

const UNKNOWN_AUTHORITY: ReadonlySet<string> = new Set([
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  // An authority of the same name with another key.
  'CERT_SIGNATURE_FAILURE',
]);

/** The maximum length of the part of a malformed response in a message. */
const MAX_LINE = 256;

/** Returns the message. `now`: milliseconds since the epoch. */
export function describeTransportError(error: unknown, now: number): string {
  if (!(error instanceof Error) || error instanceof StatusError) return errorMessage(error);
  const systemError: SystemError = error;
  const [first] = systemError.errors ?? [];
  if (first !== undefined) return describeTransportError(first, now);
  const { code = '' } = systemError;
  // Node's message for a connection that ends before the response begins.
  if (code === 'ECONNRESET' && error.message !== 'read ECONNRESET') return 'EOF';
  return (
    describeConnect(systemError) ??
    describeTls(systemError, now) ??
    describeHttp(systemError) ??
    described(systemError)
  );
}

function described({ code = '', syscall = 'read', message }: SystemError): string {
  return ERRNO[code] === undefined ? message : `${syscall} tcp: ${syscall}: ${ERRNO[code]}`;
}

function describeConnect({
  code = '',
  syscall = '',
  address = '',
  port = 0,
  hostname = '',
}: SystemError): string | undefined {
  if (syscall === 'getaddrinfo') {
    const [server] = getServers();
    const by =
      server === undefined ? '' : ` on ${isIP(server) === 0 ? server : joinHostPort(server, 53)}`;
    return `dial tcp: lookup ${hostname}${by}: ${code === 'ENOTFOUND' ? 'no such host' : 'server misbehaving'}`;
  }
  return syscall === 'connect'
    ? `dial tcp ${joinHostPort(address, port)}: connect: ${ERRNO[code] ?? code}`
    : undefined;
}

function describeTls({ code = '', message }: SystemError, now: number): string | undefined {
  const invalid = (why: string): string => `tls: failed to verify certificate: x509: ${why}`;
  const time = new Date(now).toISOString().replace(/\.\d+/, '');
  if (UNKNOWN_AUTHORITY.has(code)) return invalid('certificate signed by unknown authority');
  if (code === 'CERT_HAS_EXPIRED')
    return invalid(
      `certificate has expired or is not yet valid: current time ${time} is after its end`,
    );
  if (code === 'CERT_NOT_YET_VALID') {
    return invalid(
      `certificate has expired or is not yet valid: current time ${time} is before its beginning`,
    );
  }
  // The first bytes are not a TLS record, so the server speaks another protocol, probably HTTP.
  if (message.includes('wrong version number'))
    return 'http: server gave HTTP response to HTTPS client';
  return undefined;
}

function describeHttp({ code = '', rawPacket }: SystemError): string | undefined {
  if (code === 'HPE_HEADER_OVERFLOW')
    return 'net/http: server response headers exceeded their limit; aborted';
  if (code === 'HPE_INVALID_EOF_STATE') return 'unexpected EOF';
  if (!code.startsWith('HPE_')) return undefined;
  const line = rawPacket?.toString('latin1', 0, MAX_LINE).split(/\r?\n/, 1)[0] ?? '';
  return `net/http: HTTP/1.x transport connection broken: malformed HTTP response ${quote(line)}`;
}
