// What went wrong on the network, in the words of Go's standard library: clients and conditions show these texts.

import { joinHostPort } from '#machinery/net/peer/index.ts';
import { errorMessage } from '#machinery/error-message.ts';

export interface Peer {
  readonly host: string;
  readonly port: number;
}

const CONNECT_ERRORS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connect: connection refused',
  EHOSTUNREACH: 'connect: no route to host',
  ENETUNREACH: 'connect: network is unreachable',
  ETIMEDOUT: 'connect: connection timed out',
};

const CERTIFICATE_ERRORS: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'x509: certificate signed by unknown authority',
  SELF_SIGNED_CERT_IN_CHAIN: 'x509: certificate signed by unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'x509: certificate signed by unknown authority',
  UNABLE_TO_GET_ISSUER_CERT: 'x509: certificate signed by unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'x509: certificate signed by unknown authority',
  CERT_SIGNATURE_FAILURE: 'x509: certificate signed by unknown authority',
  CERT_HAS_EXPIRED: 'x509: certificate has expired or is not yet valid',
  CERT_NOT_YET_VALID: 'x509: certificate has expired or is not yet valid',
  INVALID_PURPOSE: 'x509: certificate specifies an incompatible key usage',
};

/** Returns the message for an error of a connection to the peer. Errors that have no equivalent keep their message. */
export function networkErrorMessage(error: unknown, { host, port }: Peer): string {
  const { code = '' } = error as NodeJS.ErrnoException;
  const message = errorMessage(error);
  const ofConnect = own(CONNECT_ERRORS, code);
  if (ofConnect !== undefined) return `dial tcp ${joinHostPort(host, port)}: ${ofConnect}`;
  const ofCertificate = own(CERTIFICATE_ERRORS, code);
  if (ofCertificate !== undefined) return `tls: failed to verify certificate: ${ofCertificate}`;
  if (code === 'ENOTFOUND') return `dial tcp: lookup ${host}: no such host`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return `tls: failed to verify certificate: ${hostnameMessage(error)}`;
  if (code === 'ECONNRESET' && message.startsWith('read')) return 'read: connection reset by peer';
  if (code === 'HPE_HEADER_OVERFLOW') return 'net/http: HTTP/1.x transport connection broken: response headers are too large';
  if (code.startsWith('HPE_')) return 'net/http: HTTP/1.x transport connection broken: malformed HTTP response';
  if (message === 'socket hang up' || message.startsWith('the peer closed the connection')) return 'EOF';
  return message;
}

/** Go names the host and what the certificate is valid for. */
function hostnameMessage(error: unknown): string {
  const { host = '', cert } = error as { readonly host?: string; readonly cert?: { readonly subjectaltname?: string } };
  const names = (cert?.subjectaltname ?? '').split(', ').flatMap((entry) => (entry.startsWith('DNS:') ? [entry.slice(4)] : []));
  return names.length === 0
    ? `x509: certificate is not valid for any names, but wanted to match ${host}`
    : `x509: certificate is valid for ${names.join(', ')}, not ${host}`;
}

function own(texts: Readonly<Record<string, string>>, code: string): string | undefined {
  return Object.hasOwn(texts, code) ? texts[code] : undefined;
}
