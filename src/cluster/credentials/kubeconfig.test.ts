import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import {
  lstatSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parse } from 'yaml';
import { mergeKubeconfig, writeKubeconfig } from './kubeconfig.ts';

const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const sec1 = keys.privateKey.export({ type: 'sec1', format: 'pem' }).toString();

const entry = {
  name: 'coxswain',
  server: 'https://127.0.0.1:6443',
  caCertificate: 'CA',
  clientCertificate: 'CERT',
  clientKey: sec1,
};
let dir: string;
beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'cox-kubeconfig-'))));
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test('a kubeconfig of our own: private, complete', () => {
  const path = join(dir, 'kubeconfig');
  writeKubeconfig(path, entry);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(parse(readFileSync(path, 'utf8'))).toEqual({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'coxswain', cluster: { server: entry.server, 'certificate-authority-data': 'Q0E=' } },
    ],
    users: [
      {
        name: 'coxswain',
        user: {
          'client-certificate-data': 'Q0VSVA==',
          'client-key-data': Buffer.from(sec1).toString('base64'),
        },
      },
    ],
    contexts: [{ name: 'coxswain', context: { cluster: 'coxswain', user: 'coxswain' } }],
    'current-context': 'coxswain',
  });
});

test("merging keeps the user's other entries and replaces our own", () => {
  const path = join(dir, 'config');
  writeFileSync(
    path,
    'apiVersion: v1\nkind: Config\npreferences: {colors: true}\nclusters: [{name: work, ' +
      'cluster: {server: a}}, {name: coxswain, cluster: {server: old}}]\nusers: null\n' +
      'contexts: []\ncurrent-context: work\n',
  );
  mergeKubeconfig(path, entry);
  const merged = parse(readFileSync(path, 'utf8'));
  expect(merged.preferences).toEqual({ colors: true });
  expect(
    merged.clusters.map((c: { name: string; cluster: { server: string } }) => [
      c.name,
      c.cluster.server,
    ]),
  ).toEqual([
    ['work', 'a'],
    ['coxswain', entry.server],
  ]);
  expect(merged['current-context']).toBe('coxswain');
});

test('a file that is no kubeconfig is left alone', () => {
  const path = join(dir, 'config');
  writeFileSync(path, 'just text');
  expect(() => mergeKubeconfig(path, entry)).toThrow(/is not a kubeconfig/);
  expect(readFileSync(path, 'utf8')).toBe('just text');
});

test.each([
  ['P-256', () => keys.privateKey, 'EC PRIVATE KEY'],
  ['RSA', () => generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey, 'PRIVATE KEY'],
  ['Ed25519', () => generateKeyPairSync('ed25519').privateKey, 'PRIVATE KEY'],
])(
  'a key of the kind %s is written in a form that clients read, and is the same key',
  (_, make, type) => {
    const path = join(dir, 'kubeconfig');
    const key = make();
    writeKubeconfig(path, {
      ...entry,
      clientKey: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
    });
    const { users } = parse(readFileSync(path, 'utf8'));
    const written = Buffer.from(users[0].user['client-key-data'], 'base64').toString();
    expect(written).toMatch(new RegExp(`^-----BEGIN ${type}-----\n`));
    expect(createPrivateKey(written).equals(key)).toBe(true);
  },
);

test('a kubeconfig that is a symbolic link stays one', () => {
  const path = join(dir, 'link');
  writeFileSync(join(dir, 'target'), '');
  symlinkSync(join(dir, 'target'), path);
  mergeKubeconfig(path, entry);
  expect(lstatSync(path).isSymbolicLink()).toBe(true);
  expect(parse(readFileSync(join(dir, 'target'), 'utf8'))['current-context']).toBe('coxswain');
});
