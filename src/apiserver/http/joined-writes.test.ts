import { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { joinWrites } from './joined-writes.ts';

/** Keeps what it is given, piece by piece; decodes no strings, like a socket. */
class Pieces extends Duplex {
  readonly pieces: Buffer[][] = [];

  constructor() {
    super({ decodeStrings: false });
  }

  override _read(): void {}

  override _write(chunk: string | Buffer, encoding: BufferEncoding, callback: () => void): void {
    this.#keep([{ chunk, encoding }], callback);
  }

  override _writev(chunks: { chunk: string | Buffer; encoding: BufferEncoding }[], callback: () => void): void {
    this.#keep(chunks, callback);
  }

  #keep(chunks: readonly { chunk: string | Buffer; encoding: BufferEncoding }[], callback: () => void): void {
    this.pieces.push(chunks.map(({ chunk, encoding }) => (typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk)));
    callback();
  }
}

function written(write: (socket: Duplex) => void): Buffer[][] {
  const socket = new Pieces();
  joinWrites(socket as unknown as TLSSocket);
  socket.cork();
  write(socket);
  socket.uncork();
  return socket.pieces;
}

describe('writes to a connection', () => {
  it('that come together are one', async () => {
    const done: string[] = [];
    const [pieces, ...more] = written((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nA: é\r\n\r\n', 'latin1');
      socket.write(Buffer.from([0, 1, 255]), () => done.push('body'));
      socket.write('é€', 'utf8');
      socket.write('', 'latin1', () => done.push('end'));
    });
    expect(more).toEqual([]);
    expect(pieces).toEqual([
      Buffer.concat([
        Buffer.from('HTTP/1.1 200 OK\r\nA: é\r\n\r\n', 'latin1'),
        Buffer.from([0, 1, 255]),
        Buffer.from('é€', 'utf8'),
      ]),
    ]);
    await expect.poll(() => done).toEqual(['body', 'end']);
  });

  it('that are large stay as they are', () => {
    const head = 'HTTP/1.1 200 OK\r\n\r\n';
    const body = Buffer.alloc(16 * 1024, 7);
    const pieces = written((socket) => {
      socket.write(head, 'latin1');
      socket.write(body);
    });
    expect(pieces).toEqual([[Buffer.from(head), body]]);
  });
});
