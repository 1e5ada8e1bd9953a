import { X509Certificate } from 'node:crypto';
import { connect, type TLSSocket } from 'node:tls';
import { afterEach, expect, test } from 'vitest';
import { ApiServer } from '#apiserver/server.ts';
import { systemClock, VirtualClock } from '#machinery/clock.ts';
import { recordingLogger, silentLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import { createMemoryStorage } from '#storage/memory/index.ts';
import { keepRenewed } from './certificate-renewal.ts';
import { type KeyPair, Pki } from './pki.ts';

const DAY_MS = 24 * 3600 * 1000;
const HALF_A_DAY_MS = DAY_MS / 2;
const request = { commonName: 'kube-apiserver', usage: 'server', hosts: ['127.0.0.1'] } as const;
const stop = new AbortController();
const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

test('a certificate is never served when it has expired, however long the process runs', async () => {
  const clock = new VirtualClock({ start: systemClock.now() });
  const pki = await Pki.open({ clock, random: systemRandom });
  const current = await pki.certificate('apiserver', request);
  expect(await pki.certificate('apiserver', request)).toEqual(current);
  const used: KeyPair[] = [current];
  const signing = new Set<Promise<KeyPair>>();
  const latest = () => {
    const pair = pki.certificate('apiserver', request);
    signing.add(pair);
    return pair;
  };
  const config = {
    clock,
    logger: silentLogger,
    name: 'apiserver',
    current,
    periodMs: HALF_A_DAY_MS,
    latest,
  };
  const running = keepRenewed({ ...config, use: (pair) => used.push(pair) }, stop.signal);
  for (let day = 0; day < 400; day++) {
    await clock.advance(DAY_MS);
    // Signing is done by other threads, which take no time of a virtual clock.
    await Promise.all(signing);
    signing.clear();
    await clock.settle();
    const { validTo } = new X509Certificate(used.at(-1)?.cert ?? '');
    expect(Date.parse(validTo) - clock.now()).toBeGreaterThan(28 * DAY_MS);
  }
  expect(used).toHaveLength(2);
  stop.abort();
  await running;
});

test('a renewal that fails is logged and tried again', async () => {
  const clock = new VirtualClock();
  const logger = recordingLogger();
  const [first, second] = [
    { cert: 'first', key: 'a' },
    { cert: 'second', key: 'b' },
  ];
  const results: (() => KeyPair)[] = [
    () => first,
    () => {
      throw new Error('no space left on device');
    },
    () => {
      throw new Error('no space left on device');
    },
    () => second,
    () => second,
  ];
  const used: KeyPair[] = [];
  const ending = new AbortController();
  const latest = () => (results.shift() ?? (() => second))();
  const config = { clock, logger, name: 'apiserver', current: first, periodMs: 1000, latest };
  const running = keepRenewed({ ...config, use: (pair) => used.push(pair) }, ending.signal);
  await clock.advance('5s');
  expect(used).toEqual([second]);
  expect(logger.records.map(({ level, message }) => `${level} ${message}`)).toEqual([
    'error certificate renewal failed, will retry',
    'info certificate renewed',
  ]);
  ending.abort();
  await running;
});

test('an API server serves the renewed certificate to new connections and keeps the old ones', async () => {
  const pki = await Pki.open({ clock: systemClock, random: systemRandom });
  const [first, second] = [await pki.sign(request), await pki.sign(request)];
  const clock = new VirtualClock();
  const storage = createMemoryStorage({ clock, logger: silentLogger });
  const tls = { ...first, clientCa: pki.caCertificate };
  const server = new ApiServer({
    storage,
    clock,
    random: systemRandom,
    logger: silentLogger,
    tls,
    port: 0,
  });
  closing.push(() => server.stop());
  const { port } = await server.listen();
  await server.start();
  const open = async (pair?: KeyPair): Promise<{ socket: TLSSocket; serial: string }> => {
    const options = {
      host: '127.0.0.1',
      port,
      ca: pki.caCertificate,
      ALPNProtocols: ['http/1.1'],
      ...pair,
    };
    const socket = await new Promise<TLSSocket>((resolve, reject) => {
      const connecting = connect(options, () => resolve(connecting));
      connecting.once('error', reject);
    });
    closing.push(() => void socket.destroy());
    return { socket, serial: socket.getPeerCertificate().serialNumber };
  };
  const answerOn = (socket: TLSSocket, path: string): Promise<string> =>
    new Promise((resolve, reject) => {
      socket.once('data', (data: Buffer) => resolve(data.toString().split('\r\n')[0] ?? ''));
      socket.once('error', reject);
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    });
  const serialOf = ({ cert }: KeyPair) => new X509Certificate(cert).serialNumber;
  const before = await open();
  server.setTls(second);
  const after = await open();
  expect([before.serial, after.serial]).toEqual([serialOf(first), serialOf(second)]);
  expect(await answerOn(before.socket, '/version')).toBe('HTTP/1.1 200 OK');
  // Clients are still authenticated by certificate.
  const admin = await pki.sign({
    commonName: 'admin',
    organizations: ['system:masters'],
    usage: 'client',
  });
  expect(await answerOn((await open(admin)).socket, '/api')).toBe('HTTP/1.1 200 OK');
  expect(await answerOn((await open()).socket, '/api')).toMatch(/^HTTP\/1.1 40[13]/);
  // A pair that does not fit changes nothing.
  expect(() => server.setTls({ cert: first.cert, key: second.key })).toThrow(/mismatch/);
  expect((await open()).serial).toBe(serialOf(second));
});
