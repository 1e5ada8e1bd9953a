// Connections that switch to another protocol, such as WebSocket: after the response of the back
// end, bytes pass in both directions.

import { Agent, type IncomingMessage, request as httpRequest, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { errorMessage } from '#machinery/error-message.ts';
import type { Endpoint, WeightedBackend } from '../model.ts';
import type { Router } from '../routing/router.ts';
import { CONNECT_TIMEOUT_MS } from './back.ts';
import { backRequestOf, filteredResponse } from './back-request.ts';
import { Exchange, type ExchangeServices } from './exchange.ts';
import { Http1Front } from './front-http1.ts';
import { endToEnd } from './headers.ts';
import { answer } from './local-answer.ts';
import { type RoutedTarget, routeRequest } from './route-request.ts';

const MAX_ATTEMPTS = 3;
/** A separate agent: upgraded connections are never reused. */
const agent = new Agent({ keepAlive: false });

export interface UpgradeRequest {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** Bytes that the client sent after the head. */
  readonly head: Buffer;
  readonly encrypted: boolean;
}

/** Serves a request with an Upgrade header. `keep`: called with a connection that has switched. */
export async function upgrade(
  { request, socket, head, encrypted }: UpgradeRequest,
  router: Router,
  services: ExchangeServices,
  keep: (connection: Duplex) => void,
): Promise<void> {
  const front = new Http1Front(request, responseOn(request, socket), encrypted);
  // Many clients offer HTTP/2 as an upgrade, which servers may ignore (RFC 9113, section 3.1).
  if (/^h2c?$/i.test(request.headers.upgrade ?? '')) {
    if (!front.hasBody) return new Exchange(front, services).run(router);
    answer(front, 400, 'an upgrade to HTTP/2 cannot have a body');
    return;
  }
  const { clock, metrics } = services;
  const started = clock.monotonic();
  const ended = (status: number): void =>
    metrics.requestEnded(status, front.protocol, (clock.monotonic() - started) / 1000);
  const refuse = (status: number, text: string): void => ended(answer(front, status, text));
  if (front.hasBody) return refuse(400, 'an upgrade cannot have a body');
  const routed = routeRequest(front, router);
  if (!('rule' in routed)) return refuse(routed.status, routed.text);
  const { action } = routed.rule;
  if (action.redirect !== undefined) return new Exchange(front, services).run(router);
  const chosen = services.balancer.pick(action);
  if (chosen === undefined || typeof chosen.target === 'number')
    return refuse(chosen === undefined ? 500 : Number(chosen.target), 'no back end');
  if (chosen.target.protocol !== 'http') return refuse(502, 'the back end has no upgrades');
  const endpoints = services.balancer.endpoints(chosen.target, MAX_ATTEMPTS);
  if (endpoints.length === 0) return refuse(503, 'no endpoint is ready');
  for (const endpoint of endpoints) {
    try {
      const status = await connect(
        endpoint,
        { front, routed, chosen, socket, head },
        services,
        keep,
      );
      return ended(status);
    } catch (error) {
      if (!(error instanceof NotConnected)) throw error;
      metrics.backFailed('connect');
    }
  }
  refuse(502, 'the back end cannot be reached');
}

/** The back end has not seen the request. */
class NotConnected extends Error {}

/**
 * Creates a response on a connection that node:http has released. It closes the connection at its
 * end.
 */
function responseOn(request: IncomingMessage, socket: Duplex): ServerResponse {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket as Parameters<ServerResponse['assignSocket']>[0]);
  response.on('finish', () => {
    response.detachSocket(socket as Parameters<ServerResponse['detachSocket']>[0]);
    socket.end();
  });
  return response;
}

interface Upgrading {
  readonly front: Http1Front;
  readonly routed: RoutedTarget;
  readonly chosen: WeightedBackend;
  readonly socket: Duplex;
  readonly head: Buffer;
}

/**
 * Connects to the back end. Resolves with the status that the client got. Rejects with
 * NotConnected.
 */
function connect(
  { ip, port }: Endpoint,
  { front, routed, chosen, socket, head }: Upgrading,
  { clock, trusts, metrics }: ExchangeServices,
  keep: (connection: Duplex) => void,
): Promise<number> {
  const asked = backRequestOf(front, routed, chosen, trusts(front.remoteAddress));
  const protocols = front.headers.flatMap((name, i) =>
    i % 2 === 0 && name.toLowerCase() === 'upgrade' ? [front.headers[i + 1]!] : [],
  );
  const list = [
    'host',
    asked.authority,
    ...asked.headers,
    'connection',
    'upgrade',
    'upgrade',
    protocols.join(', '),
  ];
  return new Promise((resolve, reject) => {
    const back = httpRequest({
      agent,
      host: ip,
      port,
      method: asked.method,
      path: asked.target,
      headers: list as unknown as Record<string, string>,
      setHost: false,
    });
    let connected = false;
    const timer = clock.setTimer(CONNECT_TIMEOUT_MS, () =>
      back.destroy(new Error('connecting took too long')),
    );
    back.on('socket', (backSocket) => {
      backSocket.once('connect', () => {
        connected = true;
        timer.cancel();
      });
    });
    socket.on('error', () => back.destroy());
    socket.on('close', () => back.destroy());
    const { backendTimeoutMs, requestTimeoutMs } = routed.rule.action;
    const limitMs = backendTimeoutMs ?? requestTimeoutMs;
    let late = false;
    const limit =
      limitMs === undefined
        ? undefined
        : clock.setTimer(limitMs, () => {
            late = true;
            back.destroy(new Error('the back end takes too long'));
          });
    back.on('error', (err) => {
      timer.cancel();
      limit?.cancel();
      if (late) return resolve(answer(front, 504, 'the back end takes too long'));
      if (!connected) return reject(new NotConnected(errorMessage(err)));
      resolve(answer(front, 502, 'the back end has not answered'));
    });
    back.on('response', (response) => {
      // The back end does not switch protocols: this is an ordinary response.
      limit?.cancel();
      const own = filteredResponse(endToEnd(response.rawHeaders), routed.rule.action, chosen);
      const status = response.statusCode ?? 502;
      const writable = front.respond(status, own, { bodiless: false, trailers: undefined });
      response.on('error', () => front.abort());
      response.pipe(writable);
      resolve(status);
    });
    back.on('upgrade', (response, backSocket, backHead) => {
      limit?.cancel();
      const lines = [`HTTP/1.1 101 ${response.statusMessage ?? 'Switching Protocols'}`];
      for (let i = 0; i < response.rawHeaders.length; i += 2) {
        lines.push(`${response.rawHeaders[i]!}: ${response.rawHeaders[i + 1]!}`);
      }
      socket.write(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
      if (backHead.length > 0) socket.write(backHead);
      if (head.length > 0) backSocket.write(head);
      join(socket, backSocket);
      metrics.upgradedChanged(1);
      socket.once('close', () => metrics.upgradedChanged(-1));
      keep(socket);
      resolve(101);
    });
    back.end();
  });
}

/** Passes bytes in both directions with back-pressure, until one side is closed. */
function join(a: Duplex, b: Duplex): void {
  for (const [from, to] of [
    [a, b],
    [b, a],
  ] as const) {
    from.on('error', () => to.destroy());
    from.on('close', () => to.destroy());
    from.pipe(to);
  }
}
