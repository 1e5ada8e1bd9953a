// Audit events of a worker on their way to the main process, which has the log. They go over one
// stream of the link, as lines: the worker sends a number and events, and the main process returns
// the number and whether the events are written.

import { StringDecoder } from 'node:string_decoder';
import type { Duplex } from 'node:stream';
import { AuditEvent, type AuditEventFields, type AuditSink } from '#apiserver/audit/index.ts';
import { inNextTurn } from '#machinery/pending-work.ts';

type Message = readonly [id: number, events: readonly AuditEventFields[]];
type Answer = readonly [id: number, written: boolean];

/** A request and its response may be in an event, each of at most 3 MB, besides JSON's escapes. */
const MAX_LINE = 256 * 1024 * 1024;

/**
 * A sink in a worker. Events of one turn of the event loop are one message. The requests that wait
 * for their events bound the number of messages in flight.
 */
export class RemoteAuditSink implements AuditSink {
  readonly #open: () => Promise<Duplex>;
  #stream: Promise<Duplex> | undefined;
  #waiting: { readonly events: readonly AuditEvent[]; readonly done: (ok: boolean) => void }[] = [];
  readonly #sent = new Map<number, (ok: boolean) => void>();
  readonly #unanswered = new Set<Promise<boolean>>();
  #last = 0;

  /** `open`: opens the stream to the main process. */
  constructor(open: () => Promise<Duplex>) {
    this.#open = open;
  }

  /** Resolves with false if the main process has not written the events, or is gone. */
  process(events: readonly AuditEvent[]): Promise<boolean> {
    const processed = new Promise<boolean>((done) => {
      if (this.#waiting.push({ events, done }) === 1) inNextTurn(() => void this.#send());
    });
    this.#unanswered.add(processed);
    void processed.then(() => this.#unanswered.delete(processed));
    return processed;
  }

  /** Resolves when the main process has answered everything. */
  async stop(): Promise<void> {
    await Promise.all(this.#unanswered);
    (await this.#stream?.catch(() => undefined))?.end();
  }

  async #send(): Promise<void> {
    const batch = this.#waiting;
    this.#waiting = [];
    const id = ++this.#last;
    this.#sent.set(id, (ok) => {
      for (const { done } of batch) done(ok);
    });
    try {
      const stream = await (this.#stream ??= this.#connect());
      const message: Message = [
        id,
        batch.flatMap(({ events }) => events.map(({ fields }) => fields)),
      ];
      stream.write(`${JSON.stringify(message)}\n`);
    } catch {
      this.#failed();
    }
  }

  async #connect(): Promise<Duplex> {
    const stream = await this.#open();
    readLines(stream, (line) => {
      const [id, written] = JSON.parse(line) as Answer;
      const answered = this.#sent.get(id);
      this.#sent.delete(id);
      answered?.(written);
    });
    stream.once('close', () => this.#failed());
    return stream;
  }

  /** The events in flight may be written, or not. The next ones open another stream. */
  #failed(): void {
    this.#stream = undefined;
    const sent = [...this.#sent.values()];
    this.#sent.clear();
    for (const answered of sent) answered(false);
  }
}

/** Serves a worker's stream in the main process, until it ends. `process`: see AuditSink. */
export function serveAuditStream(stream: Duplex, process: AuditSink['process']): void {
  readLines(stream, (line) => {
    const [id, events] = JSON.parse(line) as Message;
    void process(events.map((fields) => new AuditEvent(fields))).then((written) => {
      if (stream.writable) stream.write(`${JSON.stringify([id, written] satisfies Answer)}\n`);
    });
  });
  stream.once('end', () => stream.end());
}

/** Calls `onLine` for each line. A line that is too long, or that throws, destroys the stream. */
function readLines(stream: Duplex, onLine: (line: string) => void): void {
  const decoder = new StringDecoder('utf8');
  let pieces: string[] = [];
  let length = 0;
  stream.on('data', (chunk: Buffer) => {
    const parts = decoder.write(chunk).split('\n');
    try {
      for (const [index, part] of parts.entries()) {
        pieces.push(part);
        length += part.length;
        if (length > MAX_LINE) throw new Error('a line is too long');
        if (index === parts.length - 1) break;
        const line = pieces.join('');
        pieces = [];
        length = 0;
        onLine(line);
      }
    } catch (error) {
      stream.destroy(error instanceof Error ? error : new Error(String(error)));
    }
  });
}
