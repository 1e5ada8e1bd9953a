// For tests: two Duplex streams, each of which reads the data that is written to the other, with
// back-pressure as on a socket.

import { Duplex } from 'node:stream';
import { inNextTurn } from '../../pending-work.ts';

class End extends Duplex {
  peer!: End;
  #pending: (() => void) | undefined;

  override _read(): void {
    const pending = this.#pending;
    this.#pending = undefined;
    pending?.();
  }

  override _write(
    chunk: Buffer,
    _encoding: BufferEncoding,
    done: (err?: Error | null) => void,
  ): void {
    const { peer } = this;
    if (peer.destroyed) done();
    else if (peer.push(chunk)) inNextTurn(done);
    else peer.#pending = done;
  }

  override _final(done: () => void): void {
    this.peer.push(null);
    done();
  }

  override _destroy(err: Error | null, done: (err: Error | null) => void): void {
    if (!this.peer.destroyed && !this.peer.readableEnded) this.peer.push(null);
    done(err);
  }
}

export function duplexPair(): [Duplex, Duplex] {
  const a = new End();
  const b = new End();
  a.peer = b;
  b.peer = a;
  return [a, b];
}
