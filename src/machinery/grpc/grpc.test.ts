import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../clock.ts';
import { HAS_ABSTRACT_SOCKETS, RpcConnection } from './connection.ts';
import { messageCodec } from './message-codec.ts';
import { RpcError } from './rpc-error.ts';
import { RpcServer } from './server.ts';

const greetings = {
  package: 'test.greetings.v1',
  enums: { Mood: { UNKNOWN: 0, GLAD: 1 } },
  messages: {
    Request: { name: [1, 'string'], mood: [2, 'Mood'], share: [3, 'string', 'optional'] },
    Response: {
      texts: [1, 'string[]'],
      byName: [2, 'map<string,Person>'],
      request: [3, 'Request'],
    },
    Person: { age: [1, 'int64'] },
  },
  services: {
    Greeter: { Greet: ['Request', 'Response'], Repeat: ['Request', 'Response', 'stream'] },
  },
} as const;

let dir: string;
let server: RpcServer<typeof greetings> | undefined;
let client: RpcConnection<typeof greetings> | undefined;
const never = new AbortController().signal;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'grpc-'));
});
afterEach(() => {
  client?.close();
  server?.close();
  rmSync(dir, { recursive: true, force: true });
});

async function start(path = join(dir, 'test.sock')): Promise<RpcConnection<typeof greetings>> {
  server = new RpcServer(greetings);
  server.addService('Greeter', {
    Greet: (request) => {
      if (request.name === '') throw new RpcError('INVALID_ARGUMENT', 'no name');
      return { texts: [`hello ${request.name}`], byName: { a: { age: 7 } }, request };
    },
    async *Repeat(request, { signal }) {
      for (let index = 0; !signal.aborted; index++) {
        if (request.name === 'bad' && index === 2) throw new RpcError('UNKNOWN', 'it broke');
        if (request.name === 'few' && index === 2) return;
        yield { texts: [String(index)] };
      }
    },
  });
  await server.listen(path);
  client?.close();
  client = new RpcConnection(greetings, path, systemClock);
  return client;
}

describe('gRPC from a table', () => {
  test.runIf(process.platform === 'linux' && HAS_ABSTRACT_SOCKETS)(
    'an abstract socket has no file',
    async () => {
      const peer = await start(`@${dir.slice(1)}`);
      expect(await peer.call('Greeter', 'Greet', { name: 'x' })).toMatchObject({
        texts: ['hello x'],
      });
      expect(readdirSync(dir)).toEqual([]);
    },
  );

  test('messages travel with enums, maps, nested messages and absent optional fields', async () => {
    const peer = await start();
    const answer = await peer.call('Greeter', 'Greet', { name: 'x', mood: 'GLAD' });
    expect(answer).toEqual({
      texts: ['hello x'],
      byName: { a: { age: 7 } },
      request: { name: 'x', mood: 'GLAD' },
    });
    const shared = await peer.call('Greeter', 'Greet', { name: 'x', share: '' });
    expect(shared.request?.share).toBe('');
  });

  test('errors have the code and the words of a Go program', async () => {
    const peer = await start();
    await expect(peer.call('Greeter', 'Greet', {})).rejects.toThrow(
      'rpc error: code = InvalidArgument desc = no name',
    );
    server?.close();
    await expect(peer.call('Greeter', 'Greet', { name: 'x' })).rejects.toThrow(
      'rpc error: code = Unavailable',
    );
  });

  test('streams end with the server, with its error, or with the signal', async () => {
    const peer = await start();
    const abort = new AbortController();
    const read = async (name: string, signal: AbortSignal): Promise<string[]> => {
      const texts: string[] = [];
      for await (const message of peer.stream('Greeter', 'Repeat', { name }, signal)) {
        texts.push(...message.texts);
        if (texts.length === 5) abort.abort();
      }
      return texts;
    };
    expect(await read('few', never)).toEqual(['0', '1']);
    await expect(read('bad', never)).rejects.toThrow('code = Unknown desc = it broke');
    expect((await read('all', abort.signal)).length).toBeGreaterThanOrEqual(5);
  });

  test('a client notices that the server comes and goes', async () => {
    const peer = await start();
    await peer.connected(never);
    const gone = peer.disconnected(never);
    server?.close();
    await gone;
    const back = await start();
    await back.connected(never);
    const abort = new AbortController();
    const waiting = back.disconnected(abort.signal);
    abort.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
  });

  test('the socket is private, and no other file is replaced', async () => {
    const path = join(dir, 'test.sock');
    await start();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    server?.close();
    writeFileSync(path, 'mine');
    await expect(new RpcServer(greetings).listen(path)).rejects.toThrow('not a socket');
  });

  test('single messages are encoded and decoded', () => {
    const person = messageCodec(greetings, 'Person');
    expect([...person.encode({ age: 5 })]).toEqual([8, 5]);
    expect(person.decode(Uint8Array.of(8, 5))).toEqual({ age: 5 });
    expect(() => person.decode(Uint8Array.of(0xff))).toThrow();
  });
});
