import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger as logger } from '#machinery/log.ts';
import { CredentialPlugins, type RunPlugin } from './credential-plugins.ts';
import {
  CredentialProviderConfigError,
  type CredentialProvider,
  readCredentialProviders,
} from './credential-provider-config.ts';
import { pluginsIn } from './run-credential-plugin.ts';

const API_VERSION = 'credentialprovider.kubelet.k8s.io/v1';
const never = new AbortController().signal;

const provider: CredentialProvider = {
  name: 'plugin',
  apiVersion: API_VERSION,
  matchImages: ['*.example.org', 'registry.test:5000/team'],
  defaultCacheMs: 60_000,
  args: [],
  env: {},
};

const response = (fields: object = {}): string =>
  JSON.stringify({
    kind: 'CredentialProviderResponse',
    apiVersion: API_VERSION,
    cacheKeyType: 'Registry',
    auth: { 'a.example.org': { username: 'me', password: 'secret' } },
    ...fields,
  });

function start(run: RunPlugin) {
  const clock = new VirtualClock();
  const calls: string[] = [];
  const plugins = new CredentialPlugins({
    providers: [provider],
    clock,
    logger,
    run: (asked, input, signal) => {
      calls.push((JSON.parse(input) as { image: string }).image);
      return run(asked, input, signal);
    },
  });
  return { clock, calls, ask: (image: string) => plugins.credentialsFor(image, never) };
}

describe('plugins', () => {
  test('a plugin is asked for its images, and its answer is cached', async () => {
    const { clock, calls, ask } = start(() => Promise.resolve(response()));
    expect(await ask('a.example.org/app:1')).toEqual([{ username: 'me', password: 'secret' }]);
    expect(await ask('busybox')).toEqual([]);
    expect(await ask('a.example.org/other:2')).toHaveLength(1);
    expect(calls).toEqual(['a.example.org/app:1']);
    // Credentials of one host are not sent to another.
    expect(await ask('b.example.org/app:1')).toEqual([]);
    await clock.advance('2m');
    await ask('a.example.org/app:1');
    expect(calls).toHaveLength(3);
  });

  test.each([
    ['Image', 2],
    ['Registry', 1],
    ['Global', 1],
  ])('with the cache key %s, two images take %i calls', async (cacheKeyType, count) => {
    const { calls, ask } = start(() => Promise.resolve(response({ cacheKeyType })));
    await ask('a.example.org/one');
    await ask('a.example.org/two');
    expect(calls).toHaveLength(count);
  });

  test('a duration of 0 is not cached', async () => {
    const { calls, ask } = start(() => Promise.resolve(response({ cacheDuration: '0s' })));
    await ask('a.example.org/one');
    await ask('a.example.org/one');
    expect(calls).toHaveLength(2);
  });

  test('calls for one image at a time are one call', async () => {
    const { calls, ask } = start(() => Promise.resolve(response()));
    await Promise.all([ask('a.example.org/one'), ask('a.example.org/one')]);
    expect(calls).toHaveLength(1);
  });

  test('the more specific place comes first', async () => {
    const auth = {
      'registry.test:5000': { username: 'all', password: 'x' },
      'registry.test:5000/team': { username: 'team', password: 'x' },
    };
    const { ask } = start(() => Promise.resolve(response({ auth })));
    const found = await ask('registry.test:5000/team/app');
    expect(found.map(({ username }) => username)).toEqual(['team', 'all']);
  });

  test.each([
    ['that fails', () => Promise.reject(new Error('exit status 1'))],
    ['that answers nonsense', () => Promise.resolve('nonsense')],
    ['of another version', () => Promise.resolve(response({ apiVersion: 'v2' }))],
    ['without a cache key', () => Promise.resolve(response({ cacheKeyType: 'None' }))],
    ['without a password', () => Promise.resolve(response({ auth: { a: { username: 'x' } } }))],
  ])('a plugin %s gives no credentials', async (_, run) => {
    expect(await start(run).ask('a.example.org/one')).toEqual([]);
  });

  test('a plugin that hangs is ended after a minute', async () => {
    const { clock, ask } = start(
      (_, __, signal) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason as Error)),
        ),
    );
    const found = ask('a.example.org/one');
    await clock.advance('61s');
    expect(await found).toEqual([]);
  });
});

describe('programs', () => {
  let directory: string;
  beforeEach(async () => (directory = await mkdtemp(join(tmpdir(), 'plugins-'))));
  afterEach(() => rm(directory, { recursive: true }));

  const run = async (script: string): Promise<string> => {
    await writeFile(join(directory, 'plugin'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    const withEnv = { ...provider, args: ['one two'], env: { KEY: 'value' } };
    return await pluginsIn(directory)(withEnv, 'input', never);
  };

  test('get the request, their arguments and variables', async () => {
    expect(await run('printf "%s|%s|%s" "$(cat)" "$1" "$KEY"')).toBe('input|one two|value');
  });

  test.each([
    ['fails', 'echo broken >&2; exit 3', 'plugin: exit status 3: broken'],
    ['prints too much', 'head -c 2000000 /dev/zero', 'its response is longer than 1048576 bytes'],
  ])('a program that %s is an error', async (_, script, message) => {
    await expect(run(script)).rejects.toThrow(message);
  });

  test('a missing program is an error', async () => {
    await expect(pluginsIn(directory)(provider, '', never)).rejects.toThrow('ENOENT');
  });
});

describe('the configuration', () => {
  const file = (fields: object = {}, others: object = {}): unknown => ({
    apiVersion: 'kubelet.config.k8s.io/v1',
    kind: 'CredentialProviderConfig',
    providers: [
      {
        name: 'plugin',
        apiVersion: API_VERSION,
        matchImages: ['*.example.org'],
        defaultCacheDuration: '12h',
        env: [{ name: 'KEY', value: 'value' }],
        ...fields,
      },
    ],
    ...others,
  });

  test('is read', () => {
    expect(readCredentialProviders(file())).toEqual([
      {
        name: 'plugin',
        apiVersion: API_VERSION,
        matchImages: ['*.example.org'],
        defaultCacheMs: 12 * 3_600_000,
        args: [],
        env: { KEY: 'value' },
      },
    ]);
  });

  test.each([
    [file({ name: '../sh' }), "provider name cannot contain '/'"],
    [file({ name: '..' }), "provider name cannot be '..'"],
    [file({ apiVersion: 'v1' }), 'providers.apiVersion: Unsupported value: "v1"'],
    [file({ matchImages: [] }), 'at least 1 item in matchImages is required'],
    [file({ defaultCacheDuration: undefined }), 'providers.defaultCacheDuration: Required value'],
    [file({ defaultCacheDuration: '-1s' }), 'must be greater than or equal to 0'],
    [file({ unknown: 1 }), 'unknown field "providers.unknown"'],
    [file({ tokenAttributes: {} }), 'providers.tokenAttributes: Forbidden'],
    [file({}, { providers: [] }), 'at least 1 item in plugins is required'],
    [file({}, { kind: 'Other' }), 'its kind must be CredentialProviderConfig'],
    ['text', 'it is no CredentialProviderConfig'],
  ])('%j is rejected', (content, message) => {
    expect(() => readCredentialProviders(content)).toThrow(CredentialProviderConfigError);
    expect(() => readCredentialProviders(content)).toThrow(message);
  });
});
