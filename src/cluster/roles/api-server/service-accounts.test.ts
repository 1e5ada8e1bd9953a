// The keys of ServiceAccount tokens, as flags give them.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { TestSigner } from '#apiserver/authentication/external-signer/testing/test-signer.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import type { ApiServerRoleConfig } from './config.ts';
import { CertificateFiles } from './files.ts';
import { serviceAccountsOf } from './service-accounts.ts';

let dir: string;
let signer: TestSigner;
let endpoint: string;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'coxswain-signer-'));
  endpoint = join(dir, 'signer.sock');
  signer = new TestSigner();
  await signer.listen(endpoint);
});
afterEach(() => {
  signer.close();
  rmSync(dir, { recursive: true });
});

const settings = (flags: Partial<ApiServerRoleConfig>) =>
  serviceAccountsOf(
    {
      clock: systemClock,
      random: new SeededRandom(1),
      logger: silentLogger,
      etcd: { servers: [] },
      serviceAccountSigningEndpoint: endpoint,
      ...flags,
    },
    new CertificateFiles(undefined),
  );
const HOUR = 3_600_000;

test('a program that signs limits the lifetime of tokens', async () => {
  expect(await settings({})).toMatchObject({
    signingEndpoint: endpoint,
    maxExpirationSeconds: 7200,
    maxExtendedSeconds: 7200,
  });
  expect(await settings({ serviceAccountMaxTokenExpiration: HOUR })).toMatchObject({
    maxExpirationSeconds: 3600,
    maxExtendedSeconds: 7200,
  });
});

test.each<[Partial<ApiServerRoleConfig>, string]>([
  [{ serviceAccountSigningKeyFile: 'sa.key' }, 'excludes --service-account-signing-key-file'],
  [{ serviceAccountKeyFile: ['sa.pub'] }, 'excludes --service-account-signing-key-file'],
  [{ serviceAccountSigningEndpoint: '@a/b' }, '@a/b is no name of an abstract socket'],
  [{ serviceAccountMaxTokenExpiration: 3 * HOUR }, 'live for 7200 s at most'],
])('%j is rejected', async (flags, problem) => {
  await expect(settings(flags)).rejects.toThrow(problem);
});

test('tokens that live for less than ten minutes are not enough', async () => {
  signer.maxSeconds = 599;
  await expect(settings({})).rejects.toThrow('600 s are needed');
});
