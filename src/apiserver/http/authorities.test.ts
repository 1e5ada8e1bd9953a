// Authorities of clients that change while connections are open, and clients that are asked to open
// their connections anew.

import { type ClientHttp2Session, connect } from 'node:http2';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '#machinery/clock.ts';
import { systemRandom } from '#machinery/random.ts';
import {
  type Credentials,
  makeTestAuthority,
  type TestAuthority,
} from '../testing/certificates.ts';
import { RecordingLogger } from '../testing/server.ts';
import { Listener, type ListenerConfig } from './listener.ts';

let first: TestAuthority;
let second: TestAuthority;
let listener: Listener;
const sessions: ClientHttp2Session[] = [];

beforeEach(async () => {
  first = await makeTestAuthority('first');
  second = await makeTestAuthority('second');
});
afterEach(async () => {
  for (const session of sessions.splice(0)) session.destroy();
  const stopped = listener.stop();
  listener.abort(new Error('over'));
  await stopped;
});

async function listen(config: Partial<ListenerConfig> = {}): Promise<number> {
  listener = new Listener({
    handler: (request) => {
      const { peerCertificate: peer } = request;
      // Otherwise the connection would be closed after the response.
      request.user = { name: 'someone', groups: [] };
      const text =
        peer === undefined
          ? 'nobody'
          : `${peer.isFrontProxy === true ? 'front proxy ' : ''}${peer.commonName}`;
      return Promise.resolve({
        code: 200,
        body: { kind: 'text', contentType: 'text/plain', text },
      });
    },
    clock: systemClock,
    logger: new RecordingLogger(),
    random: systemRandom,
    bindAddress: '127.0.0.1',
    port: 0,
    ...(await first.server()),
    ...config,
  });
  return listener.start();
}

function open(port: number, client: Partial<Credentials> = {}): ClientHttp2Session {
  const session = connect(`https://127.0.0.1:${port}`, { ca: first.cert, ...client });
  sessions.push(session);
  return session;
}

function ask(session: ClientHttp2Session): Promise<string> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':path': '/' });
    let text = '';
    stream.setEncoding('utf8');
    stream.on('data', (part: string) => (text += part));
    stream.on('end', () => resolve(text));
    stream.on('error', reject);
  });
}

test.each([false, true])(
  'open connections are verified anew (front proxies: %s)',
  async (proxies) => {
    const frontProxies = await makeTestAuthority('front-proxies');
    const requestHeaderCa = proxies ? frontProxies.cert : undefined;
    const port = await listen({ requestHeaderCa });
    const ofFirst = open(port, await first.client('anna'));
    const ofSecond = open(port, await second.client('bert'));
    expect(await ask(ofFirst)).toBe('anna');
    expect(await ask(ofSecond)).toBe('nobody');
    listener.setTls({ clientCa: `${first.cert}\n${second.cert}`, requestHeaderCa });
    expect(await ask(ofFirst)).toBe('anna');
    expect(await ask(ofSecond)).toBe('bert');
    expect(await ask(open(port, await second.client('carl')))).toBe('carl');
    listener.setTls({ clientCa: second.cert, requestHeaderCa });
    expect(await ask(ofFirst)).toBe('nobody');
    expect(await ask(ofSecond)).toBe('bert');
    expect(await ask(open(port, await first.client('dora')))).toBe('nobody');
  },
);

test('an authority of front proxies changes, and does not make its clients users', async () => {
  const proxies = await makeTestAuthority('front-proxies');
  const port = await listen({ requestHeaderCa: first.cert, clientCa: second.cert });
  const session = open(port, await proxies.client('proxy'));
  expect(await ask(session)).toBe('nobody');
  listener.setTls({ requestHeaderCa: proxies.cert, clientCa: second.cert });
  expect(await ask(session)).toBe('front proxy proxy');
});

test('a bundle that cannot be read changes nothing', async () => {
  const port = await listen();
  const clientCa = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  expect(() => listener.setTls({ clientCa })).toThrow();
  expect(await ask(open(port, await first.client('anna')))).toBe('anna');
});

test('a share of requests makes clients open their connections anew, and is answered', async () => {
  const port = await listen({ goawayChance: 1 });
  const session = open(port);
  const asked = new Promise((resolve) => session.on('goaway', resolve));
  const closed = new Promise((resolve) => session.on('close', resolve));
  expect(await ask(session)).toBe('nobody');
  expect(await asked).toBe(0);
  await closed;
});
