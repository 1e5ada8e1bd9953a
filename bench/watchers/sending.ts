// The server's own part of a delivery, without HTTP/2 and TLS: from the watchers' queues to writes
// of connections that take everything. It compares the two forms of `apiserver/http/`: watches that
// are iterated, and watches that are read in turns.

import { Writable } from 'node:stream';
import { sendIterated } from '#apiserver/http/iterated-watch.ts';
import { sendWatch } from '#apiserver/http/send-watch.ts';
import { FreshObject, SharedWatchEvent } from '#apiserver/registry/encoded-object.ts';
import type { EncodedWatchEvent } from '#apiserver/request.ts';
import { nextTurn } from '#machinery/turn.ts';
import { WatchQueue } from '#machinery/watch.ts';
import { heading, show } from '../report.ts';
import { thisThreadMs, Turns } from '../thread-cpu.ts';

const EVENT_BYTES = 4096;
const EVENTS = 20;
const FORMAT = { mediaType: 'application/json' } as const;
/** Turns of the event loop from one event to the next: enough to deliver it, and too few. */
const PAUSES = [200, 10];

export async function sending(watchers: number): Promise<void> {
  heading(
    `watchers: the part of a delivery before HTTP/2, ${watchers.toLocaleString('en')} watchers`,
  );
  for (const [name, send] of [
    ['iterated', sendIterated],
    ['read in turns', sendWatch],
  ] as const) {
    const connections = new Connections(watchers, send);
    // Most of the code runs for the first time.
    await connections.deliver(EVENTS / 2, PAUSES[0]!);
    for (const pause of PAUSES) {
      const { us, longestMs, perWrite } = await connections.deliver(EVENTS, pause);
      const what = `${name}, ${perWrite.toFixed(1)} events in a write`;
      show({ what: `${what}: each`, unit: 'µs', values: [us] });
      show({ what: '  longest turn of the event loop', unit: 'ms', values: [longestMs] });
    }
    connections.close();
  }
}

class Connections {
  readonly #queues: WatchQueue<EncodedWatchEvent>[] = [];
  #delivered = 0;
  #writes = 0;
  #serial = 0;

  constructor(watchers: number, send: typeof sendWatch) {
    for (let i = 0; i < watchers; i++) {
      const queue = new WatchQueue<EncodedWatchEvent>();
      this.#queues.push(queue);
      const writable = this.#connection();
      const sink = {
        writable,
        open: true,
        begin: () => undefined,
        whole: () => undefined,
      };
      void send(sink, queue, FORMAT);
    }
  }

  /** Returns a connection that has sent a write in the next turn of the event loop. */
  #connection(): Writable {
    const taken = (bytes: number, done: () => void): void => {
      this.#delivered += Math.floor(bytes / EVENT_BYTES);
      this.#writes++;
      setImmediate(done);
    };
    return new Writable({
      write: (chunk: Buffer, _encoding, done) => taken(chunk.length, done),
      writev: (chunks, done) => {
        let bytes = 0;
        for (const { chunk } of chunks) bytes += (chunk as Buffer).length;
        taken(bytes, done);
      },
    });
  }

  async deliver(
    events: number,
    pause: number,
  ): Promise<{ readonly us: number; readonly longestMs: number; readonly perWrite: number }> {
    const deliveries = events * this.#queues.length;
    const end = this.#delivered + deliveries;
    const writes = this.#writes;
    const turns = new Turns();
    const cpu = thisThreadMs();
    for (let i = 0; i < events; i++) {
      const object = { kind: 'ConfigMap', serial: this.#serial++, data: 'x'.repeat(EVENT_BYTES) };
      const event = new SharedWatchEvent('MODIFIED', new FreshObject(object));
      for (const queue of this.#queues) queue.push(event);
      for (let turn = 0; turn < pause; turn++) await nextTurn();
    }
    while (this.#delivered < end) await nextTurn();
    const used = thisThreadMs() - cpu;
    return {
      us: (used * 1000) / deliveries,
      longestMs: turns.stop(),
      perWrite: deliveries / (this.#writes - writes),
    };
  }

  close(): void {
    for (const queue of this.#queues) queue.close();
  }
}
