// Where the answer to a request goes whose connection is in the other thread.

import { Writable } from 'node:stream';
import type { ConnectionSink } from '../sink.ts';
import type { BatchWriter } from './batches.ts';
import { type AnswerFrame, NO_BODY, type RequestId } from './messages.ts';

/** So many bytes of an answer may be on their way to the client before more is taken. */
const WINDOW_BYTES = 1024 * 1024;
/** Smaller pieces wait for others that go with them; for that they are copied, since a writer may use its buffer again. */
const SENT_AT_ONCE_BYTES = 16 * 1024;

type Headers = Record<string, string | readonly string[]>;

export class RemoteSink implements ConnectionSink {
  readonly #id: RequestId;
  readonly #out: BatchWriter<AnswerFrame>;
  readonly #onEnd: () => void;
  #body: RemoteBody | undefined;
  #gone = false;
  begun = false;

  /** `onEnd`: nothing more of the answer will come. */
  constructor(id: RequestId, out: BatchWriter<AnswerFrame>, onEnd: () => void) {
    this.#id = id;
    this.#out = out;
    this.#onEnd = onEnd;
  }

  get open(): boolean {
    return !this.#gone && this.#body?.destroyed !== true && this.#body?.writableEnded !== true;
  }

  get writable(): RemoteBody {
    return (this.#body ??= new RemoteBody(this.#id, this.#out, this.#onEnd));
  }

  begin(code: number, headers: Headers, length: number | undefined): void {
    if (!this.open) return;
    this.begun = true;
    this.#out.add(['begin', this.#id, code, headers, length ?? null]);
  }

  whole(code: number, headers: Headers, body: Uint8Array | undefined): void {
    if (!this.open) return;
    this.begun = true;
    if (body === undefined) this.#out.add(['whole', this.#id, code, headers, NO_BODY]);
    else this.#out.add(['whole', this.#id, code, headers, body.length], body);
    this.#onEnd();
  }

  /** The client takes nothing any more. */
  gone(): void {
    this.#gone = true;
    this.#body?.abandon();
  }

  taken(bytes: number): void {
    this.#body?.taken(bytes);
  }
}

/** The body of a streamed answer. */
class RemoteBody extends Writable {
  readonly #id: RequestId;
  readonly #out: BatchWriter<AnswerFrame>;
  /** Sent and not taken yet. */
  #underWay = 0;
  #room: (() => void) | undefined;
  #abandoned = false;
  #ended = false;

  readonly #onEnd: () => void;

  constructor(id: RequestId, out: BatchWriter<AnswerFrame>, onEnd: () => void) {
    super();
    this.#id = id;
    this.#out = out;
    this.#onEnd = onEnd;
    // Who writes looks at whether it is open.
    this.on('error', () => undefined);
  }

  taken(bytes: number): void {
    this.#underWay -= bytes;
    if (this.#underWay >= WINDOW_BYTES) return;
    const room = this.#room;
    this.#room = undefined;
    room?.();
  }

  /** There is nobody any more to tell that it ends. */
  abandon(): void {
    this.#abandoned = true;
    this.destroy();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#data([chunk], done);
  }

  override _writev(chunks: { readonly chunk: Buffer }[], done: () => void): void {
    this.#data(
      chunks.map(({ chunk }) => chunk),
      done,
    );
  }

  #data(chunks: readonly Buffer[], done: () => void): void {
    const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    this.#underWay += length;
    if (length >= SENT_AT_ONCE_BYTES) {
      this.#out.add(['data', this.#id, length], ...chunks);
      this.#out.flush();
    } else {
      this.#out.add(['data', this.#id, length], Buffer.concat(chunks));
    }
    if (this.#underWay < WINDOW_BYTES) done();
    else this.#room = done;
  }

  override _final(done: () => void): void {
    this.#ended = true;
    this.#out.add(['end', this.#id]);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.#ended && !this.#abandoned) this.#out.add(['broken', this.#id]);
    this.#onEnd();
    done(error);
  }
}
