import { describe, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { storageConformance } from '../conformance.ts';
import type { KeyValue, Storage } from '../interface.ts';
import { createMemoryStorage } from '../memory/index.ts';
import {
  encryptedStorage,
  KmsMetrics,
  readEncryptionConfiguration,
  TransformationMetrics,
  ValueEncryption,
} from './index.ts';

const secretOf = (letter: string, bytes: number): string =>
  Buffer.from(letter.repeat(bytes)).toString('base64');
const one = { name: 'one', secret: secretOf('1', 32) };
const two = { name: 'two', secret: secretOf('2', 16) };
const gcm = (...keys: object[]): object => ({ aesgcm: { keys } });
const cbc = (...keys: object[]): object => ({ aescbc: { keys } });
const box = (...keys: object[]): object => ({ secretbox: { keys } });
const identity = { identity: {} };

const file = (providers: object[], resources: string[] = ['secrets']): object => ({
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'EncryptionConfiguration',
  resources: [{ resources, providers }],
});

/**
 * Returns the resource of a key of the tests: /registry/RESOURCE/… or /registry/GROUP/RESOURCE/…
 */
function resourceOf(key: string): { group: string; resource: string } | undefined {
  const [, , first = '', second = ''] = key.split('/');
  return first.includes('.') ? { group: first, resource: second } : { group: '', resource: first };
}

function encryptionOf(
  content: unknown,
  clock = new VirtualClock(),
  transformations = new TransformationMetrics(clock),
): ValueEncryption {
  return new ValueEncryption(readEncryptionConfiguration(content), {
    clock,
    random: new SeededRandom('nonces'),
    logger: silentLogger,
    metrics: new KmsMetrics(clock, ''),
    transformations,
  });
}

function encrypted(storage: Storage, content: unknown): Storage {
  const encryption = encryptionOf(content);
  return encryptedStorage({ storage, encryption: () => encryption, resourceOf });
}

const memory = (): Storage =>
  createMemoryStorage({ clock: new VirtualClock(), logger: silentLogger });
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (kv: KeyValue | undefined): string => Buffer.from(kv?.value ?? []).toString('latin1');
const key = '/registry/secrets/default/a';

for (const [name, provider] of [
  ['aesgcm', gcm(one)],
  ['aescbc', cbc(one)],
  ['secretbox', box(one)],
] as const) {
  storageConformance(`memory, encrypted with ${name}`, async (options) => {
    const clock = new VirtualClock();
    const below = createMemoryStorage({ clock, logger: silentLogger, ...options });
    const storage = encrypted(below, file([provider, identity], ['*.*']));
    return { storage, advance: (ms) => clock.advance(ms), dispose: () => storage.close() };
  });
}

describe('encryption at rest', () => {
  test.each([
    ['aesgcm', gcm(one), 'k8s:enc:aesgcm:v1:one:', 12 + 6 + 16],
    ['aescbc', cbc(two), 'k8s:enc:aescbc:v1:two:', 16 + 16],
    ['secretbox', box(one), 'k8s:enc:secretbox:v1:one:', 24 + 16 + 6],
  ])('writes %s as Kubernetes does', async (_, provider, prefix, length) => {
    const below = memory();
    const storage = encrypted(below, file([provider]));
    await storage.create(key, bytes('hidden'));
    const stored = text(await below.get(key));
    expect(stored.startsWith(prefix)).toBe(true);
    expect(stored.length).toBe(prefix.length + length);
    expect(stored).not.toContain('hidden');
    expect(text(await storage.get(key))).toBe('hidden');
    expect(text((await storage.list('/registry/secrets/')).items[0])).toBe('hidden');
    const { previous } = await storage.delete(key);
    expect(text(previous)).toBe('hidden');
  });

  test('reads values that another implementation wrote', async () => {
    const below = memory();
    // AES-256-CBC of 'hidden' with the key '1' × 32 and an initialization vector of zeros, made by
    // openssl enc.
    const sealed = Buffer.concat([
      Buffer.alloc(16),
      Buffer.from('4ff188388cb7346a938158f9bd38594f', 'hex'),
    ]);
    await below.create(key, Buffer.concat([bytes('k8s:enc:aescbc:v1:one:'), sealed]));
    expect(text(await encrypted(below, file([cbc(one)])).get(key))).toBe('hidden');
    // Made by golang.org/x/crypto/nacl/secretbox, with a nonce of zeros.
    const boxed = Buffer.concat([
      Buffer.alloc(24),
      Buffer.from('b0b026742b96e116d01b051210a074f349abeb3b1037', 'hex'),
    ]);
    const other = '/registry/secrets/default/b';
    await below.create(other, Buffer.concat([bytes('k8s:enc:secretbox:v1:one:'), boxed]));
    expect(text(await encrypted(below, file([box(one)])).get(other))).toBe('hidden');
    await expect(
      encrypted(below, file([box({ ...one, secret: secretOf('x', 32) })])).get(other),
    ).rejects.toThrow(/authentication failed/);
  });

  test('does not touch other resources', async () => {
    const below = memory();
    const storage = encrypted(below, file([gcm(one)], ['secrets', '*.apps']));
    await storage.create('/registry/configmaps/default/a', bytes('plain'));
    await storage.create('/registry/apps/deployments/default/a', bytes('hidden'));
    expect(text(await below.get('/registry/configmaps/default/a'))).toBe('plain');
    const other = encrypted(below, file([gcm(one)], ['*.']));
    await other.create('/registry/pods/default/a', bytes('hidden'));
    expect(text(await below.get('/registry/pods/default/a'))).toContain('k8s:enc:aesgcm:v1:one:');
  });

  test('rotates keys: the first key writes, all keys read, an unchanged update writes again', async () => {
    const below = memory();
    await encrypted(below, file([identity])).create(key, bytes('value'));
    const keep = (): { action: 'keep' } => ({ action: 'keep' });
    for (const [providers, prefix] of [
      [[gcm(one), identity], 'k8s:enc:aesgcm:v1:one:'],
      [[gcm(two, one)], 'k8s:enc:aesgcm:v1:two:'],
      [[cbc(one), gcm(two)], 'k8s:enc:aescbc:v1:one:'],
    ] as const) {
      const storage = encrypted(below, file([...providers]));
      const before = await storage.get(key);
      expect(text(before)).toBe('value');
      // The second half of the cases passes a guess, as a cache does.
      const { kv, revision } = await storage.guaranteedUpdate(key, keep, { guess: before });
      expect(text(kv)).toBe('value');
      expect(revision).toBeGreaterThan(before?.modRevision ?? 0);
      expect(text(await below.get(key)).startsWith(prefix)).toBe(true);
      expect((await storage.guaranteedUpdate(key, keep)).revision).toBe(revision);
    }
    const storage = encrypted(below, file([identity, cbc(one)]));
    await storage.guaranteedUpdate(key, keep);
    expect(text(await below.get(key))).toBe('value');
  });

  test.each([
    ['a key that is not configured', gcm(one), gcm(two), 'no matching prefix found'],
    [
      'another key of that name',
      gcm(one),
      gcm({ ...two, name: 'one' }),
      'cipher: message authentication failed',
    ],
    [
      'no encryption any more',
      gcm(one),
      identity,
      'identity transformer tried to read encrypted data',
    ],
  ])('cannot be read with %s, and says so', async (_, writer, reader, problem) => {
    const below = memory();
    await encrypted(below, file([writer])).create(key, bytes('value'));
    const storage = encrypted(below, file([reader]));
    const message = `unable to transform key "${key}": ${problem}`;
    await expect(storage.get(key)).rejects.toMatchObject({ reason: 'Corrupt', message });
    await expect(storage.list('/registry/secrets/')).rejects.toMatchObject({ message });
    const stream = storage.watch('/registry/secrets/', { afterRevision: 1 });
    await expect(stream[Symbol.asyncIterator]().next()).rejects.toMatchObject({ message });
    expect(text(await below.get(key))).toContain('k8s:enc:');
  });

  test('rejects a value that was moved to another key, or changed', async () => {
    const below = memory();
    const storage = encrypted(below, file([gcm(one)]));
    await storage.create(key, bytes('value'));
    const stored = (await below.get(key))?.value ?? new Uint8Array();
    await below.create('/registry/secrets/default/b', stored);
    await expect(storage.get('/registry/secrets/default/b')).rejects.toMatchObject({
      reason: 'Corrupt',
    });
    for (let i = 'k8s:enc:aesgcm:v1:one:'.length; i < stored.length; i++) {
      const changed = Uint8Array.from(stored);
      changed[i] = (changed[i] ?? 0) ^ 1;
      await below.guaranteedUpdate(key, () => ({ action: 'put', value: changed }));
      await expect(storage.get(key)).rejects.toMatchObject({ reason: 'Corrupt' });
    }
  });
});

describe('an invalid EncryptionConfiguration is rejected', () => {
  const broken = (change: object): object => ({ ...file([gcm(one)]), ...change });
  test.each([
    ['no object', 'text', ': Invalid value: must be an object'],
    [
      'another kind',
      broken({ kind: 'Pod' }),
      'kind: Unsupported value: "Pod": supported values: "EncryptionConfiguration"',
    ],
    [
      'another version',
      broken({ apiVersion: 'v9' }),
      'apiVersion: Unsupported value: "v9": supported values: "apiserver.config.k8s.io/v1"',
    ],
    [
      'no resources',
      broken({ resources: [] }),
      'resources: Required value: at least one resources is required',
    ],
    ['an unknown field', broken({ extra: 1 }), 'extra: Forbidden: unknown field'],
    [
      'no names',
      file([gcm(one)], []),
      'resources[0].resources: Required value: at least one resources[0].resources is required',
    ],
    [
      'no providers',
      file([]),
      'resources[0].providers: Required value: at least one resources[0].providers is required',
    ],
    [
      'an empty provider',
      file([{}]),
      'provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity',
    ],
    [
      'two in one',
      file([{ ...gcm(one), ...identity }]),
      'more than one provider specified in a single element, should split into different list elements',
    ],
    [
      'no keys',
      file([gcm()]),
      'resources[0].providers[0].aesgcm.keys: Required value: at least one keys is required',
    ],
    [
      'a key without a name',
      file([gcm({ secret: one.secret })]),
      'resources[0].providers[0].aesgcm.keys[0].name: Required value: name is a mandatory field for a key',
    ],
    [
      'a key without a secret',
      file([cbc({ name: 'x' })]),
      'resources[0].providers[0].aescbc.keys[0].secret: Required value: secret is a mandatory field for a key',
    ],
    [
      'a secret that is not base64',
      file([gcm({ name: 'x', secret: '***' })]),
      'keys[0].secret: Invalid value: "REDACTED": secrets must be base64 encoded',
    ],
    [
      'a short secret',
      file([gcm({ name: 'x', secret: secretOf('x', 5) })]),
      'keys[0].secret: Invalid value: "REDACTED": secret is not of the expected length, got 5, ' +
        'expected one of [16 24 32]',
    ],
    [
      'a secret that is too short for secretbox',
      file([box(two)]),
      'keys[0].secret: Invalid value: "REDACTED": secret is not of the expected length, got 16, expected one of [32]',
    ],
    [
      'a provider that is missing here',
      file([{ kms: { apiVersion: 'v1', name: 'a', endpoint: 'unix:///a' } }]),
      'resources[0].providers[0].kms.apiVersion: Forbidden: KMS v1 is not supported',
    ],
    [
      '*',
      file([identity], ['*']),
      "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources",
    ],
    [
      'capital letters',
      file([identity], ['Secrets']),
      'resource name should not contain capital letters',
    ],
    [
      'the same twice',
      file([identity], ['secrets', 'secrets']),
      'the same resource cannot be specified multiple times',
    ],
    [
      'what covers another',
      file([identity], ['*.', 'secrets']),
      'using overlapping resources such as',
    ],
    [
      'a group for all',
      file([identity], ['pods.*']),
      'encrypting the same resource across groups is not supported',
    ],
    [
      'events.k8s.io',
      file([identity], ['events.events.k8s.io']),
      "Use 'events' instead in the config file",
    ],
  ])('with %s', (_, content, message) => {
    expect(() => readEncryptionConfiguration(content)).toThrow(message);
  });
});

test('metrics count encryptions and decryptions by resource and provider', async () => {
  const clock = new VirtualClock();
  const transformations = new TransformationMetrics(clock);
  const provider = (name: string): object => ({
    aesgcm: { keys: [{ name, secret: Buffer.alloc(32, name).toString('base64') }] },
  });
  const storageBy = (storage: Storage, ...providers: readonly object[]): Storage => {
    const resources = [{ resources: ['secrets', '*.example.com'], providers }];
    const encryption = encryptionOf(
      { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'EncryptionConfiguration', resources },
      clock,
      transformations,
    );
    return encryptedStorage({ storage, encryption: () => encryption, resourceOf });
  };
  const below = memory();
  const first = storageBy(below, provider('a'), { identity: {} });
  await first.create(key, bytes('value'));
  await first.create('/registry/example.com/pandas/default/b', bytes('value'));
  await first.create('/registry/configmaps/default/c', bytes('value'));
  await below.create('/registry/secrets/default/plain', bytes('value'));
  await storageBy(below, provider('a'), { identity: {} }).list('/registry/secrets/');
  await expect(storageBy(below, provider('b')).list('/registry/secrets/')).rejects.toThrow();
  const lines = transformations
    .text()
    .split('\n')
    .map((line) => line.replace('apiserver_storage_transformation_', ''))
    .map((line) => line.replace('transformation_type=', 'type=').replace('transformer_', ''));
  expect(lines.filter((line) => line.startsWith('operations_total{'))).toEqual(
    [
      'resource="secrets",type="to_storage",prefix="k8s:enc:aesgcm:v1:a:",status="OK"} 1',
      'resource="pandas.example.com",type="to_storage",prefix="k8s:enc:aesgcm:v1:a:",status="OK"} 1',
      'resource="secrets",type="from_storage",prefix="k8s:enc:aesgcm:v1:a:",status="OK"} 1',
      'resource="secrets",type="from_storage",prefix="identity",status="OK"} 1',
      'resource="secrets",type="from_storage",prefix="unknown",status="unknown-non-grpc"} 1',
    ].map((text) => `operations_total{${text}`),
  );
  expect(lines).toContain(
    'duration_seconds_count{type="to_storage",prefix="k8s:enc:aesgcm:v1:a:"} 2',
  );
});
