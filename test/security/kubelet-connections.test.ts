// Half-open connections to a kubelet's port: for each state, the time when the kubelet closes the
// connection. Times are virtual.

import { once } from 'node:events';
import { connect as tcpConnect, type Socket } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { silentLogger } from '#machinery/log.ts';
import { TlsListeners } from '#kubelet/server/listeners.ts';
import { type KeyPair, Pki } from '#cluster/credentials/pki.ts';
import { startHarness, type Harness } from '#kubelet/testing/harness.ts';
import { systemClock, VirtualClock } from '#machinery/clock.ts';
import { SeededRandom, systemRandom } from '#machinery/random.ts';

let harness: Harness;
let clock: VirtualClock;
let pki: Pki;
let apiServer: KeyPair;
const open = new Set<Socket>();

beforeAll(async () => {
  pki = await Pki.open({ clock: systemClock, random: systemRandom });
  const serving = await pki.sign({
    commonName: 'system:node:node-1',
    usage: 'server',
    hosts: ['127.0.0.1'],
  });
  const organizations = ['system:masters'];
  apiServer = await pki.sign({ commonName: 'kube-apiserver', organizations, usage: 'client' });
  clock = new VirtualClock({ start: Date.now() });
  harness = await startHarness({
    clock,
    random: new SeededRandom('connections'),
    server: {
      port: 0,
      listeners: new TlsListeners({
        host: '127.0.0.1',
        tls: { ...serving, clientCA: pki.caCertificate },
        logger: silentLogger,
      }),
    },
  });
});
afterAll(async () => {
  for (const socket of open) socket.destroy();
  await harness.stop();
});

function keep<T extends Socket>(socket: T): T {
  open.add(socket);
  socket.on('error', () => undefined).resume();
  return socket;
}
const tcp = async (): Promise<Socket> => {
  const socket = keep(tcpConnect({ host: '127.0.0.1', port: harness.kubelet.port }));
  await once(socket, 'connect');
  return socket;
};
const tls = async (pair?: KeyPair): Promise<Socket> => {
  const socket = keep(
    tlsConnect({ host: '127.0.0.1', port: harness.kubelet.port, ca: pki.caCertificate, ...pair }),
  );
  await once(socket, 'secureConnect');
  return socket;
};
const ask = async (pair: KeyPair | undefined, text: string): Promise<Socket> => {
  const socket = await tls(pair);
  socket.write(text);
  await once(socket, 'data');
  return socket;
};
const write = async (opened: Promise<Socket>, text: string): Promise<Socket> => {
  const socket = await opened;
  socket.write(text);
  return socket;
};

const HALF_OPEN: Readonly<Record<string, () => Promise<Socket>>> = {
  'TCP without TLS': tcp,
  'half of a ClientHello': () => write(tcp(), '\x16\x03\x01\x02\0\x01\0'),
  'TLS without a request': () => tls(),
  'half of a request head': () => write(tls(), 'GET / HTTP/1.1\r\n'),
  'after a response': () => ask(apiServer, 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'),
  'a refused request with half of its body': () =>
    ask(undefined, 'POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf'),
  'a refused upgrade with bytes behind it': async () =>
    write(
      ask(
        undefined,
        'GET /exec/a/b/c HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n',
      ),
      'more',
    ),
  'what is no HTTP': () => write(tls(), 'hello\r\n\r\n'),
};

test.each(Object.entries(HALF_OPEN))('%s is closed', async (_name, make) => {
  const socket = await make();
  // The kubelet may not have received all bytes of the client yet.
  for (let minutes = 0; !socket.closed && minutes < 60; minutes++) {
    await clock.advance('1m');
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  expect(socket.closed).toBe(true);
});

test('a certificate that expires while its connection lasts is refused', async () => {
  const socket = await tls(apiServer);
  const code = async (): Promise<string> => {
    socket.write('GET /pods HTTP/1.1\r\nHost: x\r\n\r\n');
    return String((await once(socket, 'data'))[0]).split('\r\n')[0]!;
  };
  expect(await code()).toContain('200');
  const now = clock.now.bind(clock);
  clock.now = () => now() + 20 * 365 * 24 * 3600 * 1000;
  try {
    expect(await code()).toContain('401');
  } finally {
    clock.now = now;
  }
});
