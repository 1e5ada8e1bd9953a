import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { makeAuthority } from '#controllers/certificates/testing/authority.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { PairStore, type PairStoreConfig } from './pair-store.ts';

const clock = new VirtualClock();
/** Two pairs. */
let pairs: { readonly cert: string; readonly key: string }[];
let dir: string;

beforeAll(async () => {
  pairs = [await makeAuthority(clock.now()), await makeAuthority(clock.now())];
});
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'cox-pairs-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const open = (config: Partial<PairStoreConfig> = {}): PairStore =>
  new PairStore({ clock, directory: dir, prefix: 'kubelet-client', ...config });
const path = (name: string): string => join(dir, name);
const squeezed = (text: string | undefined): string | undefined => text?.replaceAll(/\s/g, '');

test('the current pair is the stored one, then the configured files, then those of the prefix', () => {
  expect(open().current()).toBeUndefined();
  writeFileSync(path('kubelet-client.crt'), pairs[0]!.cert);
  writeFileSync(path('kubelet-client.key'), pairs[0]!.key);
  expect(squeezed(open().current()?.cert)).toBe(squeezed(pairs[0]!.cert));
  writeFileSync(path('own.pem'), pairs[1]!.key + pairs[1]!.cert);
  const files = { certFile: path('own.pem'), keyFile: path('own.pem') };
  expect(squeezed(open(files).current()?.key)).toBe(squeezed(pairs[1]!.key));
  // Files that are not there yet do not count.
  expect(open({ ...files, certFile: path('none') }).current()).toBeDefined();
  open().update(pairs[0]!.cert, pairs[0]!.key);
  expect(squeezed(open(files).current()?.key)).toBe(squeezed(pairs[0]!.key));
});

test('an update creates the directory, and a file that only the owner may read', () => {
  const directory = path('deep/pki');
  const store = open({ directory });
  store.update(pairs[0]!.cert, pairs[0]!.key);
  expect(statSync(store.currentPath).mode & 0o777).toBe(0o600);
  expect(existsSync(join(directory, 'kubelet-client-updated.pem'))).toBe(false);
});

test('a pair that does not belong together is not stored', () => {
  const store = open();
  store.update(pairs[0]!.cert, pairs[0]!.key);
  expect(() => store.update(pairs[1]!.cert, pairs[0]!.key)).toThrow(
    'private key does not match public key',
  );
  expect(() => store.update('', pairs[0]!.key)).toThrow('failed to find any PEM data');
  expect(squeezed(store.current()?.cert)).toBe(squeezed(pairs[0]!.cert));
});

test('a change that was interrupted between the two links is completed', () => {
  const store = open();
  store.update(pairs[0]!.cert, pairs[0]!.key);
  renameSync(store.currentPath, path('kubelet-client-updated.pem'));
  expect(squeezed(open().current()?.cert)).toBe(squeezed(pairs[0]!.cert));
  expect(existsSync(path('kubelet-client-updated.pem'))).toBe(false);
});

test('files in the place of links, and damaged pairs, are errors with their names', () => {
  writeFileSync(path('kubelet-client-updated.pem'), '');
  expect(() => open()).toThrow('kubelet-client-updated.pem" to be a symlink but it is a file');
  rmSync(path('kubelet-client-updated.pem'));
  writeFileSync(path('kubelet-client-current.pem'), pairs[0]!.cert);
  const store = open();
  expect(() => store.current()).toThrow('kubelet-client-current.pem" into cert/key pair');
  expect(() => store.update(pairs[0]!.cert, pairs[0]!.key)).toThrow(
    'kubelet-client-current.pem" to be a symlink but it is a file',
  );
});

test('a link to a file that is gone counts as no pair', () => {
  mkdirSync(path('gone'));
  symlinkSync(path('gone/pair.pem'), path('kubelet-client-current.pem'));
  const store = open();
  expect(store.current()).toBeUndefined();
  store.update(pairs[0]!.cert, pairs[0]!.key);
  expect(readFileSync(store.currentPath, 'utf8')).toContain('PRIVATE KEY');
});
