// The client config of a webhook, as in webhook configurations and in the conversion of a
// CustomResourceDefinition.

import type { ServerAccess } from '#client/http/index.ts';
import { quote } from '#machinery/text/go-format.ts';
import { certificateAuthorities } from './certificate-authorities.ts';

export interface WebhookClientConfig {
  /** An https URL. Exactly one of `url` and `service` is set. */
  readonly url?: string;
  readonly service?: WebhookServiceReference;
  /**
   * Certificate authorities for the webhook's certificate: PEM, in base64. Absent or empty: those
   * that the platform trusts.
   */
  readonly caBundle?: string;
  /** The credentials for the webhook. Default: there are none. */
  readonly access?: ServerAccess;
}

export interface WebhookServiceReference {
  readonly namespace: string;
  readonly name: string;
  /** The path. Default: '/'. */
  readonly path?: string;
  /** A port of the service. Default: 443. */
  readonly port?: number;
}

/** The destination of a request. */
export interface Place {
  /** Host and port as in the URL: 'hook.default.svc:443', 'example.com'. */
  readonly authority: string;
  /** The host, without brackets. */
  readonly host: string;
  readonly port: number;
  /** The escaped path, without a query. */
  readonly path: string;
  /** Without TLS. Only servers that a kubeconfig names may be called so. Default: false. */
  readonly plain?: boolean;
}

/** The destination of a webhook, and the settings of the connection. */
export interface WebhookTarget {
  readonly place: Place;
  /**
   * The service of the destination. Connections to its host and port go to an endpoint of the
   * service.
   */
  readonly service?: { readonly namespace: string; readonly name: string; readonly port: number };
  /** The name in the certificate. Absent: the host of the request. */
  readonly serverName?: string;
  /** Certificate authorities in PEM. Absent: those that the platform trusts. */
  readonly authorities?: readonly string[];
  /** The credentials for the destination, and its TLS settings. Absent: there are none. */
  readonly access?: ServerAccess;
  /** The name of the client. */
  readonly userAgent: string;
}

const ADMISSION_USER_AGENT = 'kube-apiserver-admission';
const USER_AGENT = 'kube-apiserver';
const HTTP_PORT = 80;
const HTTPS_PORT = 443;

/** A webhook has no URL, or one that cannot be called. */
export class UnusableUrlError extends Error {
  override readonly name = 'UnusableUrlError';
}

/** Returns the target. Throws UnusableUrlError, and Error for a caBundle without certificates. */
export function targetOf({
  url,
  service,
  caBundle = '',
  access,
}: WebhookClientConfig): WebhookTarget {
  const trust = {
    userAgent: ADMISSION_USER_AGENT,
    ...(access !== undefined && { access }),
    ...(caBundle !== '' && {
      authorities: certificateAuthorities(Buffer.from(caBundle, 'base64').toString('latin1')),
    }),
  };
  if (service !== undefined) {
    const { namespace, name, path = '', port = HTTPS_PORT } = service;
    const host = `${name}.${namespace}.svc`;
    const place = { authority: `${host}:${port}`, host, port, path: cleanPath(path) };
    return { place, service: { namespace, name, port }, serverName: host, ...trust };
  }
  if (url === undefined || url === '')
    throw new UnusableUrlError('webhook configuration must have either service or URL');
  const { path, ...place } = placeOf(url);
  return { place: { ...place, path: cleanPath(decodePath(path)) }, ...trust };
}

/**
 * Returns the target of a server that a kubeconfig names. Its path is called as it is. Throws
 * UnusableUrlError.
 */
export function targetOfServer(access: ServerAccess): WebhookTarget {
  const { server, tlsServerName, ca } = access;
  return {
    place: placeOf(server, true),
    access,
    userAgent: USER_AGENT,
    ...(tlsServerName !== undefined && { serverName: tlsServerName }),
    ...(ca !== undefined && { authorities: [ca] }),
  };
}

/**
 * Returns the destination of an https URL; with `allowPlain`, of an http URL, too. Throws
 * UnusableUrlError for any other text.
 */
export function placeOf(url: string, allowPlain = false): Place {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch (error) {
    throw new UnusableUrlError(`Unparsable URL: parse ${quote(url)}: invalid URL`, {
      cause: error,
    });
  }
  const plain = allowPlain && parsed.protocol === 'http:';
  if (parsed.protocol !== 'https:' && !plain)
    throw new UnusableUrlError(`${parsed.protocol.slice(0, -1)} is not allowed, only https`);
  const authority = /^https?:\/*(?:[^/?#@]*@)?([^/?#]*)/i.exec(url)?.[1] ?? parsed.host;
  const host = parsed.hostname.replace(/^\[(.*)\]$/, '$1');
  return {
    authority,
    host,
    port: parsed.port === '' ? (plain ? HTTP_PORT : HTTPS_PORT) : Number(parsed.port),
    path: parsed.pathname,
    ...(plain && { plain }),
  };
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    // The path is not UTF-8, so it stays unchanged.
    return path;
  }
}

/** Returns a path without empty, '.' and '..' segments and without a slash at its end, escaped. */
function cleanPath(path: string): string {
  const segments: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(segment);
  }
  return `/${segments.map(escapeSegment).join('/')}`;
}

/** Escapes the characters that Go's URL.String escapes in a path. */
function escapeSegment(segment: string): string {
  return encodeURIComponent(segment)
    .replaceAll(/%(?:24|26|2B|2C|3A|3B|3D|40)/g, decodeURIComponent)
    .replaceAll(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
