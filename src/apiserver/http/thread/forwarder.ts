// In the thread of the secure port: hands requests to the main thread, and its answers to their connections.

import { MessageChannel, type TransferListItem } from 'node:worker_threads';
import { StatusError } from '../../../machinery/apierrors.ts';
import { portDuplex } from '../../../machinery/port-duplex.ts';
import type { PeerCertificate } from '../../request.ts';
import type { RequestFields } from '../../request-state.ts';
import { noBody } from '../body-reader.ts';
import type { AcceptedRequest, RequestAcceptor, UpgradedConnection } from '../request-acceptor.ts';
import type { ConnectionSink } from '../sink.ts';
import { BatchWriter, readBatch } from './batches.ts';
import {
  type AnswerFrame,
  type Batch,
  BODY_ON_DEMAND,
  type FromThread,
  NO_BODY,
  type RequestFrame,
  type RequestHead,
  type RequestId,
} from './messages.ts';

/** Bodies that are said to be no longer than this go with their request; others when they are asked for. */
const SENT_ALONG_BYTES = 64 * 1024;
/** That so much of an answer has been taken is worth saying. */
const TAKEN_BYTES = 128 * 1024;

/** Says it to the main thread. */
export type Tell = (message: FromThread, transfer: readonly TransferListItem[]) => void;

/** A request that has not got all of its answer. */
interface Pending {
  readonly fields: RequestFields;
  readonly sink: ConnectionSink;
  /** Bytes of the answer that the client has got, and that has not been said. */
  taken: number;
}

export class Forwarder implements RequestAcceptor {
  readonly #tell: Tell;
  readonly #out: BatchWriter<RequestFrame>;
  readonly #pending = new Map<RequestId, Pending>();
  readonly #certificates = new WeakMap<PeerCertificate, string>();
  #ids = 0;

  constructor(tell: Tell) {
    this.#tell = tell;
    // What arrives in one turn of the event loop goes together.
    this.#out = new BatchWriter((batch, transfer) => tell({ kind: 'batch', batch }, transfer), setImmediate);
  }

  begin(fields: RequestFields, sink: ConnectionSink): AcceptedRequest {
    const id = this.#ids++;
    this.#pending.set(id, { fields, sink, taken: 0 });
    const { body } = fields;
    const announced = Number(fields.headers['content-length'] ?? Number.NaN);
    if (body.kind !== 'bytes') throw new TypeError('a request on a connection has a body of bytes');
    if (body === noBody) this.#out.add(['request', id, this.#headOf(fields), NO_BODY]);
    else if (announced <= SENT_ALONG_BYTES) {
      body.read().then(
        (bytes) => {
          if (this.#pending.has(id)) this.#out.add(['request', id, this.#headOf(fields), bytes.length], bytes);
        },
        // It ended early: there is nobody who waits for an answer.
        () => this.#pending.delete(id),
      );
    } else this.#out.add(['request', id, this.#headOf(fields), BODY_ON_DEMAND]);
    return { abort: () => this.#gone(id) };
  }

  upgrade(fields: RequestFields, { socket, head }: UpgradedConnection): void {
    const { port1, port2 } = new MessageChannel();
    const other = portDuplex(port1);
    socket.pipe(other);
    other.pipe(socket);
    socket.on('error', () => other.destroy());
    socket.on('close', () => other.destroy());
    other.on('error', () => socket.destroy());
    this.#tell({ kind: 'upgrade', request: this.#headOf(fields), head: new Uint8Array(head), port: port2 }, [port2]);
  }

  receive(batch: Batch): void {
    readBatch<AnswerFrame>(batch, (frame, take) => this.#receive(frame, take));
  }

  #receive(frame: AnswerFrame, take: (length: number) => Buffer): void {
    const id = frame[1];
    const pending = this.#pending.get(id);
    switch (frame[0]) {
      case 'whole': {
        const [, , code, headers, length] = frame;
        const body = length === NO_BODY ? undefined : take(length);
        this.#pending.delete(id);
        if (pending?.sink.open === true) pending.sink.whole(code, { ...headers }, body);
        return;
      }
      case 'begin': {
        const [, , code, headers, length] = frame;
        if (pending?.sink.open === true) pending.sink.begin(code, { ...headers }, length ?? undefined);
        return;
      }
      case 'data': {
        const data = take(frame[2]);
        if (pending?.sink.open === true) pending.sink.writable.write(data, () => this.#taken(id, pending, data.length));
        return;
      }
      case 'end':
        this.#pending.delete(id);
        if (pending?.sink.open === true) pending.sink.writable.end();
        return;
      case 'broken':
        this.#pending.delete(id);
        pending?.sink.writable.destroy(new Error('the response could not be sent entirely'));
        return;
      case 'wantBody':
        if (pending !== undefined) void this.#sendBody(id, pending.fields);
    }
  }

  async #sendBody(id: RequestId, { body }: RequestFields): Promise<void> {
    try {
      if (body.kind !== 'bytes') throw new TypeError('a request on a connection has a body of bytes');
      const bytes = await body.read();
      this.#out.add(['body', id, bytes.length], bytes);
    } catch (error) {
      this.#out.add(['noBody', id, error instanceof StatusError && error.code === 413 ? 413 : 400]);
    }
  }

  #taken(id: RequestId, pending: Pending, bytes: number): void {
    pending.taken += bytes;
    if (pending.taken < TAKEN_BYTES || !this.#pending.has(id)) return;
    this.#out.add(['taken', id, pending.taken]);
    pending.taken = 0;
  }

  /** The client has gone, or has all of its answer. */
  #gone(id: RequestId): void {
    if (this.#pending.delete(id)) this.#out.add(['gone', id]);
  }

  #headOf({ method, path, query, headers, remoteAddress, peerCertificate }: RequestFields): RequestHead {
    return {
      method,
      path,
      query: query as string,
      headers,
      remoteAddress,
      peerCertificate: peerCertificate === undefined ? '' : this.#certificateText(peerCertificate),
    };
  }

  #certificateText(certificate: PeerCertificate): string {
    let text = this.#certificates.get(certificate);
    if (text === undefined) {
      text = JSON.stringify(certificate);
      this.#certificates.set(certificate, text);
    }
    return text;
  }
}
