// The secure port in a thread of its own, as the main thread sees it: TLS and HTTP are a third of the work of an API server, and on a
// machine with several cores they are done beside the rest.

import { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import type { Logger } from '../../../machinery/log.ts';
import { portDuplex } from '../../../machinery/port-duplex.ts';
import { workerSource } from '../../../machinery/worker-source.ts';
import type { PeerCertificate, RequestBody } from '../../request.ts';
import type { RequestFields } from '../../request-state.ts';
import { endedEarly, noBody, tooLarge } from '../body-reader.ts';
import type { ListenerConfig } from '../listener.ts';
import { type AcceptedRequest, CLIENT_GONE, type RequestAcceptor } from '../request-acceptor.ts';
import { BatchWriter, readBatch } from './batches.ts';
import {
  type AnswerFrame,
  BODY_ON_DEMAND,
  type FromThread,
  NO_BODY,
  receivedError,
  type RequestFrame,
  type RequestHead,
  type RequestId,
  type ToThread,
} from './messages.ts';
import { RemoteSink } from './remote-sink.ts';

/** A request that has not been answered. */
interface Pending {
  readonly sink: RemoteSink;
  readonly body: BodyOnDemand | undefined;
  request: AcceptedRequest | undefined;
}

interface BodyOnDemand {
  readonly resolve: (bytes: Uint8Array) => void;
  readonly reject: (error: Error) => void;
}

/** Certificates that are remembered, so that all requests with one have the same object. */
const MAX_CERTIFICATES = 1000;

export class ListenerThread {
  readonly #worker: Worker;
  readonly #out: BatchWriter<AnswerFrame>;
  readonly #pending = new Map<RequestId, Pending>();
  #certificates = new Map<string, PeerCertificate>();
  #config: ListenerConfig | undefined;
  #listening: { readonly resolve: (port: number) => void; readonly reject: (error: Error) => void } | undefined;
  readonly #exited: Promise<void>;
  #hasExited = false;
  #stopping = false;
  #fail: (error: Error) => void = () => undefined;
  /** Resolves if the thread ends before it is stopped: nothing is answered any more. */
  readonly failed: Promise<Error>;

  /** The thread loads its program meanwhile; start() gives it work. */
  constructor() {
    this.failed = new Promise((resolve) => (this.#fail = resolve));
    const { url, execArgv } = workerSource(
      new URL('./listener-thread.js', import.meta.url),
      new URL('./main.ts', import.meta.url),
    );
    this.#worker = new Worker(url, { execArgv });
    // Answers that become known in one go are sent in one go, at the end of it.
    this.#out = new BatchWriter(
      (batch, transfer) => this.#worker.postMessage({ kind: 'batch', batch } satisfies ToThread, transfer),
      (flush) => process.nextTick(flush),
    );
    this.#worker.on('message', (message: FromThread) => this.#receive(message));
    this.#worker.on('error', (error) => this.#failedWith(error));
    this.#exited = new Promise((resolve) => {
      this.#worker.once('exit', (code) => {
        this.#hasExited = true;
        if (!this.#stopping) this.#failedWith(new Error(`the thread of the secure port ended with status ${code}`));
        resolve();
      });
    });
  }

  /** Once. Resolves with the port. Rejects if it cannot be had (in use, no permission). */
  start(config: ListenerConfig): Promise<number> {
    this.#config = config;
    const { bindAddress, port, key, cert, clientCa } = config;
    const listening = new Promise<number>((resolve, reject) => (this.#listening = { resolve, reject }));
    this.#tell({ kind: 'listen', address: { bindAddress, port, key, cert, clientCa } });
    return Promise.race([listening, this.failed.then((error) => Promise.reject(error))]);
  }

  /** Takes no new connections; resolves when the requests under way have been answered and all connections are closed. */
  async stop(): Promise<void> {
    if (!this.#stopping) {
      this.#stopping = true;
      this.#tell({ kind: 'stop' });
    }
    await this.#exited;
    this.#leaveAll();
  }

  /** Ends what `stop` still waits for. */
  abort(): void {
    this.#tell({ kind: 'abort' });
  }

  #tell(message: ToThread): void {
    if (!this.#hasExited) this.#worker.postMessage(message, []);
  }

  #failedWith(error: Error): void {
    this.#fail(error);
    this.#leaveAll();
  }

  /** Nobody is there any more. */
  #leaveAll(): void {
    for (const id of [...this.#pending.keys()]) this.#gone(id);
  }

  #receive(message: FromThread): void {
    const config = this.#config as ListenerConfig;
    switch (message.kind) {
      case 'listening':
        this.#listening?.resolve(message.port);
        return;
      case 'failed':
        this.#listening?.reject(receivedError(message.error));
        return;
      case 'batch':
        readBatch<RequestFrame>(message.batch, (frame, take) => this.#frame(config.acceptor, frame, take));
        return;
      case 'upgrade':
        this.#upgrade(config.acceptor, message);
        return;
      case 'log':
        log(config.logger, message);
        return;
      case 'stopped':
        void this.#worker.terminate();
    }
  }

  #frame(acceptor: RequestAcceptor, frame: RequestFrame, take: (length: number) => Buffer): void {
    const id = frame[1];
    switch (frame[0]) {
      case 'request': {
        const [, , head, length] = frame;
        if (length >= 0) this.#begin(acceptor, id, head, bytesBody(take(length)), undefined);
        else if (length === NO_BODY) this.#begin(acceptor, id, head, noBody, undefined);
        else if (length === BODY_ON_DEMAND) this.#beginWithoutBody(acceptor, id, head);
        return;
      }
      case 'body':
        this.#pending.get(id)?.body?.resolve(take(frame[2]));
        return;
      case 'noBody':
        this.#pending.get(id)?.body?.reject(frame[2] === 413 ? tooLarge() : endedEarly());
        return;
      case 'taken':
        this.#pending.get(id)?.sink.taken(frame[2]);
        return;
      case 'gone':
        this.#gone(id);
    }
  }

  #beginWithoutBody(acceptor: RequestAcceptor, id: RequestId, head: RequestHead): void {
    let onDemand: BodyOnDemand | undefined;
    const arrived = new Promise<Uint8Array>((resolve, reject) => (onDemand = { resolve, reject }));
    // Who does not ask for it need not hear that it is not there.
    arrived.catch(() => undefined);
    let asked = false;
    const read = (): Promise<Uint8Array> => {
      if (!asked) {
        asked = true;
        this.#out.add(['wantBody', id]);
      }
      return arrived;
    };
    this.#begin(acceptor, id, head, { kind: 'bytes', read }, onDemand);
  }

  #begin(
    acceptor: RequestAcceptor,
    id: RequestId,
    head: RequestHead,
    body: RequestBody,
    onDemand: BodyOnDemand | undefined,
  ): void {
    const sink = new RemoteSink(id, this.#out, () => this.#gone(id));
    const pending: Pending = { sink, body: onDemand, request: undefined };
    this.#pending.set(id, pending);
    pending.request = acceptor.begin(this.#fieldsOf(head, body), sink);
  }

  /** The client has gone, or all of its answer is on its way. */
  #gone(id: RequestId): void {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#pending.delete(id);
    pending.sink.gone();
    pending.body?.reject(endedEarly());
    pending.request?.abort(CLIENT_GONE);
  }

  #upgrade(acceptor: RequestAcceptor, { request, head, port }: Extract<FromThread, { readonly kind: 'upgrade' }>): void {
    const socket = portDuplex(port);
    // What Node makes of a request's head, for those who answer in the other protocol.
    const message = new IncomingMessage(socket as Socket);
    message.method = request.method;
    message.url = request.query === '' ? request.path : `${request.path}?${request.query}`;
    message.headers = { ...request.headers };
    message.httpVersionMajor = 1;
    message.httpVersionMinor = 1;
    message.httpVersion = '1.1';
    acceptor.upgrade(this.#fieldsOf(request, noBody), { message, socket, head: Buffer.from(head) });
  }

  #fieldsOf({ peerCertificate, ...head }: RequestHead, body: RequestBody): RequestFields {
    return { ...head, body, ...(peerCertificate !== '' && { peerCertificate: this.#certificate(peerCertificate) }) };
  }

  #certificate(text: string): PeerCertificate {
    let certificate = this.#certificates.get(text);
    if (certificate === undefined) {
      if (this.#certificates.size >= MAX_CERTIFICATES) this.#certificates = new Map();
      certificate = JSON.parse(text) as PeerCertificate;
      this.#certificates.set(text, certificate);
    }
    return certificate;
  }
}

function bytesBody(bytes: Uint8Array): RequestBody {
  return { kind: 'bytes', read: () => Promise.resolve(bytes) };
}

function log(logger: Logger, { level, message, error }: Extract<FromThread, { readonly kind: 'log' }>): void {
  if (error === undefined) logger[level](message);
  else logger[level](message, { err: receivedError(error) });
}
