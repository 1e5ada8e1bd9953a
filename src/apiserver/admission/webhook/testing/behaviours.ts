// How the webhooks of test cases respond.

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

import type { ReceivedRequest } from '#apiserver/webhooks/testing/webhook-server.ts';

export interface Review {
  readonly apiVersion: string;
  readonly kind: string;
  readonly request: {
    readonly uid: string;
    readonly operation: string;
    readonly object: {
      readonly data?: Readonly<Record<string, string>>;
      readonly metadata?: object;
    } | null;
  } & Readonly<Record<string, unknown>>;
}

export interface Exchange {
  readonly review: Review;
  readonly request: ReceivedRequest;
  readonly response: ServerResponse;
  readonly socket: Socket;
}

export type Behaviour = (exchange: Exchange) => void;

const send = (
  response: ServerResponse,
  code: number,
  type: string | undefined,
  body: string,
): void => {
  response.writeHead(code, type === undefined ? {} : { 'content-type': type }).end(body);
};

/** Sends any response with any body. */
export const raw =
  (
    body: string,
    code = 200,
    type: string | undefined = 'application/json',
    headers: Readonly<Record<string, string>> = {},
  ): Behaviour =>
  ({ response }) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    send(response, code, type, body);
  };

/** Sends a review with the response, to which the right UID is added. */
export const answer =
  (fields: object, envelope: object = {}): Behaviour =>
  ({ review, response }) => {
    const { apiVersion, kind } = review;
    const full = {
      apiVersion,
      kind,
      response: { uid: review.request.uid, ...fields },
      ...envelope,
    };
    send(response, 200, 'application/json', JSON.stringify(full));
  };

export const allow = answer({ allowed: true });
export const deny = (status?: object, more: object = {}): Behaviour =>
  answer({ allowed: false, ...(status && { status }), ...more });
export const warn = (...warnings: string[]): Behaviour => answer({ allowed: true, warnings });

const base64 = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64');

/** Sends a JSON patch, or any text in its place. */
export const patch = (operations: unknown, more: object = {}): Behaviour =>
  answer({ allowed: true, patch: base64(operations), patchType: 'JSONPatch', ...more });

/** Sends a patch that depends on the review. */
export const patchBy =
  (make: (review: Review) => unknown): Behaviour =>
  (exchange) =>
    patch(make(exchange.review))(exchange);

export const hang: Behaviour = () => undefined;
export const close: Behaviour = ({ socket }) => void socket.destroy();
export const bytes =
  (text: string): Behaviour =>
  ({ socket }) =>
    void socket.end(text);
/** Sends the beginning of a response that never ends. */
export const drip: Behaviour = ({ response }) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.write(' ');
};
/** Sends half of a response, and closes the connection. */
export const half: Behaviour = ({ response, socket }) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
  response.write('{"kind":"AdmissionReview"', () => socket.destroy());
};
export const redirect = (code: number, location: string): Behaviour =>
  raw('', code, undefined, { location });
