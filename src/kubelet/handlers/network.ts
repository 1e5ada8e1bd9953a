// HTTP and TCP calls to a pod, for probes and lifecycle hooks. Errors carry the words that Kubernetes' users know.

import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import type { Container, HTTPGetAction } from '../types.ts';

export interface HttpAnswer {
  readonly statusCode: number;
  /** At most 10 KiB of it. */
  readonly body: string;
}

export class NetworkError extends Error {}

const MAX_BODY_BYTES = 10 * 1024;
const MAX_REDIRECTS = 10;

/** A port's number: given, or that of the container's port of this name. Throws if there is none. */
export function resolvePort(port: number | string, container: Container): number {
  const number = typeof port === 'number' ? port : namedPort(port, container);
  if (!Number.isInteger(number) || number <= 0 || number >= 65_536) throw new NetworkError(`invalid port number: ${number}`);
  return number;
}

function namedPort(name: string, container: Container): number {
  const found = (container.ports ?? []).find((port) => port.name === name);
  if (found !== undefined) return found.containerPort;
  if (/^\d+$/.test(name)) return Number(name);
  throw new NetworkError(`couldn't find port: ${name} in container ${container.name}`);
}

/** The URL that an httpGet action asks for; `podIP` unless it names a host. */
export function actionUrl(action: HTTPGetAction, container: Container, podIP: string): URL {
  const host = action.host !== undefined && action.host !== '' ? action.host : podIP;
  const port = resolvePort(action.port, container);
  const scheme = (action.scheme ?? 'HTTP').toLowerCase();
  const path = action.path ?? '';
  return new URL(`${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}${path.startsWith('/') ? '' : '/'}${path}`);
}

/** GETs it, following redirects on the same host. Rejects with NetworkError; aborting the signal is a timeout. */
export async function httpGet(url: URL, action: HTTPGetAction, userAgent: string, signal: AbortSignal): Promise<HttpAnswer> {
  let target = url;
  for (let redirects = 0; ; redirects++) {
    const answer = await getOnce(target, requestHeaders(action, userAgent), signal);
    const { location } = answer;
    if (location === undefined || answer.statusCode < 300 || answer.statusCode >= 400) return answer;
    const next = new URL(location, target);
    // Elsewhere is not what was asked about: that it redirects is answer enough.
    if (next.hostname !== target.hostname) return answer;
    if (redirects >= MAX_REDIRECTS) throw new NetworkError(`Get "${next.href}": stopped after ${MAX_REDIRECTS} redirects`);
    target = next;
  }
}

function requestHeaders(action: HTTPGetAction, userAgent: string): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = { 'User-Agent': userAgent, Accept: '*/*', Connection: 'close' };
  const names = new Map(Object.keys(headers).map((name) => [name.toLowerCase(), name]));
  const given = new Map<string, string[]>();
  for (const { name, value } of action.httpHeaders ?? []) {
    given.set(name.toLowerCase(), [...(given.get(name.toLowerCase()) ?? []), value]);
  }
  for (const [lower, values] of given) {
    const known = names.get(lower);
    if (known !== undefined) delete headers[known];
    // An empty value takes the header away.
    const filled = values.filter((value) => value !== '');
    if (filled.length > 0) headers[lower] = filled.length === 1 ? (filled[0] ?? '') : filled;
  }
  return headers;
}

function getOnce(
  url: URL,
  headers: Record<string, string | string[]>,
  signal: AbortSignal,
): Promise<HttpAnswer & { readonly location: string | undefined }> {
  return new Promise((resolve, reject) => {
    const fail = (err: unknown): void =>
      reject(new NetworkError(`Get "${url.href}": ${describeFailure(err, url, signal)}`, { cause: err }));
    const onResponse = (response: IncomingMessage): void => {
      const chunks: Buffer[] = [];
      let size = 0;
      const finish = (): void => {
        const body = Buffer.concat(chunks).subarray(0, MAX_BODY_BYTES).toString('utf8');
        resolve({ statusCode: response.statusCode ?? 0, body, location: response.headers.location });
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
      response.on('error', fail);
    };
    const options = { headers, signal, agent: false as const };
    // A probe asks whether something answers, not who: certificates are not checked, as on every Kubernetes node.
    const request =
      url.protocol === 'https:'
        ? httpsRequest(url, { ...options, rejectUnauthorized: false }, onResponse)
        : httpRequest(url, options, onResponse);
    request.on('error', fail);
    request.end();
  });
}

/** Resolves when a connection could be made. Rejects with NetworkError. */
export function tcpConnect(host: string, port: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const url = { hostname: host, port: String(port) };
    const socket = connect({ host, port });
    const onAbort = (): void => {
      socket.destroy();
      reject(new NetworkError(`dial tcp ${address(host, port)}: i/o timeout`));
    };
    signal.addEventListener('abort', onAbort, { once: true });
    socket.once('connect', () => {
      signal.removeEventListener('abort', onAbort);
      socket.destroy();
      resolve();
    });
    socket.once('error', (err) => {
      signal.removeEventListener('abort', onAbort);
      reject(new NetworkError(describeFailure(err, url, signal), { cause: err }));
    });
  });
}

function address(host: string, port: number | string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]:${port}` : `${host}:${port}`;
}

const SYSTEM_WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connect: connection refused',
  EHOSTUNREACH: 'connect: no route to host',
  ENETUNREACH: 'connect: network is unreachable',
  ETIMEDOUT: 'connect: connection timed out',
};

function describeFailure(err: unknown, url: { readonly hostname: string; readonly port: string }, signal: AbortSignal): string {
  if (signal.aborted) return 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)';
  const { code, message } = err as NodeJS.ErrnoException;
  if (code === 'ENOTFOUND') return `dial tcp: lookup ${url.hostname}: no such host`;
  if (code === 'ECONNRESET') return 'read: connection reset by peer';
  const words = code === undefined ? undefined : SYSTEM_WORDS[code];
  return words === undefined ? message : `dial tcp ${address(url.hostname, url.port)}: ${words}`;
}
