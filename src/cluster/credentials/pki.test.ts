import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock, VirtualClock } from '#machinery/clock.ts';
import { systemRandom } from '#machinery/random.ts';
import { Pki } from './pki.ts';
import { UserError } from '../user-error.ts';

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
      (await pki.sign({ commonName: 'admin', organizations: ['system:masters'], usage: 'client' }))
        .cert,
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
    for (const file of ['ca.key', 'apiserver.key', 'sa.key'])
      expect(statSync(join(dir, file)).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(dir, 'ca.crt'), 'utf8')).toBe(first.caCertificate);
  });

  test('makes a certificate anew when its hosts have changed or it soon expires', async () => {
    const pki = await Pki.open({ clock: systemClock, random: systemRandom, dir });
    const pair = await pki.certificate('apiserver', server);
    expect(
      await pki.certificate('apiserver', { ...server, hosts: [...server.hosts, '10.0.0.7'] }),
    ).not.toEqual(pair);
    const renewed = await pki.certificate('apiserver', server);
    const nextYear = new VirtualClock({ start: systemClock.now() + 350 * 24 * 3600 * 1000 });
    const later = await Pki.open({ clock: nextYear, random: systemRandom, dir });
    expect(await later.certificate('apiserver', server)).not.toEqual(renewed);
  });

  test('writes keys in SEC1 form, and reads keys in PKCS #8 of earlier versions', async () => {
    const pki = await Pki.open({ clock: systemClock, random: systemRandom, dir });
    const pair = await pki.certificate('admin', { commonName: 'admin', usage: 'client' });
    expect(pair.key).toMatch(/^-----BEGIN EC PRIVATE KEY-----/);
    for (const name of ['ca.key', 'admin.key']) {
      const path = join(dir, name);
      writeFileSync(
        path,
        createPrivateKey(readFileSync(path)).export({ type: 'pkcs8', format: 'pem' }),
      );
    }
    const again = await Pki.open({ clock: systemClock, random: systemRandom, dir });
    expect(await again.certificate('admin', { commonName: 'admin', usage: 'client' })).toEqual(
      pair,
    );
  });
});

describe('files of a Pki that are missing or damaged', () => {
  let dir: string;
  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'cox-pki-'));
    await start();
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  async function start(): Promise<string> {
    const pki = await Pki.open({ clock: systemClock, random: systemRandom, dir });
    const { cert, key } = await pki.certificate('apiserver', server);
    expect(new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))).toBe(true);
    pki.serviceAccountKeys();
    return pki.caCertificate;
  }

  const damages: Readonly<Record<string, (path: string) => void>> = {
    missing: (path) => rmSync(path),
    empty: (path) => writeFileSync(path, ''),
    garbage: (path) => writeFileSync(path, Buffer.from([0xde, 0xad, 0, 1])),
    truncated: (path) => writeFileSync(path, readFileSync(path).subarray(0, 100)),
    'of another pair': (path) => {
      const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
        type: 'sec1',
        format: 'pem',
      });
      writeFileSync(
        path,
        path.endsWith('.key')
          ? other
          : readFileSync(join(dir, path.endsWith('ca.crt') ? 'apiserver.crt' : 'ca.crt')),
      );
    },
  };
  const cases = ['ca.crt', 'ca.key', 'sa.key', 'apiserver.crt', 'apiserver.key'].flatMap((file) =>
    Object.keys(damages).map((damage) => [file, damage] as const),
  );

  /** A new file takes the place of these. Any other damage is an error that names the file. */
  const remade = new Set([
    'apiserver.crt missing',
    'apiserver.key missing',
    'apiserver.crt of another pair',
    'apiserver.key of another pair',
    // Nothing else can be wrong with a key of tokens that is a key, and without any there is a first start.
    'sa.key missing',
    'sa.key of another pair',
  ]);

  test.each(cases)('%s %s', async (file, damage) => {
    const authority = readFileSync(join(dir, 'ca.crt'), 'utf8');
    damages[damage]?.(join(dir, file));
    const before = new Map(
      readdirSync(dir).map((name) => [name, readFileSync(join(dir, name), 'utf8')]),
    );
    if (remade.has(`${file} ${damage}`)) {
      expect(await start()).toBe(authority);
      return;
    }
    const error: unknown = await start().catch((error_: unknown) => error_);
    expect(error).toBeInstanceOf(UserError);
    const { message } = error as UserError;
    expect(message).toContain(join(dir, file));
    expect(message).not.toContain('\n');
    expect(message).toMatch(/Restore|Remove/);
    // Nothing is replaced.
    expect(
      new Map(readdirSync(dir).map((name) => [name, readFileSync(join(dir, name), 'utf8')])),
    ).toEqual(before);
  });

  test('a first start that was interrupted between the two files of the authority begins again', async () => {
    for (const name of readdirSync(dir)) if (name !== 'ca.key') rmSync(join(dir, name));
    await start();
    expect(readdirSync(dir).toSorted()).toEqual([
      'apiserver.crt',
      'apiserver.key',
      'ca.crt',
      'ca.key',
      'sa.key',
      'sa.pub',
    ]);
  });

  test('an authority of another kind is named', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    writeFileSync(join(dir, 'ca.key'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
    await expect(start()).rejects.toThrow('ca.key is not an ECDSA key on the curve P-256');
  });
});
