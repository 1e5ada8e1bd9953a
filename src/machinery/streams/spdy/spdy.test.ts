import { once } from 'node:events';
import { PassThrough, type Duplex } from 'node:stream';
import { createDeflate, createInflate, constants } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { FrameDecoder, FrameEncoder, type ControlFrame, type Frame } from './frames.ts';
import { HeaderCompressor, HeaderDecompressor, headerDictionary } from './header-compression.ts';
import { SpdyConnection, SpdyProtocolError, type SpdyStream } from './index.ts';
import { duplexPair } from './test-pair.ts';

/** Decompresses the blocks of one direction with plain zlib. */
async function inflateAll(blocks: Buffer[]): Promise<Buffer> {
  const inflate = createInflate({ dictionary: headerDictionary });
  const out: Buffer[] = [];
  inflate.on('data', (chunk: Buffer) => out.push(chunk));
  for (const block of blocks) inflate.write(block);
  await new Promise<void>((resolve) => inflate.flush(() => resolve()));
  return Buffer.concat(out);
}

/** Compresses blocks as a peer with one zlib stream per connection does. */
async function deflateEach(plain: Buffer[]): Promise<Buffer[]> {
  const deflate = createDeflate({ level: 9, dictionary: headerDictionary });
  const blocks: Buffer[] = [];
  for (const part of plain) {
    deflate.write(part);
    await new Promise<void>((resolve) => deflate.flush(constants.Z_SYNC_FLUSH, resolve));
    const pieces: Buffer[] = [];
    for (let piece; (piece = deflate.read() as Buffer | null) !== null;) pieces.push(piece);
    blocks.push(Buffer.concat(pieces));
  }
  return blocks;
}

function headerBlock(headers: Record<string, string>): Buffer {
  const text = (value: string): Buffer =>
    Buffer.concat([Buffer.from([0, 0, 0, value.length]), Buffer.from(value)]);
  const pairs = Object.entries(headers);
  return Buffer.concat([Buffer.from([0, 0, 0, pairs.length]), ...pairs.flat().map(text)]);
}

describe('header compression', () => {
  test('the other end can read every block, whatever blocks came before', () => {
    const compressor = new HeaderCompressor();
    const decompressor = new HeaderDecompressor();
    const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,12}$/);
    const value = fc.string({ maxLength: 40 }).map((text) => text.replaceAll('\0', ''));
    fc.assert(
      fc.property(
        fc.dictionary(name, fc.array(value, { minLength: 1, maxLength: 3 }), { maxKeys: 8 }),
        (headers) => {
          expect({ ...decompressor.decompress(compressor.compress(headers)) }).toEqual({
            ...headers,
          });
        },
      ),
      { numRuns: 300 },
    );
  });

  test('blocks are readable beyond the history window', () => {
    const compressor = new HeaderCompressor();
    const decompressor = new HeaderDecompressor();
    for (let i = 0; i < 5; i++) {
      const headers = { a: [String(i).repeat(20_000)], b: ['the same as before'] };
      expect({ ...decompressor.decompress(compressor.compress(headers)) }).toEqual(headers);
    }
  });

  test('the dictionary is that of SPDY/3', () => {
    // The dictionary's Adler-32 is part of the protocol, at the start of the compressed stream.
    const block = new HeaderCompressor().compress({ host: ['x'] });
    expect(block.subarray(2, 6).toString('hex')).toBe('e3c6a7c2');
    expect(headerDictionary.length).toBe(1423);
  });

  const examples: Record<string, string>[] = [
    { streamtype: 'error', port: '8080', requestid: '0' },
    { streamtype: 'data', port: '8080', requestid: '0' },
    {},
    { streamtype: 'error', port: '8080', requestid: '1', accept: 'gzip,deflate' },
  ];

  test('an ordinary zlib stream understands the blocks', async () => {
    const compressor = new HeaderCompressor();
    const blocks = examples.map((headers) =>
      compressor.compress(
        Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
      ),
    );
    expect(await inflateAll(blocks)).toEqual(
      Buffer.concat(examples.map((headers) => headerBlock(headers))),
    );
  });

  test('the blocks of an ordinary zlib stream are understood', async () => {
    const decompressor = new HeaderDecompressor();
    const blocks = await deflateEach(examples.map((headers) => headerBlock(headers)));
    blocks.forEach((block, i) => {
      const headers = Object.entries(decompressor.decompress(block)).map(([name, values]) => [
        name,
        values.join(),
      ]);
      expect(Object.fromEntries(headers)).toEqual(examples[i]);
    });
  });

  test('a stream without the dictionary is rejected', () => {
    const block = new HeaderCompressor().compress({ a: ['b'] });
    expect(() => new HeaderDecompressor().decompress(block.subarray(1))).toThrow(/dictionary/);
  });

  test('a block that decompresses beyond the limit is rejected', () => {
    const bomb = new HeaderCompressor().compress({ a: ['x'.repeat(1_000_000)] });
    expect(bomb.length).toBeLessThan(10_000);
    expect(() => new HeaderDecompressor().decompress(bomb)).toThrow(/cannot decompress/);
  });
});

describe('frames', () => {
  const frames: ControlFrame[] = [
    {
      type: 'synStream',
      streamId: 1,
      headers: { streamtype: ['error'], port: ['80', '81'] },
      fin: false,
    },
    { type: 'synReply', streamId: 1, headers: {}, fin: true },
    { type: 'headers', streamId: 3, headers: { a: ['b'] }, fin: false },
    { type: 'rstStream', streamId: 5, status: 5 },
    {
      type: 'settings',
      values: new Map([
        [7, 65536],
        [4, 100],
      ]),
    },
    { type: 'ping', id: 4_000_000_001 },
    { type: 'goAway', lastGoodStreamId: 7, status: 0 },
    { type: 'windowUpdate', streamId: 1, delta: 1024 },
  ];

  test.each([1, 3, 7, 1000])('are decoded as encoded, in pieces of %i bytes', (size) => {
    const encoder = new FrameEncoder();
    const data = Buffer.from('hello, world');
    const wire = Buffer.concat([
      ...frames.map((frame) => encoder.encode(frame)),
      encoder.dataHeader(9, data.length, true),
      data,
      encoder.dataHeader(11, 0, true),
    ]);
    const decoder = new FrameDecoder();
    const out: Frame[] = [];
    for (let i = 0; i < wire.length; i += size)
      out.push(...decoder.decode(wire.subarray(i, i + size)));
    const control = out.filter((frame) => frame.type !== 'data');
    expect(JSON.stringify(control)).toBe(JSON.stringify(frames));
    const pieces = out.filter((frame) => frame.type === 'data' && frame.streamId === 9);
    expect(
      Buffer.concat(pieces.map((piece) => (piece.type === 'data' ? piece.data : Buffer.alloc(0)))),
    ).toEqual(data);
    expect(pieces.map((piece) => piece.type === 'data' && piece.fin).lastIndexOf(true)).toBe(
      pieces.length - 1,
    );
    expect(pieces.filter((piece) => piece.type === 'data' && piece.fin)).toHaveLength(1);
    expect(out.at(-1)).toMatchObject({ streamId: 11, fin: true });
  });

  test('invalid bytes are a protocol error, not a crash', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 64 }), { maxLength: 8 }), (chunks) => {
        const decoder = new FrameDecoder();
        try {
          for (const chunk of chunks)
            for (const frame of decoder.decode(Buffer.from(chunk))) void frame;
        } catch (error) {
          expect(error).toBeInstanceOf(SpdyProtocolError);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test('a huge control frame is rejected before it is read', () => {
    expect(() => [...new FrameDecoder().decode(Buffer.from('8003000100ffffff', 'hex'))]).toThrow(
      /control frame/,
    );
  });
});

interface Pair {
  client: SpdyConnection;
  server: SpdyConnection;
  accepted: SpdyStream[];
  sockets: [Duplex, Duplex];
  clock: VirtualClock;
}

function pair(idleTimeoutMs?: number): Pair {
  const sockets = duplexPair();
  const clock = new VirtualClock();
  const accepted: SpdyStream[] = [];
  const server = new SpdyConnection({
    socket: sockets[1],
    side: 'server',
    clock,
    onStream: (stream) => accepted.push(stream),
    ...(idleTimeoutMs === undefined ? {} : { idleTimeoutMs }),
  });
  return {
    client: new SpdyConnection({ socket: sockets[0], side: 'client', clock }),
    server,
    accepted,
    sockets,
    clock,
  };
}

/** Reads all data. Unlike an iterator it leaves the other direction open. */
async function text(stream: Duplex): Promise<string> {
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(stream, 'end');
  return Buffer.concat(chunks).toString();
}

describe('connection', () => {
  test('streams carry data both ways, and each direction ends separately', async () => {
    const { client, accepted } = pair();
    const stream = await client.createStream({ streamType: ['stdin'] });
    expect(accepted[0]!.header('streamtype')).toBe('stdin');
    stream.end('question');
    expect(await text(accepted[0]!)).toBe('question');
    accepted[0]!.end('answer');
    expect(await text(stream)).toBe('answer');
  });

  test('many streams at once, far more data than any buffer', async () => {
    const { client, accepted } = pair();
    const streams = await Promise.all(
      Array.from({ length: 5 }, (_, i) => client.createStream({ n: [String(i)] })),
    );
    const data = Buffer.alloc(3_000_000, 'abcdefghij');
    const received = Promise.all(accepted.map((stream) => text(stream)));
    for (const stream of streams) stream.end(data);
    for (const got of await received) expect(got.length).toBe(data.length);
  });

  test('a slow reader blocks the sender instead of filling memory', async () => {
    const { client, accepted, clock } = pair();
    const stream = await client.createStream({});
    let written = 0;
    const chunk = Buffer.alloc(64 * 1024);
    const pump = (): void => {
      while (written < 100 * chunk.length) {
        written += chunk.length;
        if (!stream.write(chunk)) {
          stream.once('drain', pump);
          return;
        }
      }
      stream.end();
    };
    pump();
    await clock.settle();
    expect(written).toBeLessThan(2_000_000);
    expect((await text(accepted[0]!)).length).toBe(100 * chunk.length);
  });

  test('a reset ends reading after the received data, and fails writes', async () => {
    const { client, accepted, clock } = pair();
    const stream = await client.createStream({});
    stream.write('last words');
    await clock.settle();
    stream.destroy();
    await clock.settle();
    const peer = accepted[0]!;
    const failed = new Promise<Error>((resolve) => peer.once('error', resolve));
    peer.write('too late');
    expect((await failed).name).toBe('SpdyStreamResetError');
  });

  test('data received before the end of the connection can still be read', async () => {
    const { client, accepted } = pair();
    const stream = await client.createStream({});
    stream.write('all of it');
    client.close();
    expect(await text(accepted[0]!)).toBe('all of it');
  });

  test('pings are answered in both directions', async () => {
    const { client, server } = pair();
    await Promise.all([client.ping(), server.ping(), client.ping()]);
  });

  test('close sends GOAWAY, and the other side closes its socket', async () => {
    const { client, server, sockets } = pair();
    await client.createStream({});
    server.close();
    await Promise.all([client.closed, server.closed]);
    await expect(client.createStream({})).rejects.toThrow(/closed/);
    expect(client.error).toBeUndefined();
    await Promise.all(
      sockets
        .filter((socket) => !socket.closed)
        .map((socket) => new Promise((resolve) => socket.once('close', resolve))),
    );
  });

  test('invalid bytes from the other side end the connection with an error', async () => {
    const { server, sockets } = pair();
    sockets[0].write(Buffer.from([0x80, 9, 0, 1, 0, 0, 0, 0]));
    await server.closed;
    expect(server.error).toBeInstanceOf(SpdyProtocolError);
  });

  test('a stream id that is not new is a protocol error', async () => {
    const { server, sockets } = pair();
    const encoder = new FrameEncoder();
    sockets[0].write(encoder.encode({ type: 'synStream', streamId: 3, headers: {}, fin: false }));
    sockets[0].write(encoder.encode({ type: 'synStream', streamId: 1, headers: {}, fin: false }));
    await server.closed;
    expect(server.error).toBeInstanceOf(SpdyProtocolError);
  });

  test('an idle connection is closed', async () => {
    const { client, server, clock } = pair(60_000);
    await client.createStream({});
    await clock.advance('59s');
    await client.ping();
    await clock.advance('59s');
    let over = false;
    void server.closed.then(() => (over = true));
    await clock.settle();
    expect(over).toBe(false);
    await clock.advance('2s');
    expect(over).toBe(true);
    await client.closed;
  });

  test('a side without onStream rejects streams', async () => {
    const [a, b] = duplexPair();
    const clock = new VirtualClock();
    const client = new SpdyConnection({ socket: a, side: 'client', clock });
    const server = new SpdyConnection({ socket: b, side: 'server', clock });
    await expect(client.createStream({})).rejects.toThrow(/was rejected/);
    server.close();
    await client.closed;
  });

  test('accepts bytes that were read before', async () => {
    const encoder = new FrameEncoder();
    const head = encoder.encode({
      type: 'synStream',
      streamId: 1,
      headers: { a: ['b'] },
      fin: true,
    });
    const accepted: SpdyStream[] = [];
    const connection = new SpdyConnection({
      socket: new PassThrough(),
      head,
      side: 'server',
      clock: new VirtualClock(),
      onStream: (stream) => accepted.push(stream),
    });
    expect(accepted[0]!.header('a')).toBe('b');
    connection.close();
  });
});

test('a peer that sends pings and does not read the replies loses its connection', async () => {
  const [near, far] = duplexPair();
  const connection = new SpdyConnection({
    socket: near,
    side: 'server',
    clock: new VirtualClock(),
  });
  far.on('error', () => undefined);
  const encoder = new FrameEncoder();
  const pings = Buffer.concat(
    Array.from({ length: 1000 }, () => encoder.encode({ type: 'ping', id: 1 })),
  );
  let sent = 0;
  while (!near.destroyed && sent < 8 * 1024 * 1024) {
    sent += pings.length;
    await new Promise((resolve) => far.write(pings, resolve));
  }
  expect(near.destroyed).toBe(true);
  expect(connection.error).toBeInstanceOf(SpdyProtocolError);
  expect(sent).toBeLessThan(1024 * 1024);
});

test('a peer that reads gets a reply to each of its pings', async () => {
  const [near, far] = duplexPair();
  const connection = new SpdyConnection({
    socket: near,
    side: 'server',
    clock: new VirtualClock(),
  });
  const encoder = new FrameEncoder();
  let received = 0;
  far.on('data', (chunk: Buffer) => (received += chunk.length));
  const ping = encoder.encode({ type: 'ping', id: 1 });
  const pings = Buffer.concat(Array.from({ length: 1000 }, () => ping));
  // More in all than may be unread at a time.
  for (let round = 1; round <= 30; round++) {
    far.write(pings);
    while (received < round * pings.length) await once(far, 'data');
  }
  expect(connection.error).toBeUndefined();
  connection.close();
});
