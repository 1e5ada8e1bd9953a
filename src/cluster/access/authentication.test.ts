// The flags and the file about users, and the file's changes while a server runs.

import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { jwtOfFlags } from '#apiserver/authentication/oidc/settings.ts';
import { makeTestAuthority } from '#apiserver/testing/certificates.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { type AccessFlags, accessOf, type AccessSettings } from './index.ts';

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

describe('a changed file', () => {
  let ca: string;
  let server: Server;
  /** The address of an issuer that answers once it is ready. */
  let issuer: string;
  let isReady: boolean;
  let stop: AbortController;
  let changes: number;
  beforeEach(async () => {
    isReady = true;
    changes = 0;
    stop = new AbortController();
    const authority = await makeTestAuthority();
    ca = authority.cert;
    server = createServer(await authority.server(), (request, response) => {
      const document = { issuer: `https://${request.headers.host}`, jwks_uri: `${issuer}/keys` };
      response.writeHead(isReady ? 200 : 503).end(JSON.stringify(document));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    issuer = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => {
    stop.abort();
    server.close();
    server.closeAllConnections();
  });

  const trusted = (url: string): object => ({
    issuer: { url, audiences: ['a'], certificateAuthority: ca },
    claimMappings: { username: { claim: 'sub', prefix: '' } },
  });
  const follow = async (): Promise<AccessSettings> => {
    write(jwt('https://one.example'));
    const access = await accessOf({ authenticationConfig: file }, { clock, logger: silentLogger });
    void access.keepLoaded(stop.signal, () => void changes++);
    return access;
  };
  const issuersOf = (access: AccessSettings): readonly string[] =>
    access.config.jwt!().map((each) => each.issuer);
  const failures = (count: number): RegExp =>
    new RegExp(
      `apiserver_authentication_config_controller_automatic_reloads_total\\{[^}]*status="failure"\\} ${count}\n`,
    );

  test('is used, unless it is wrong or changes who is anonymous', async () => {
    const access = await follow();
    expect(issuersOf(access)).toEqual(['https://one.example']);
    expect(access.config.jwt!()).toBe(access.config.jwt!());
    write({ jwt: [trusted(issuer)] });
    await clock.advance(30_000);
    expect(issuersOf(access)).toEqual([issuer]);
    write({ ...jwt(), anonymous: { enabled: true } });
    await clock.advance(30_000);
    write(jwt('http://one.example'));
    await clock.advance(30_000);
    expect(issuersOf(access)).toEqual([issuer]);
    expect(changes).toBe(1);
    expect(access.metrics()).toMatch(failures(2));
  });

  test('is used once its new issuers have answered', async () => {
    isReady = false;
    const access = await follow();
    write({ jwt: [trusted(issuer)] });
    await clock.advance(62_000);
    expect(access.metrics()).toMatch(failures(1));
    expect(issuersOf(access)).toEqual(['https://one.example']);
    isReady = true;
    await clock.advance(30_000);
    expect(issuersOf(access)).toEqual([issuer]);
    expect(access.metrics()).toMatch(failures(1));
  });

  test('does not ask the issuers that stay', async () => {
    const access = await follow();
    write({ jwt: [...(jwt('https://one.example') as { jwt: object[] }).jwt, trusted(issuer)] });
    await clock.advance(30_000);
    expect(issuersOf(access)).toEqual(['https://one.example', issuer]);
  });
});
