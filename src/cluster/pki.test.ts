import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock, VirtualClock } from '../machinery/clock.ts';
import { systemRandom } from '../machinery/random.ts';
import { Pki } from './pki.ts';

const server = {
  commonName: 'kube-apiserver',
  usage: 'server',
  hosts: ['localhost', '127.0.0.1', 'kubernetes.default.svc'],
} as const;

describe('Pki', () => {
  let dir: string;
  beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'cox-pki-'))));
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  test('signs certificates that chain to the authority and name their hosts, user and groups', async () => {
    const pki = await Pki.open({ clock: systemClock, random: systemRandom });
    const ca = new X509Certificate(pki.caCertificate);
    expect(ca.ca).toBe(true);
    const pair = await pki.certificate('apiserver', server);
    const certificate = new X509Certificate(pair.cert);
    expect(certificate.checkIssued(ca)).toBe(true);
    expect(certificate.verify(ca.publicKey)).toBe(true);
    expect(certificate.checkHost('localhost')).toBe('localhost');
    expect(certificate.checkIP('127.0.0.1')).toBe('127.0.0.1');
    const admin = new X509Certificate(
      (await pki.sign({ commonName: 'admin', organizations: ['system:masters'], usage: 'client' })).cert,
    );
    expect(admin.subject.split('\n')).toEqual(['O=system:masters', 'CN=admin']);
    expect(admin.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2']);
  });

  test('keeps what it made: keys private, the same after opening again', async () => {
    const first = await Pki.open({ clock: systemClock, random: systemRandom, dir });
    const pair = await first.certificate('apiserver', server);
    const tokens = first.serviceAccountKeys();
    const again = await Pki.open({ clock: systemClock, random: systemRandom, dir });
    expect(again.caCertificate).toBe(first.caCertificate);
    expect(await again.certificate('apiserver', server)).toEqual(pair);
    expect(again.serviceAccountKeys()).toEqual(tokens);
    for (const file of ['ca.key', 'apiserver.key', 'sa.key']) expect(statSync(join(dir, file)).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(dir, 'ca.crt'), 'utf8')).toBe(first.caCertificate);
  });

  test('makes a certificate anew when its hosts have changed or it soon expires', async () => {
    const pki = await Pki.open({ clock: systemClock, random: systemRandom, dir });
    const pair = await pki.certificate('apiserver', server);
    expect(await pki.certificate('apiserver', { ...server, hosts: [...server.hosts, '10.0.0.7'] })).not.toEqual(pair);
    const renewed = await pki.certificate('apiserver', server);
    const nextYear = new VirtualClock({ start: systemClock.now() + 350 * 24 * 3600 * 1000 });
    const later = await Pki.open({ clock: nextYear, random: systemRandom, dir });
    expect(await later.certificate('apiserver', server)).not.toEqual(renewed);
  });
});
