// HTTP and TCP calls to a pod, for probes and lifecycle hooks. The peer is the pod, or a host that
// its spec names: it may send any response, or none. Each call settles when its signal aborts, even
// if the peer does nothing. Error messages are those of Go's net/http, as upstream.

import type { LookupAddress, LookupOptions } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect, isIP, type LookupFunction } from 'node:net';
import type { Duplex } from 'node:stream';
import { bounded } from '#machinery/files/untrusted.ts';
import type { Container, HTTPGetAction } from '../types.ts';

export interface HttpAnswer {
  readonly statusCode: number;
  /** The beginning of the body, at most 10 KiB. */
  readonly body: string;
}

export class NetworkError extends Error {}

/** The peer began a response and did not complete it. */
export class BodyError extends Error {}

/** The target of an action. As in Go, its URL always has the port. */
export interface Target {
  readonly scheme: string;
  /** The host, without brackets. */
  readonly host: string;
  readonly port: number;
  /** The path and query, as they are sent. */
  readonly path: string;
  readonly text: string;
}

const MAX_BODY_BYTES = 10 * 1024;
const MAX_REDIRECTS = 10;
const MAX_HEADER_BYTES = 1024 * 1024;
/** As in Go's client, more informational (1xx) responses are an error. */
const MAX_INFORMATIONAL = 5;
/** Statuses whose redirects Go's client follows. Other 3xx statuses are final. */
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * Returns the port's number: as given, or of the container's port with this name. Throws if there
 * is none.
 */
export function resolvePort(port: number | string, container: Container): number {
  const number = typeof port === 'number' ? port : namedPort(port, container);
  if (!Number.isInteger(number) || number <= 0 || number >= 65_536)
    throw new NetworkError(`invalid port number: ${number}`);
  return number;
}

function namedPort(name: string, container: Container): number {
  const found = (container.ports ?? []).find((port) => port.name === name);
  if (found !== undefined) return found.containerPort;
  if (/^\d+$/.test(name)) return Number(name);
  throw new NetworkError(`couldn't find port: ${name} in container ${container.name}`);
}

/** Returns the target of an httpGet action: `podIP`, unless the action names a host. */
export function actionTarget(action: HTTPGetAction, container: Container, podIP: string): Target {
  const host = action.host !== undefined && action.host !== '' ? action.host : podIP;
  const port = resolvePort(action.port, container);
  const scheme = (action.scheme ?? 'HTTP').toLowerCase();
  return makeTarget(scheme, host, port, action.path ?? '');
}

function makeTarget(scheme: string, host: string, port: number, path: string): Target {
  const wanted = (path.split('#')[0] ?? '')
    .replace(/[\ud800-\udfff]/gu, '\ufffd')
    .replace(/[^\x21-\x7e]/gu, encodeURIComponent);
  const prefix = `${scheme}://${address(host, port)}`;
  // The URL of an empty path has no path, and the request has '/'.
  const text =
    wanted === '' || wanted.startsWith('/') || wanted.startsWith('?')
      ? prefix + wanted
      : `${prefix}/${wanted}`;
  return { scheme, host, port, path: wanted.startsWith('/') ? wanted : `/${wanted}`, text };
}

/**
 * Sends a GET request, following redirects on the same host. A redirect to another host is the
 * final response. Rejects with NetworkError, with BodyError if the body is incomplete, or with the
 * signal's reason.
 */
export async function httpGet(
  target: Target,
  action: HTTPGetAction,
  userAgent: string,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  let current = target;
  for (let redirects = 1; ; redirects++) {
    const answer = await getOnce(current, requestHeaders(action, userAgent), signal);
    const { location } = answer;
    if (location === undefined || !REDIRECTS.has(answer.statusCode)) return answer;
    const next = redirectTarget(location, current);
    // The probe does not concern another host: the redirect itself is the response.
    if (next.host !== target.host) return answer;
    if (redirects >= MAX_REDIRECTS)
      throw new NetworkError(`Get "${location}": stopped after ${MAX_REDIRECTS} redirects`);
    current = next;
  }
}

function redirectTarget(location: string, from: Target): Target {
  let url: URL;
  try {
    url = new URL(location, from.text);
  } catch (error) {
    throw new NetworkError(
      `Get "${from.text}": failed to parse Location header ${JSON.stringify(location)}`,
      {
        cause: error,
      },
    );
  }
  const scheme = url.protocol.slice(0, -1);
  if (scheme !== 'http' && scheme !== 'https')
    throw new NetworkError(`Get "${url.href}": unsupported protocol scheme "${scheme}"`);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const port = url.port === '' ? (scheme === 'https' ? 443 : 80) : Number(url.port);
  return { ...makeTarget(scheme, host, port, url.pathname + url.search), text: url.href };
}

function requestHeaders(
  action: HTTPGetAction,
  userAgent: string,
): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {
    'User-Agent': userAgent,
    Accept: '*/*',
    Connection: 'close',
  };
  const names = new Map(Object.keys(headers).map((name) => [name.toLowerCase(), name]));
  const given = new Map<string, string[]>();
  for (const { name, value } of action.httpHeaders ?? []) {
    given.set(name.toLowerCase(), [...(given.get(name.toLowerCase()) ?? []), value]);
  }
  for (const [lower, values] of given) {
    const known = names.get(lower);
    if (known !== undefined) delete headers[known];
    // An empty value removes the header.
    const filled = values.filter((value) => value !== '');
    if (filled.length > 0) headers[lower] = filled.length === 1 ? (filled[0] ?? '') : filled;
  }
  return headers;
}

function getOnce(
  target: Target,
  headers: Record<string, string | string[]>,
  signal: AbortSignal,
): Promise<HttpAnswer & { readonly location: string | undefined }> {
  return new Promise((resolve, reject) => {
    const fail = (message: string, cause?: unknown): void =>
      reject(new NetworkError(`Get "${target.text}": ${message}`, { cause }));
    let responded = false;
    const failed = (err: Error): void => {
      if (signal.aborted) reject(signal.reason as Error);
      else if (responded) reject(new BodyError(describeFailure(err), { cause: err }));
      else fail(describeFailure(err, target), err);
    };
    const onResponse = (response: IncomingMessage): void => {
      responded = true;
      const chunks: Buffer[] = [];
      let size = 0;
      const finish = (): void => {
        const body = Buffer.concat(chunks).subarray(0, MAX_BODY_BYTES).toString('utf8');
        resolve({
          statusCode: response.statusCode ?? 0,
          body,
          location: response.headers.location,
        });
      };
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        size += chunk.length;
        if (size >= MAX_BODY_BYTES) {
          finish();
          response.destroy();
        }
      });
      response.on('end', finish);
      response.on('error', failed);
      response.on('close', () => reject(new BodyError('unexpected EOF')));
    };
    const { scheme, host, port, path } = target;
    const options: RequestOptions = {
      host,
      port,
      path,
      headers,
      signal,
      agent: false,
      lookup: boundedLookup,
      maxHeaderSize: MAX_HEADER_BYTES,
    };
    try {
      // A probe checks that the peer responds, not its identity: certificates are not verified, as
      // upstream.
      const request =
        scheme === 'https'
          ? httpsRequest({ ...options, rejectUnauthorized: false }, onResponse)
          : httpRequest(options, onResponse);
      let informational = 0;
      request.on('information', () => {
        informational++;
        if (informational <= MAX_INFORMATIONAL) return;
        fail(
          'net/http: HTTP/1.x transport connection broken: too many 1xx informational responses',
        );
        request.destroy();
      });
      // Status 101, or another change of protocol by Node's rules: an ordinary response without a
      // body.
      request.on('upgrade', (response: IncomingMessage, socket: Duplex) => {
        socket.destroy();
        resolve({
          statusCode: response.statusCode ?? 0,
          body: '',
          location: response.headers.location,
        });
      });
      request.on('error', failed);
      request.on('close', () => {
        if (!responded) fail('EOF');
      });
      request.end();
    } catch (error) {
      // Node validates the request: a header's value may have invalid characters.
      fail((error as Error).message, error);
    }
  });
}

/**
 * Resolves when a connection was established. Rejects with NetworkError, or with the signal's
 * reason.
 */
export function tcpConnect(host: string, port: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, lookup: boundedLookup });
    const onAbort = (): void => {
      socket.destroy();
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    socket.on('connect', () => {
      signal.removeEventListener('abort', onAbort);
      socket.destroy();
      resolve();
    });
    socket.on('error', (err) => {
      signal.removeEventListener('abort', onAbort);
      reject(new NetworkError(describeFailure(err, { host, port }), { cause: err }));
    });
  });
}

/**
 * Limits look-ups: getaddrinfo(3) blocks a thread of libuv's pool while the name server is silent,
 * and the pod's spec chooses the name.
 */
const boundedLookup: LookupFunction = (hostname, options, callback) => {
  void (async () => {
    let found: readonly LookupAddress[];
    try {
      found =
        isIP(hostname) === 0
          ? await resolveName(hostname, options)
          : [{ address: hostname, family: isIP(hostname) }];
    } catch (error) {
      callback(error as NodeJS.ErrnoException, '');
      return;
    }
    if (options.all === true) callback(null, [...found]);
    else callback(null, found[0]?.address ?? '', found[0]?.family);
  })();
};

function resolveName(hostname: string, { family, hints }: LookupOptions): Promise<LookupAddress[]> {
  const options = {
    ...(family !== undefined && { family }),
    ...(hints !== undefined && { hints }),
  };
  return bounded(`look up ${hostname}`, () => lookup(hostname, { ...options, all: true }));
}

export function address(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

const SYSTEM_WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connect: connection refused',
  EHOSTUNREACH: 'connect: no route to host',
  ENETUNREACH: 'connect: network is unreachable',
  ETIMEDOUT: 'connect: connection timed out',
};

/** Returns the error message. `target`: set while a connection is being established. */
function describeFailure(
  err: unknown,
  target?: { readonly host: string; readonly port: number },
): string {
  const { code = '', message } = err as NodeJS.ErrnoException;
  if (code === 'ENOTFOUND' && target !== undefined)
    return `dial tcp: lookup ${target.host}: no such host`;
  // Node's message for a connection that was closed before a response.
  if (message === 'socket hang up') return 'EOF';
  if (code === 'ECONNRESET') return 'read: connection reset by peer';
  if (code === 'HPE_HEADER_OVERFLOW')
    return `net/http: server response headers exceeded ${MAX_HEADER_BYTES} bytes; aborted`;
  if (code.startsWith('HPE_'))
    return 'net/http: HTTP/1.x transport connection broken: malformed HTTP response';
  const words = Object.hasOwn(SYSTEM_WORDS, code) ? SYSTEM_WORDS[code] : undefined;
  return words === undefined || target === undefined
    ? message
    : `dial tcp ${address(target.host, target.port)}: ${words}`;
}
