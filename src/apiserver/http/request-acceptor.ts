// What a listener needs of those who answer.

import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

import type { RequestFields } from '../request-state.ts';
import type { ConnectionSink } from './sink.ts';

/** What a listener hands its requests to. */
export interface RequestAcceptor {
  /** The answer goes to `sink`. */
  begin(fields: RequestFields, sink: ConnectionSink): AcceptedRequest;
  /** A request to change protocols, with its connection. */
  upgrade(fields: RequestFields, connection: UpgradedConnection): void;
}

export interface AcceptedRequest {
  /** The client has gone, or its answer has been sent. */
  abort(reason: unknown): void;
}

export interface UpgradedConnection {
  /** Head of the request; its body is not read. */
  readonly message: IncomingMessage;
  readonly socket: Duplex;
  /** What the client has sent behind it. */
  readonly head: Buffer;
}

/** Why a request is aborted whose client does not wait for the answer. */
export const CLIENT_GONE = new Error('the client has gone');
