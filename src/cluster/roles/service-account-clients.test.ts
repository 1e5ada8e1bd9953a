import { afterEach, beforeEach, expect, test } from 'vitest';
import { serviceAccounts } from '#api/groups/core/v1/index.ts';
import { startTestServer, type TestServer } from '#apiserver/testing/server.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { systemRandom } from '#machinery/random.ts';
import { Pki } from '../credentials/pki.ts';
import { accountTokens } from './service-account-clients.ts';

let t: TestServer;
let clock: VirtualClock;
let tokens: () => Promise<string>;
beforeEach(async () => {
  clock = new VirtualClock();
  const pki = await Pki.open({ clock, random: systemRandom });
  t = await startTestServer({
    clock,
    serviceAccounts: { signingKey: pki.serviceAccountKeys().privateKey },
  });
  const manager = t.clientOf({
    name: 'system:kube-controller-manager',
    groups: ['system:authenticated'],
  });
  tokens = accountTokens(manager, 'job-controller', clock);
});
afterEach(() => t.stop());

const claimsOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString('utf8')) as {
    sub: string;
    exp: number;
  };
const accounts = () => t.client.resource(serviceAccounts).namespace('kube-system');

test('a token is of an account that is made where it is missing, and one for all who ask', async () => {
  const [one, other] = await Promise.all([tokens(), tokens()]);
  expect(one).toBe(other);
  expect(claimsOf(one).sub).toBe('system:serviceaccount:kube-system:job-controller');
  expect((await accounts().list()).items.map(({ metadata }) => metadata.name)).toEqual([
    'job-controller',
  ]);
});

test('it is renewed before it ends', async () => {
  const first = await tokens();
  await clock.advance('40m');
  expect(await tokens()).toBe(first);
  await clock.advance('10m');
  const second = await tokens();
  expect(second).not.toBe(first);
  expect(claimsOf(second).exp - clock.now() / 1000).toBeGreaterThan(3500);
});

test('a deleted account is recreated', async () => {
  await tokens();
  await accounts().delete('job-controller');
  await clock.advance('1h');
  expect(claimsOf(await tokens()).sub).toBe('system:serviceaccount:kube-system:job-controller');
});

test('a server that cannot be asked now is asked again', async () => {
  let down = true;
  const manager = t.clientOf({
    name: 'system:kube-controller-manager',
    groups: ['system:authenticated'],
  });
  const unreliable = {
    ...manager,
    resource: ((type: never) => {
      if (down) throw new Error('down');
      return manager.resource(type);
    }) as typeof manager.resource,
  };
  expect(() => accountTokens(unreliable, 'job-controller', clock)).not.toThrow();
  const source = accountTokens(unreliable, 'job-controller', clock);
  await expect(source()).rejects.toThrow('down');
  down = false;
  expect(await source()).toMatch(/^ey/);
});
