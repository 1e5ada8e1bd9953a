// The headers of a request to another API server: the client's headers without its credentials, and
// the user in front proxy headers. The client cannot choose the values of these.

import type { OutgoingHttpHeaders } from 'node:http';
import { posix } from 'node:path';

import { connectionOptions, isHopByHop } from '#machinery/net/hop-by-hop.ts';
import { isFrontProxyHeader } from '../../authentication/front-proxy-headers.ts';
import { withoutToken } from '../../authentication/websocket-token.ts';
import { headerValues } from '../../header-values.ts';
import { forwardedFor } from '../../node-proxy/relay.ts';
import type { ApiRequest, UserInfo } from '../../request.ts';

/** Headers that Node writes itself, or has handled. */
const HANDLED: ReadonlySet<string> = new Set([
  'content-length',
  'expect',
  'host',
  'http2-settings',
]);

export interface OutgoingConfig {
  readonly user: UserInfo;
  /** The backend, 'HOST:PORT'. */
  readonly host: string;
  /**
   * Further headers, in lower case, in which front proxies name users to this server. Default:
   * none.
   */
  readonly identityHeaders?: readonly string[];
  /** Prefixes of such headers. Default: none. */
  readonly identityPrefixes?: readonly string[];
}

/** Returns the headers. Throws Error for a user that cannot be written into a header. */
export function outgoingHeaders(request: ApiRequest, config: OutgoingConfig): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {
    ...clientHeaders(request, config),
    host: config.host,
    ...userHeaders(config.user),
  };
  headers['x-forwarded-for'] = forwardedFor(request);
  if (request.auditId !== undefined) headers['audit-id'] = request.auditId;
  return headers;
}

/**
 * Returns the X-Forwarded headers, which name the backend itself, as upstream. Upgrades do not have
 * them.
 */
export function forwardedHeaders(host: string, path: string): OutgoingHttpHeaders {
  const clean = posix.normalize(path).replace(/(.)\/$/, '$1');
  const uri = path.endsWith('/') && clean !== '/' ? `${clean}/` : clean;
  return { 'x-forwarded-host': host, 'x-forwarded-proto': 'https', 'x-forwarded-uri': uri };
}

/** Returns the front proxy headers for a user. */
export function userHeaders({ name, uid = '', groups, extra = {} }: UserInfo): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = { 'X-Remote-User': wire(name) };
  if (uid !== '') headers['X-Remote-Uid'] = wire(uid);
  if (groups.length > 0) headers['X-Remote-Group'] = groups.map(wire);
  for (const [key, values] of Object.entries(extra)) {
    if (values.length > 0) headers[`X-Remote-Extra-${escapeKey(key)}`] = values.map(wire);
  }
  return headers;
}

function clientHeaders(request: ApiRequest, config: OutgoingConfig): OutgoingHttpHeaders {
  const { identityHeaders = [], identityPrefixes = [] } = config;
  const options = connectionOptions(request.headers['connection']);
  const headers: Record<string, string[]> = {};
  for (const [name, value] of headerValues(request)) {
    if (name.startsWith(':') || isHopByHop(name) || options.has(name)) continue;
    if (HANDLED.has(name) || isCredential(name) || isFrontProxyHeader(name)) continue;
    if (
      identityHeaders.includes(name) ||
      identityPrefixes.some((prefix) => name.startsWith(prefix))
    )
      continue;
    const passed = name === 'sec-websocket-protocol' ? withoutToken(value) : value;
    if (passed !== '') (headers[name] ??= []).push(passed);
  }
  // HTTP/2 may split the cookie header, which HTTP/1.1 does not allow.
  const { cookie } = headers;
  if (cookie !== undefined) headers['cookie'] = [cookie.join('; ')];
  // `TE: trailers` is passed on for clients that read trailers.
  if (/(^|,)\s*trailers\s*(,|$)/i.test(request.headers['te'] ?? '')) headers['te'] = ['trailers'];
  return headers;
}

/** Reports whether authentication or impersonation consumes the header. */
function isCredential(name: string): boolean {
  return name === 'authorization' || name.startsWith('impersonate-');
}

/** Encodes a value. Go sends header values as UTF-8, Node as Latin 1. */
function wire(value: string): string {
  return Buffer.from(value, 'utf8').toString('latin1');
}

/** Percent-encodes the percent sign, and characters that a header's name cannot contain. */
function escapeKey(key: string): string {
  let escaped = '';
  for (const byte of Buffer.from(key, 'utf8')) {
    const character = String.fromCharCode(byte);
    escaped += /[A-Za-z0-9!#$&'*+\-.^_`|~]/.test(character)
      ? character
      : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return escaped;
}
