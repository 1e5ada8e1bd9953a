import { createDecipheriv } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { allSchemas } from '#api/all-schemas.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import { TestKmsPlugin } from '#storage/encryption/testing/kms-plugin.ts';
import type { Storage } from '#storage/interface.ts';
import { createMemoryStorage } from '#storage/memory/index.ts';
import { Encryption, type EncryptionFlags, resourceOfKeys } from './encryption.ts';
import { UserError } from '../user-error.ts';

const dir = mkdtempSync(join(tmpdir(), 'encryption-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

test.each([
  ['/registry/secrets/default/a', 'secrets', ''],
  ['/registry/services/specs/default/a', 'services', ''],
  ['/registry/services/endpoints/default/a', 'endpoints', ''],
  ['/registry/minions/a', 'nodes', ''],
  ['/registry/events/default/a', 'events', ''],
  ['/registry/deployments/default/a', 'deployments', 'apps'],
  ['/registry/ingress/default/a', 'ingresses', 'networking.k8s.io'],
  [
    '/registry/apiextensions.k8s.io/customresourcedefinitions/a',
    'customresourcedefinitions',
    'apiextensions.k8s.io',
  ],
  ['/registry/example.com/widgets/default/a', 'widgets', 'example.com'],
])('%s is of %s', (key, resource, group) => {
  expect(resourceOfKeys(allSchemas.resources())(key)).toEqual({ group, resource });
});

test.each(['/registry/ranges/serviceips', '/other/secrets/default/a'])(
  '%s is of no resource',
  (key) => {
    expect(resourceOfKeys(allSchemas.resources())(key)).toBeUndefined();
  },
);

test('a file that cannot be used is refused with its name and what is wrong', async () => {
  const services = {
    clock: new VirtualClock(),
    random: systemRandom,
    logger: silentLogger,
    store: 'memory',
  } as const;
  const path = join(dir, 'config.yaml');
  writeFileSync(
    path,
    'apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources: []\n',
  );
  const open = (flags: EncryptionFlags): Promise<unknown> => Encryption.of(flags, services);
  await expect(open({ encryptionProviderConfig: path })).rejects.toThrow(UserError);
  await expect(open({ encryptionProviderConfig: path })).rejects.toThrow(
    `${path}: resources: Required value`,
  );
  await expect(open({ encryptionProviderConfig: join(dir, 'none.yaml') })).rejects.toThrow(
    '--encryption-provider-config',
  );
  await expect(open({ encryptionProviderConfigAutomaticReload: true })).rejects.toThrow(
    'needs --encryption-provider-config',
  );
  expect(await open({})).toBeUndefined();
});

describe('a file that is read again', () => {
  const clock = new VirtualClock();
  const path = join(dir, 'reloaded.json');
  const provider = (name: string): object => ({
    aesgcm: { keys: [{ name, secret: Buffer.alloc(32, name).toString('base64') }] },
  });
  const write = (...providers: readonly object[]): void =>
    writeFileSync(
      path,
      JSON.stringify({
        apiVersion: 'apiserver.config.k8s.io/v1',
        kind: 'EncryptionConfiguration',
        resources: [{ resources: ['secrets'], providers }],
      }),
    );
  const socket = join(dir, 'kms.sock');
  const kms = { kms: { apiVersion: 'v2', name: 'vault', endpoint: `unix://${socket}` } };
  const keys = ['a', 'b', 'c', 'd'].map((name) => `/registry/secrets/default/${name}`);
  const markOf = async (storage: Storage, key: string): Promise<string> =>
    Buffer.from((await storage.get(key))!.value)
      .toString('latin1')
      .split(':', 5)
      .slice(2)
      .join(':');

  test('encrypts with another key, then with a plugin that is healthy', async () => {
    write(provider('one'), { identity: {} });
    const flags = { encryptionProviderConfig: path, encryptionProviderConfigAutomaticReload: true };
    const services = {
      clock,
      random: systemRandom,
      logger: silentLogger,
      store: 'memory',
    } as const;
    const encryption = (await Encryption.of(flags, services))!;
    const below = createMemoryStorage({ clock, logger: silentLogger });
    const storage = encryption.around(below, undefined);
    const [a = '', b = '', c = '', d = ''] = keys;
    void encryption.keepLoaded();
    await storage.create(a, Buffer.from('value'));
    write(provider('two'), provider('one'));
    await clock.advance(10_000);
    await storage.create(b, Buffer.from('value'));
    // The plugin is not there: the configuration is not used.
    write({ kms: { ...kms.kms, timeout: '20ms' } }, provider('two'), provider('one'));
    await clock.advance(60_000);
    await storage.create(c, Buffer.from('value'));
    expect(await Promise.all([a, b, c].map((key) => markOf(below, key)))).toEqual([
      'aesgcm:v1:one',
      'aesgcm:v1:two',
      'aesgcm:v1:two',
    ]);
    const plugin = new TestKmsPlugin();
    await plugin.listen(socket);
    write(kms, provider('two'), provider('one'));
    await clock.advance(60_000);
    await storage.create(d, Buffer.from('value'));
    expect(await markOf(below, d)).toBe('kms:v2:vault');
    const { items } = await storage.list('/registry/secrets/');
    expect(items.map(({ value }) => Buffer.from(value).toString())).toEqual(
      keys.map(() => 'value'),
    );
    expect(encryption.checks().map(({ name }) => name)).toEqual(['kms-providers']);
    const metrics = encryption.metrics();
    expect(metrics).toMatch(
      /apiserver_encryption_config_controller_automatic_reloads_total\{[^}]*status="success"\} 2\n/,
    );
    expect(metrics).toMatch(
      /apiserver_encryption_config_controller_automatic_reloads_total\{[^}]*status="failure"\} \d+\n/,
    );
    encryption.close();
    plugin.close();
  });
});

test('the name in the database is authenticated, whatever the prefix of its keys is', async () => {
  const path = join(dir, 'prefix.json');
  const secret = Buffer.alloc(32, 1);
  writeFileSync(
    path,
    JSON.stringify({
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'EncryptionConfiguration',
      resources: [
        {
          resources: ['secrets'],
          providers: [{ aesgcm: { keys: [{ name: 'a', secret: secret.toString('base64') }] } }],
        },
      ],
    }),
  );
  const clock = new VirtualClock();
  const services = { clock, random: systemRandom, logger: silentLogger, store: 'memory' } as const;
  const encryption = (await Encryption.of({ encryptionProviderConfig: path }, services))!;
  const below = createMemoryStorage({ clock, logger: silentLogger });
  const key = '/registry/secrets/default/a';
  await encryption.around(below, { prefix: 'other/' }).create(key, Buffer.from('value'));
  await expect(encryption.around(below, undefined).get(key)).rejects.toThrow('authentication');
  const stored = (await below.get(key))!.value.subarray('k8s:enc:aesgcm:v1:a:'.length);
  const opened = createDecipheriv('aes-256-gcm', secret, stored.subarray(0, 12))
    .setAAD(Buffer.from('/other/secrets/default/a'))
    .setAuthTag(stored.subarray(-16));
  expect(opened.update(stored.subarray(12, -16)).toString() + opened.final('utf8')).toBe('value');
});
