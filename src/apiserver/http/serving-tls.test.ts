// Certificates that are chosen by the name that a client asks for.

import { X509Certificate } from 'node:crypto';
import { connect } from 'node:tls';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '#machinery/clock.ts';
import { systemRandom } from '#machinery/random.ts';
import type { NamedCertificate } from '../config.ts';
import { makeTestAuthority, type TestAuthority } from '../testing/certificates.ts';
import { RecordingLogger } from '../testing/server.ts';
import { Listener } from './listener.ts';
import { isServerName } from './serving-tls.ts';

let authority: TestAuthority;
let listener: Listener;
let port: number;
/** Certificates by what the tests call them. */
let made: Record<string, NamedCertificate>;

beforeEach(async () => {
  authority = await makeTestAuthority();
  const pair = async (...names: string[]): Promise<NamedCertificate> => {
    const { cert, key } = await authority.server(names);
    return { cert, key };
  };
  made = {
    default: await pair(),
    own: await pair('own.example.com', '*.wild.example.com'),
    explicit: await pair('ignored.example.com'),
    later: await pair('own.example.com', 'later.example.com'),
  };
  listener = new Listener({
    handler: () => Promise.reject(new Error('no request is sent')),
    clock: systemClock,
    logger: new RecordingLogger(),
    random: systemRandom,
    bindAddress: '127.0.0.1',
    port: 0,
    ...made['default']!,
    clientCa: authority.cert,
    named: [
      made['own']!,
      {
        ...made['explicit']!,
        names: ['explicit.example.com', '*.explicit.example.com', 'A.example.com'],
      },
      made['later']!,
    ],
  });
  port = await listener.start();
});
afterEach(async () => {
  const stopped = listener.stop();
  listener.abort(new Error('over'));
  await stopped;
});

/** Returns the name of the certificate that a client gets. `servername`: the name that it asks for. */
function presented(servername?: string): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port,
      ca: authority.cert,
      checkServerIdentity: () => undefined,
    };
    const socket = connect({ ...options, ...(servername !== undefined && { servername }) }, () => {
      const { serialNumber } = socket.getPeerCertificate();
      socket.destroy();
      const entry = Object.entries(made).find(
        ([, { cert }]) => new X509Certificate(cert).serialNumber === serialNumber,
      );
      resolve(entry?.[0]);
    });
    socket.once('error', reject);
  });
}

test.each([
  [undefined, 'default'],
  ['unknown.example.com', 'default'],
  ['own.example.com', 'own'],
  ['OWN.example.com', 'own'],
  ['a.wild.example.com', 'own'],
  ['a.b.wild.example.com', 'default'],
  ['wild.example.com', 'default'],
  ['later.example.com', 'later'],
  ['explicit.example.com', 'explicit'],
  ['a.explicit.example.com', 'explicit'],
  ['a.example.com', 'explicit'],
  ['ignored.example.com', 'default'],
])('a client that asks for %s gets the certificate %s', async (name, expected) => {
  expect(await presented(name)).toBe(expected);
});

test('names that are given come before those in an earlier certificate', async () => {
  listener.setTls({
    named: [made['own']!, { ...made['explicit']!, names: ['own.example.com'] }],
  });
  expect(await presented('own.example.com')).toBe('explicit');
  expect(await presented('a.wild.example.com')).toBe('own');
});

test('certificates are replaced together; a wrong key changes none of them', async () => {
  listener.setTls({
    ...made['later']!,
    named: [{ ...made['default']!, names: ['a.example.com'] }],
  });
  expect(await presented()).toBe('later');
  expect(await presented('a.example.com')).toBe('default');
  const wrong = { cert: made['own']!.cert, key: made['later']!.key };
  expect(() => listener.setTls({ ...made['default']!, named: [wrong] })).toThrow(/mismatch/);
  expect(() => listener.setTls({ ...wrong, named: [] })).toThrow(/mismatch/);
  expect(await presented()).toBe('later');
  expect(await presented('a.example.com')).toBe('default');
});

test('host names', () => {
  expect(
    ['a', 'a.example.com', '*.example.com', '*', 'A.B'].filter((n) => !isServerName(n)),
  ).toEqual([]);
  expect(['', '10.0.0.1', '::1', 'a.*.b', 'a b', 'a_b', '**.a'].filter(isServerName)).toEqual([]);
});
