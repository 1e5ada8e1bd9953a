import { createSocket, type Socket } from 'node:dgram';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import { nodeSockets } from './node-sockets.ts';

const LOCAL = '127.0.0.1';
const cleanup: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const step of cleanup.splice(0)) await step();
});

async function udp(): Promise<{ readonly socket: Socket; readonly port: number }> {
  const socket = createSocket('udp4');
  socket.bind(0, LOCAL);
  await once(socket, 'listening');
  cleanup.push(() => void socket.close());
  return { socket, port: socket.address().port };
}

test('each UDP question has its own port, and only its server can answer it', async () => {
  const [server, forger] = [await udp(), await udp()];
  const ports = new Set<number>();
  server.socket.on('message', (message, from) => {
    ports.add(from.port);
    forger.socket.send('forged', from.port, from.address, () =>
      server.socket.send(message, from.port, from.address),
    );
  });
  for (let i = 0; i < 20; i++) {
    const question = Buffer.from(`question ${i}`);
    const answer = await nodeSockets.askUdp(
      { address: LOCAL, port: server.port },
      question,
      () => true,
      AbortSignal.timeout(5000),
    );
    expect(answer).toEqual(question);
  }
  expect(ports.size).toBeGreaterThan(15);
});

test('a rejected answer is ignored, until the signal aborts', async () => {
  const { socket, port } = await udp();
  const abort = new AbortController();
  socket.on('message', (_message, from) => socket.send('other', from.port, from.address));
  const reject = (): boolean => {
    abort.abort(new Error('too late'));
    return false;
  };
  await expect(
    nodeSockets.askUdp({ address: LOCAL, port }, Buffer.from('x'), reject, abort.signal),
  ).rejects.toThrow('too late');
});

test('over TCP: an answer in pieces, no answer, and a rejected one', async () => {
  const server = createServer((socket) => {
    socket.once('data', (data) => {
      const text = data.subarray(2).toString();
      if (text === 'close') socket.end();
      else
        socket.write(Buffer.from([0]), () =>
          socket.write(Buffer.from([2, 104]), () => socket.write('i')),
        );
    });
  });
  server.listen(0, LOCAL);
  await once(server, 'listening');
  cleanup.push(() => new Promise((resolve) => server.close(resolve)));
  const at = { address: LOCAL, port: (server.address() as AddressInfo).port };
  const ask = (text: string, accept: boolean) =>
    nodeSockets.askTcp(at, Buffer.from(text), () => accept, AbortSignal.timeout(5000));
  expect((await ask('hello', true)).toString()).toBe('hi');
  await expect(ask('hello', false)).rejects.toThrow('does not belong to the question');
  await expect(ask('close', true)).rejects.toThrow('closed the connection');
});

test('listens at one address, over UDP and TCP', async () => {
  const listener = await nodeSockets.listenUdp({ address: LOCAL, port: 0 }, (message, from) =>
    listener.send(message, from),
  );
  cleanup.push(() => listener.close());
  const at = { address: LOCAL, port: listener.port };
  await expect(nodeSockets.listenUdp(at, () => undefined)).rejects.toMatchObject({
    code: 'EADDRINUSE',
  });
  expect(
    (
      await nodeSockets.askUdp(at, Buffer.from('echo'), () => true, AbortSignal.timeout(5000))
    ).toString(),
  ).toBe('echo');
  let closed!: (address: string) => void;
  const whenClosed = new Promise<string>((resolve) => (closed = resolve));
  const tcp = await nodeSockets.listenTcp(at, (connection) => {
    connection.onClose(() => closed(connection.remote.address));
    connection.onData((data) => void connection.write(data));
  });
  const answer = await nodeSockets.askTcp(
    at,
    Buffer.from('echo'),
    () => true,
    AbortSignal.timeout(5000),
  );
  expect(answer.toString()).toBe('echo');
  await tcp.close();
  expect(await whenClosed).toBe(LOCAL);
});
