// The flags and the file about users, and the file's changes while a server runs.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { jwtOfFlags } from '#apiserver/authentication/oidc/settings.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { type AccessFlags, accessOf } from './index.ts';

const clock = new VirtualClock();
const OIDC = jwtOfFlags({ issuer: 'https://i.example', clientId: 'a' });

let dir: string;
let file: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'coxswain-authentication-'));
  file = join(dir, 'authentication.yaml');
});
afterEach(() => rmSync(dir, { recursive: true }));

function write(fields: object): void {
  writeFileSync(
    file,
    JSON.stringify({
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'AuthenticationConfiguration',
      ...fields,
    }),
  );
}

const jwt = (...issuers: readonly string[]): object => ({
  jwt: issuers.map((url) => ({
    issuer: { url, audiences: ['a'] },
    claimMappings: { username: { claim: 'sub', prefix: '' } },
  })),
});

const configOf = async (flags: AccessFlags): Promise<object> =>
  (await accessOf(flags, { clock, logger: silentLogger })).config;

test('without flags nothing is set', async () => {
  expect(await configOf({})).toEqual({});
});

test.each<[AccessFlags, object, object]>([
  [{ anonymousAuth: true }, {}, { anonymous: 'all' }],
  [{ anonymousAuth: false }, {}, { anonymous: 'none' }],
  [{}, { anonymous: { enabled: true } }, { anonymous: 'all' }],
  [{}, { anonymous: { enabled: false } }, { anonymous: 'none' }],
  [
    {},
    { anonymous: { enabled: true, conditions: [{ path: '/livez' }] } },
    { anonymous: { paths: ['/livez'] } },
  ],
])('requests without credentials: %j, %j', async (flags, fields, expected) => {
  write(fields);
  expect(await configOf({ ...flags, authenticationConfig: file })).toMatchObject(expected);
});

test('a flag does not open a server on which every user may do everything', async () => {
  const flags = { anonymousAuth: true, authorizationMode: ['AlwaysAllow'] };
  expect(await configOf(flags)).not.toHaveProperty('anonymous');
});

test('wrong flags', async () => {
  write({ anonymous: { enabled: true } });
  const flags = { authenticationConfig: file };
  await expect(configOf({ ...flags, anonymousAuth: true })).rejects.toThrow(/cannot be set when/);
  await expect(accessOf(flags, { clock, logger: silentLogger, oidc: OIDC })).rejects.toThrow(
    'authentication-config file and oidc-* flags are mutually exclusive',
  );
  await expect(
    configOf({ authenticationTokenWebhookConfigFile: '/does/not/exist' }),
  ).rejects.toThrow(/--authentication-token-webhook-config-file: cannot read the kubeconfig/);
  await expect(
    configOf({
      authenticationTokenWebhookConfigFile: file,
      authenticationTokenWebhookVersion: 'v2',
    }),
  ).rejects.toThrow(/unsupported webhook authenticator version "v2"/);
  write(jwt('https://kubernetes.default.svc.cluster.local'));
  await expect(configOf(flags)).rejects.toThrow(/must not overlap with disallowed issuers/);
});

test('a changed file is used, unless it is wrong or changes who is anonymous', async () => {
  write(jwt('https://one.example'));
  const access = await accessOf({ authenticationConfig: file }, { clock, logger: silentLogger });
  const issuers = (): readonly string[] => access.config.jwt!().map(({ issuer }) => issuer);
  const stop = new AbortController();
  let changes = 0;
  const watching = access.keepLoaded(stop.signal, () => void changes++);
  expect(issuers()).toEqual(['https://one.example']);
  expect(access.config.jwt!()).toBe(access.config.jwt!());
  write(jwt('https://one.example', 'https://two.example'));
  await clock.advance(30_000);
  expect(issuers()).toEqual(['https://one.example', 'https://two.example']);
  write({ ...jwt(), anonymous: { enabled: true } });
  await clock.advance(30_000);
  write(jwt('http://one.example'));
  await clock.advance(30_000);
  expect(issuers()).toHaveLength(2);
  expect(changes).toBe(1);
  expect(access.metrics()).toMatch(
    /apiserver_authentication_config_controller_automatic_reloads_total\{status="failure",[^}]*\} 2\n/,
  );
  stop.abort();
  await watching;
});
