// Two ends of an in-process connection: data written to one end is read from the other, with
// back-pressure as on a socket. Servers can be reached without opening a port.

import { Duplex } from 'node:stream';
import { inNextTurn } from '../pending-work.ts';

class End extends Duplex {
  /** Set right after both ends are created. */
  peer!: End;
  /** Resumes the peer's writer when there is room again. */
  #resume: (() => void) | undefined;

  override _read(): void {
    const resume = this.#resume;
    this.#resume = undefined;
    resume?.();
  }

  override _write(
    chunk: Buffer,
    _encoding: BufferEncoding,
    done: (err?: Error | null) => void,
  ): void {
    const { peer } = this;
    if (peer.destroyed)
      done(Object.assign(new Error('the other end is closed'), { code: 'EPIPE' }));
    else if (peer.push(chunk)) inNextTurn(done);
    else peer.#resume = () => done();
  }

  override _final(done: () => void): void {
    if (!this.peer.destroyed) this.peer.push(null);
    done();
  }

  override _destroy(err: Error | null, done: (err: Error | null) => void): void {
    const resume = this.#resume;
    this.#resume = undefined;
    resume?.();
    const { peer } = this;
    if (!peer.destroyed && !peer.readableEnded) {
      // A half-closed peer sees the end of its readable side.
      peer.push(null);
    }
    done(err);
  }
}

export function duplexPair(): readonly [Duplex, Duplex] {
  const a = new End();
  const b = new End();
  a.peer = b;
  b.peer = a;
  return [a, b];
}
