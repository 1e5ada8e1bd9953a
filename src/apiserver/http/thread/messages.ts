// What the thread with the secure port and the main thread say to each other.
//
// Requests and answers travel in batches: those of one turn of the event loop together, as one text (a list of frames, in JSON) and
// one buffer with all of their bytes one after the other, which is handed over. A message costs more than what is in it.

import type { MessagePort } from 'node:worker_threads';
import type { LogLevel } from '../../../machinery/log.ts';
import type { ListenerAddress } from '../listener.ts';

/** Names a request until it is answered. */
export type RequestId = number;
/** Behind a frame: as many bytes are its own. */
type Bytes = number;
type Headers = Readonly<Record<string, string | readonly string[]>>;

/** The request has no body. */
export const NO_BODY = -1;
/** The body is to be asked for. */
export const BODY_ON_DEMAND = -2;

/** What is known of a request before its body. */
export interface RequestHead {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly remoteAddress: string;
  /** A PeerCertificate in JSON, or ''. As text, since all requests of a connection have the same. */
  readonly peerCertificate: string;
}

/** To the main thread. */
export type RequestFrame =
  | readonly ['request', RequestId, RequestHead, Bytes | typeof NO_BODY | typeof BODY_ON_DEMAND]
  /** The body that was asked for. */
  | readonly ['body', RequestId, Bytes]
  /** It cannot be had: the answer is an error with this code, or there is nobody who waits for one. */
  | readonly ['noBody', RequestId, 413 | 400]
  /** So many bytes of a streamed answer are on their way to the client. */
  | readonly ['taken', RequestId, number]
  /** The client has gone, or has its answer. */
  | readonly ['gone', RequestId];

/** To the thread. */
export type AnswerFrame =
  /** Complete. Without bytes it has no body. */
  | readonly ['whole', RequestId, number, Headers, Bytes | typeof NO_BODY]
  /** Its body follows, whose length is or is not known. */
  | readonly ['begin', RequestId, number, Headers, number | null]
  | readonly ['data', RequestId, Bytes]
  | readonly ['end', RequestId]
  /** What was begun cannot be completed. */
  | readonly ['broken', RequestId]
  | readonly ['wantBody', RequestId];

export interface Batch {
  /** Frames in JSON. */
  readonly frames: string;
  /** What belongs to them, in their order. */
  readonly bytes: Uint8Array;
}

export type ToThread =
  | { readonly kind: 'listen'; readonly address: ListenerAddress }
  | { readonly kind: 'batch'; readonly batch: Batch }
  | { readonly kind: 'stop' }
  | { readonly kind: 'abort' };

export type FromThread =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'failed'; readonly error: SentError }
  | { readonly kind: 'batch'; readonly batch: Batch }
  /** A request to change protocols. What it sent and what it is sent goes through the port. */
  | { readonly kind: 'upgrade'; readonly request: RequestHead; readonly head: Uint8Array; readonly port: MessagePort }
  /** For the main thread's logger: what happened, and the error that was caught. */
  | { readonly kind: 'log'; readonly level: LogLevel; readonly message: string; readonly error: SentError | undefined }
  | { readonly kind: 'stopped' };

/** An error as it travels: `code` and `syscall` are what Node says of a port that cannot be had. */
export interface SentError {
  readonly message: string;
  readonly stack: string | undefined;
  readonly code: string | undefined;
  readonly syscall: string | undefined;
}

export function sentError(error: unknown): SentError {
  const { message, stack, code, syscall } = (error instanceof Error ? error : new Error(String(error))) as NodeJS.ErrnoException;
  return { message, stack, code, syscall };
}

export function receivedError({ message, ...rest }: SentError): Error {
  return Object.assign(new Error(message), rest);
}
