import { createServer, type AddressInfo, connect, type Server } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openPodAccess, type PodAccess } from './pod-access.ts';

let server: Server;
let access: PodAccess | undefined;
beforeEach(async () => {
  server = createServer({ allowHalfOpen: true }, (socket) => {
    let text = '';
    socket.on('data', (chunk) => (text += chunk.toString()));
    socket.on('end', () => socket.end(text.toUpperCase()));
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  await access?.close();
  server.close();
});

/** Returns the server's response; 'closed' if the connection was closed. */
function ask(localAddress: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port: access?.port ?? 0, localAddress });
    let text = '';
    socket.on('data', (chunk) => (text += chunk.toString()));
    socket.on('error', () => resolve('closed'));
    socket.on('close', () => resolve(text === '' ? 'closed' : text));
    socket.end('hello');
  });
}

test.skipIf(process.platform !== 'linux')(
  'pods and the machine itself are let through, others are not',
  async () => {
    access = await openPodAccess({
      address: '127.0.0.1',
      port: 0,
      server: { host: '127.0.0.1', port: (server.address() as AddressInfo).port },
      podCidrs: ['127.5.0.0/16'],
      ownAddresses: () => ['127.0.0.1'],
    });
    expect([await ask('127.0.0.1'), await ask('127.5.1.2'), await ask('127.6.1.2')]).toEqual([
      'HELLO',
      'HELLO',
      'closed',
    ]);
  },
);
