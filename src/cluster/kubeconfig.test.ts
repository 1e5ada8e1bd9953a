import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parse } from 'yaml';
import { mergeKubeconfig, writeKubeconfig } from './kubeconfig.ts';

const entry = {
  name: 'coxswain',
  server: 'https://127.0.0.1:6443',
  caCertificate: 'CA',
  clientCertificate: 'CERT',
  clientKey: 'KEY',
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
    clusters: [{ name: 'coxswain', cluster: { server: entry.server, 'certificate-authority-data': 'Q0E=' } }],
    users: [{ name: 'coxswain', user: { 'client-certificate-data': 'Q0VSVA==', 'client-key-data': 'S0VZ' } }],
    contexts: [{ name: 'coxswain', context: { cluster: 'coxswain', user: 'coxswain' } }],
    'current-context': 'coxswain',
  });
});

test("merging keeps the user's other entries and replaces our own", () => {
  const path = join(dir, 'config');
  writeFileSync(
    path,
    'apiVersion: v1\nkind: Config\npreferences: {colors: true}\nclusters: [{name: work, cluster: {server: a}}, {name: coxswain, cluster: {server: old}}]\nusers: null\ncontexts: []\ncurrent-context: work\n',
  );
  mergeKubeconfig(path, entry);
  const merged = parse(readFileSync(path, 'utf8'));
  expect(merged.preferences).toEqual({ colors: true });
  expect(merged.clusters.map((c: { name: string; cluster: { server: string } }) => [c.name, c.cluster.server])).toEqual([
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
