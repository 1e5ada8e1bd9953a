// Encryption with a key management plugin at a unix socket.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Clock, systemClock, VirtualClock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { silentLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import { storageConformance } from '../../conformance.ts';
import type { KeyValue, Storage, StorageEvent } from '../../interface.ts';
import { createMemoryStorage } from '../../memory/index.ts';
import {
  encryptedStorage,
  KmsMetrics,
  readEncryptionConfiguration,
  TransformationMetrics,
  ValueEncryption,
} from '../index.ts';
import { TestKmsPlugin } from '../testing/kms-plugin.ts';
import { HAS_ABSTRACT_SOCKETS } from '#machinery/grpc/connection.ts';
import { messageCodec } from '#machinery/grpc/message-codec.ts';
import { aesGcm } from '../cipher.ts';
import { envelopeSchema } from './schema.ts';

const KEY = '/registry/secrets/default/a';
const OTHER = '/registry/secrets/default/b';
const MARK = 'k8s:enc:kms:v2:vault:';
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (kv: KeyValue | undefined): string => Buffer.from(kv?.value ?? []).toString('latin1');
const keep = (): { action: 'keep' } => ({ action: 'keep' });
const envelope = messageCodec(envelopeSchema, 'EncryptedObject');

let dir: string;
let socket: string;
let plugin: TestKmsPlugin;
let clock: VirtualClock;
let metrics: KmsMetrics;
let opened: ValueEncryption[];

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'coxswain-kms-'));
  socket = join(dir, 'kms.sock');
  plugin = new TestKmsPlugin();
  await plugin.listen(socket);
  clock = new VirtualClock();
  metrics = new KmsMetrics(clock, 'sha256:server');
  opened = [];
});
afterEach(() => {
  for (const each of opened) each.close();
  plugin.close();
  rmSync(dir, { recursive: true });
});

const configurationOf = (kms: object = {}): object => ({
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'EncryptionConfiguration',
  resources: [
    {
      resources: ['*.*'],
      providers: [
        { kms: { apiVersion: 'v2', name: 'vault', endpoint: `unix://${socket}`, ...kms } },
        { identity: {} },
      ],
    },
  ],
});

async function encryptionOf(kms: object = {}, by: Clock = clock): Promise<ValueEncryption> {
  const encryption = new ValueEncryption(readEncryptionConfiguration(configurationOf(kms)), {
    clock: by,
    random: systemRandom,
    logger: silentLogger,
    metrics,
    transformations: new TransformationMetrics(by),
  });
  opened.push(encryption);
  await encryption.start();
  return encryption;
}

const over = (storage: Storage, encryption: ValueEncryption): Storage =>
  encryptedStorage({
    storage,
    encryption: () => encryption,
    resourceOf: () => ({ group: '', resource: 'secrets' }),
  });
const memory = (): Storage => createMemoryStorage({ clock, logger: silentLogger });

/** Returns the storage of a server that starts now. */
const serverOn = async (storage: Storage): Promise<Storage> => over(storage, await encryptionOf());

describe('the contract of storages', () => {
  storageConformance('memory, encrypted with kms', async (options) => {
    const virtual = new VirtualClock();
    const below = createMemoryStorage({ clock: virtual, logger: silentLogger, ...options });
    const storage = over(below, await encryptionOf({}, systemClock));
    return { storage, advance: (ms) => virtual.advance(ms), dispose: () => storage.close() };
  });
});

test('a value has an envelope with the source of its key', async () => {
  const below = memory();
  const storage = await serverOn(below);
  await storage.create(KEY, bytes('hidden'));
  const stored = await below.get(KEY);
  expect(text(stored).startsWith(MARK)).toBe(true);
  expect(text(stored)).not.toContain('hidden');
  const { encryptedData, ...key } = envelope.decode(stored!.value.subarray(MARK.length));
  expect(encryptedData.length).toBe(32 + 12 + 'hidden'.length + 16);
  expect(key).toMatchObject({
    keyId: 'key-1',
    encryptedDekSourceType: 'HKDF_SHA256_XNONCE_AES_GCM_SEED',
    annotations: { 'nonce.plugin.example.com': expect.any(Uint8Array) },
  });
  expect(text(await storage.get(KEY))).toBe('hidden');
});

test.runIf(process.platform === 'linux' && HAS_ABSTRACT_SOCKETS)(
  'a plugin may be at an abstract socket',
  async () => {
    const other = new TestKmsPlugin();
    const name = `@${socket.slice(1)}`;
    await other.listen(name);
    try {
      const below = memory();
      const storage = over(below, await encryptionOf({ endpoint: `unix:///${name}` }));
      await storage.create(KEY, bytes('hidden'));
      expect(text(await storage.get(KEY))).toBe('hidden');
      expect(text(await below.get(KEY)).startsWith(MARK)).toBe(true);
      expect([other.calls.Encrypt, plugin.calls.Encrypt]).toEqual([1, 0]);
    } finally {
      other.close();
    }
  },
);

test('the plugin decrypts one key for all values of one server', async () => {
  const below = memory();
  const first = await serverOn(below);
  for (const key of [KEY, OTHER]) await first.create(key, bytes(`value of ${key}`));
  expect(plugin.calls).toMatchObject({ Encrypt: 1, Decrypt: 0 });
  const second = await serverOn(below);
  const { items } = await second.list('/registry/secrets/');
  expect(items.map(text)).toEqual([`value of ${KEY}`, `value of ${OTHER}`]);
  await Promise.all([second.get(KEY), second.get(OTHER)]);
  expect(plugin.calls).toMatchObject({ Encrypt: 2, Decrypt: 1 });
  expect(metrics.text()).toContain('_dek_source_cache_size{provider_name="vault"} 1\n');
  expect(metrics.text()).toMatch(
    /_key_id_hash_total\{transformation_type="to_storage",provider_name="vault",key_id_hash="sha256:\w+",[^}]*\} 2\n/,
  );
  expect(metrics.text()).toContain(
    'method_name="/v2.KeyManagementService/Decrypt",grpc_status_code="OK"} 1\n',
  );
});

test('another key of the plugin: a new seed writes, old values are stale', async () => {
  const below = memory();
  const storage = await serverOn(below);
  await storage.create(KEY, bytes('value'));
  const before = await storage.get(KEY);
  const same = await storage.guaranteedUpdate(KEY, keep, { guess: before });
  expect(same.revision).toBe(before!.modRevision);
  plugin.keyId = 'key-2';
  await clock.advance(60_000);
  for (const guess of [before, undefined]) {
    const { kv, revision } = await storage.guaranteedUpdate(KEY, keep, { guess });
    expect(text(kv)).toBe('value');
    expect(revision).toBe(before!.modRevision + 1);
    const stored = (await below.get(KEY))!.value.subarray(MARK.length);
    expect(envelope.decode(stored).keyId).toBe('key-2');
  }
  plugin.lost.add('key-1');
  expect(text(await (await serverOn(below)).get(KEY))).toBe('value');
});

test('a value whose key is lost is an error, and the others are not', async () => {
  const below = memory();
  await (await serverOn(below)).create(KEY, bytes('a'));
  plugin.keyId = 'key-2';
  await (await serverOn(below)).create(OTHER, bytes('b'));
  plugin.lost.add('key-1');
  const storage = await serverOn(below);
  expect(text(await storage.get(OTHER))).toBe('b');
  await expect(storage.get(KEY)).rejects.toThrow(
    `unable to transform key "${KEY}": failed to decrypt DEK, error: rpc error: code = NotFound desc = key-1 is lost`,
  );
  plugin.lost.clear();
  expect(text(await storage.get(KEY))).toBe('a');
});

test('without the plugin nothing is written after three minutes, and known keys read', async () => {
  const below = memory();
  const encryption = await encryptionOf({ timeout: '50ms' });
  const storage = over(below, encryption);
  await storage.create(KEY, bytes('value'));
  plugin.close();
  await clock.advance(60_000);
  await storage.create(OTHER, bytes('value'));
  await clock.advance(130_000);
  await expect(storage.create('/registry/secrets/default/c', bytes('value'))).rejects.toThrow(
    /^encryptedDEKSource with keyID hash "sha256:\w+" expired at 20.*Z \(current time is 20.*Z\)$/,
  );
  expect(text(await storage.get(KEY))).toBe('value');
  // The check that calls the plugin names the step; those after it give the error alone.
  await expect
    .poll(async () => {
      await clock.advance(1_000);
      return encryption.check().then(() => 'healthy', errorMessage);
    })
    .toMatch(
      /^kms-provider-0: failed to perform status section of the healthz check for KMS Provider vault, error: rpc error/,
    );
  await expect(encryption.check()).rejects.toThrow(/^kms-provider-0: rpc error: code = /);
  await plugin.listen(socket);
  await clock.advance(20_000);
  await expect
    .poll(async () => {
      await clock.advance(10_000);
      return encryption.check().then(() => 'healthy', String);
    })
    .toBe('healthy');
  await storage.create('/registry/secrets/default/c', bytes('value'));
});

test('a server that starts before its plugin', async () => {
  plugin.close();
  const encryption = await encryptionOf({ timeout: '20ms' });
  const storage = over(memory(), encryption);
  await expect(storage.create(KEY, bytes('value'))).rejects.toThrow(
    'got unexpected nil transformer: the KMS plugin "vault" has not been healthy since the start; ' +
      `start it at ${socket}, or correct the encryption configuration`,
  );
  await plugin.listen(socket);
  await expect
    .poll(async () => {
      await clock.advance(10_000);
      return encryption.check().then(() => 'healthy', String);
    })
    .toBe('healthy');
  await storage.create(KEY, bytes('value'));
  expect(text(await storage.get(KEY))).toBe('value');
});

test.each<[Partial<TestKmsPlugin>, string]>([
  [{ healthz: 'sealed' }, 'got unexpected healthz status: sealed'],
  [{ version: 'v1' }, 'expected KMSv2 API version v2, got v1'],
  [{ keyId: '' }, 'got invalid KMSv2 KeyID hash "": keyID is empty'],
  [{ keyId: 'x'.repeat(1025) }, 'keyID is 1025 bytes, which exceeds the max size of 1024'],
])('the health of a plugin with %j', async (settings, problem) => {
  Object.assign(plugin, settings);
  const encryption = await encryptionOf();
  await expect(encryption.check()).rejects.toThrow(problem);
});

test('an index over values whose key is not decrypted yet', async () => {
  const below = memory();
  const first = await serverOn(below);
  for (const key of [KEY, OTHER]) await first.create(key, bytes(`value of ${key}`));
  const storage = await serverOn(below);
  const index = storage.addIndex({ prefix: '/registry/secrets/', valueOf: text });
  const listed = await index.list(`value of ${OTHER}`);
  expect(listed.isCertain).toBeUndefined();
  expect(listed.items.map(text)).toContain(`value of ${OTHER}`);
  const again = await index.list(`value of ${OTHER}`);
  expect(again).toMatchObject({ isCertain: true });
  expect(again.items.map(text)).toEqual([`value of ${OTHER}`]);
});

test('events of values that another server wrote', async () => {
  const below = memory();
  const storage = await serverOn(below);
  const watch = storage.watch('/registry/secrets/', {
    afterRevision: await below.currentRevision(),
  });
  await (await serverOn(below)).create(KEY, bytes('one'));
  await (
    await serverOn(below)
  ).guaranteedUpdate(KEY, () => ({
    action: 'put',
    value: bytes('two'),
  }));
  const events: StorageEvent[] = [];
  for await (const event of watch) if (events.push(event) === 2) break;
  expect(
    events.map((event) => event.type === 'put' && [text(event.previous), text(event.kv)]),
  ).toEqual([
    ['', 'one'],
    ['one', 'two'],
  ]);
});

test('values of the plain AES-GCM keys of early versions are read, and are stale', async () => {
  const below = memory();
  const storage = await serverOn(below);
  const secret = systemRandom.bytes(32);
  await storage.create(OTHER, bytes('value'));
  const { annotations } = envelope.decode((await below.get(OTHER))!.value.subarray(MARK.length));
  const sealed = Buffer.concat([
    bytes(MARK),
    envelope.encode({
      encryptedData: aesGcm.seal(secret, bytes('early'), KEY, systemRandom),
      keyId: 'key-1',
      encryptedDekSource: plugin.sealed('key-1', annotations, secret),
      annotations,
      encryptedDekSourceType: 'AES_GCM_KEY',
    }),
  ]);
  await below.create(KEY, sealed);
  const before = await storage.get(KEY);
  expect(text(before)).toBe('early');
  const { revision } = await storage.guaranteedUpdate(KEY, keep);
  expect(revision).toBeGreaterThan(before!.modRevision);
});

test('the size of a cache, which plugins of version 1 have, is no mistake of its own there', () => {
  const read = (kms: object) => () => readEncryptionConfiguration(configurationOf(kms));
  expect(read({ apiVersion: 'v1', cachesize: 10 })).not.toThrow('cachesize');
  expect(read({ apiVersion: 'v1', cachesize: 10 })).toThrow('KMS v1 is not supported');
});

test.each<[object, string]>([
  [
    { apiVersion: 'v1' },
    'apiVersion: Forbidden: KMS v1 is not supported: use a plugin with apiVersion v2',
  ],
  [{ apiVersion: undefined }, 'apiVersion: Forbidden: KMS v1 is not supported'],
  [{ apiVersion: 'v3' }, 'only v1 and v2 are supported'],
  [{ name: '' }, 'name: Required value: name is a mandatory field for a provider'],
  [{ name: 'a:b' }, "invalid KMS provider name a:b, must not contain ':'"],
  [{ endpoint: '' }, 'endpoint: Required value: endpoint is a mandatory field for a kms'],
  [
    { endpoint: 'tcp://127.0.0.1:1' },
    'unsupported scheme "tcp" for KMS provider, only unix is supported',
  ],
  [{ endpoint: 'unix://relative' }, 'the absolute path of a socket'],
  ...(HAS_ABSTRACT_SOCKETS
    ? []
    : [[{ endpoint: 'unix:///@a' }, 'abstract sockets need Node 22'] as [object, string]]),
  [{ timeout: '0s' }, 'timeout should be a positive value'],
  [{ timeout: 'soon' }, 'timeout: Invalid value: "soon"'],
  [{ cachesize: 10 }, 'cachesize is not supported in v2'],
  [{ extra: 1 }, 'extra: Forbidden: unknown field'],
])('a configuration with %j is rejected', (kms, message) => {
  expect(() => readEncryptionConfiguration(configurationOf(kms))).toThrow(message);
});
