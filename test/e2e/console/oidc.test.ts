// Signing in at an OpenID Connect provider, in a real browser.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { clusterRoleBindings } from '#api/groups/rbac/v1/index.ts';
import { makeTestAuthority } from '#apiserver/testing/certificates.ts';
import { connect } from '#client/connect.ts';
import { systemClock } from '#machinery/clock.ts';
import { freePort } from '#machinery/net/testing/free-ports.ts';
import { startTestIssuer, type TestIssuer } from '#machinery/net/oidc/testing/test-issuer.ts';
import { coxUp, named, type RunningCluster, temporaryDir } from '../harness.ts';
import {
  accessibilityProblems,
  type Attempt,
  type ConsolePage,
  despiteNetworkChanges,
  launchBrowser,
  missingBrowser,
  openAddress,
  openPage,
  signedInAs,
} from './browser.ts';

const CLIENT_ID = 'coxswain';
const CLAIMS = { sub: '1', email: 'jane@example.com', groups: ['viewers'] };

describe.skipIf(missingBrowser !== undefined)(
  named('the console with OpenID Connect', missingBrowser),
  () => {
    const dir = temporaryDir();
    let issuer: TestIssuer;
    let cluster: RunningCluster;
    let origin: string;
    let browser: Browser;
    const open: ConsolePage[] = [];

    beforeAll(async () => {
      const authority = await makeTestAuthority();
      const { cert, key } = await authority.server();
      const ca = join(dir.path, 'issuer-ca.pem');
      writeFileSync(ca, authority.cert);
      issuer = await startTestIssuer({
        cert,
        key,
        clientId: CLIENT_ID,
        now: () => systemClock.now(),
        claims: CLAIMS,
      });
      const port = await freePort();
      origin = `https://127.0.0.1:${port}`;
      cluster = await coxUp(
        [
          '--runtime=simulated',
          '--store=memory',
          `--oidc-issuer-url=${issuer.url}`,
          `--oidc-client-id=${CLIENT_ID}`,
          `--oidc-ca-file=${ca}`,
          '--oidc-username-claim=email',
          '--oidc-groups-claim=groups',
          '--oidc-groups-prefix=oidc:',
        ],
        { dataDir: join(dir.path, 'data'), port },
      );
      const { client, close } = await connect({ kubeconfig: cluster.kubeconfig });
      const group = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'oidc:viewers' };
      await client.resource(clusterRoleBindings).create({
        metadata: { name: 'viewers' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
        subjects: [group],
      });
      close();
      browser = await launchBrowser();
    });
    afterAll(async () => {
      await browser?.close();
      await cluster?.stop();
      await issuer?.stop();
      dir.remove();
    });
    const closePages = async (): Promise<void> => {
      for (const each of open.splice(0)) {
        expect(each.defects).toEqual([]);
        await each.close();
      }
    };
    afterEach(async () => {
      issuer.claims = CLAIMS;
      issuer.refreshTokens = 'none';
      issuer.lifeSeconds = 3600;
      await closePages();
    });
    const browserTest = (name: string, body: (attempt: Attempt) => Promise<void>): void =>
      test(name, () => despiteNetworkChanges(open, body, closePages));
    const newPage = async (): Promise<ConsolePage> => {
      const each = await openPage(browser, origin, { elsewhere: [issuer.url] });
      open.push(each);
      return each;
    };

    browserTest('the user signs in at the provider, and comes back to its page', async () => {
      const { page, context } = await newPage();
      await openAddress(page, `${origin}/console/#/list/pods`);
      const button = page.getByRole('link', { name: /^Sign in with 127\.0\.0\.1/ });
      await button.waitFor();
      expect(await accessibilityProblems(page)).toEqual([]);
      await button.click();
      await page.getByRole('link', { name: 'Allow' }).click();
      await signedInAs(page, 'jane@example.com');
      expect(new URL(page.url()).hash).toBe('#/list/pods');
      // The rights are those of the token's groups.
      await page.getByText('There are no Pods.').waitFor();
      await page.getByRole('button', { name: /Signed in as/ }).click();
      await page.getByText('oidc:viewers').waitFor();
      const cookies = await context.cookies();
      expect(cookies.find(({ name }) => name === '__Host-coxswain-console')).toMatchObject({
        httpOnly: true,
        secure: true,
        sameSite: 'Strict',
      });
      // A reload is no new sign-in.
      await page.reload();
      await signedInAs(page, 'jane@example.com');
    });

    browserTest('a session goes on with refreshed tokens, until the provider refuses', async () => {
      issuer.refreshTokens = 'accepted';
      issuer.lifeSeconds = 10;
      const { page } = await newPage();
      await openAddress(page, `${origin}/console/#/list/pods`);
      await page.getByRole('link', { name: /^Sign in with/ }).click();
      issuer.requests.length = 0;
      await page.getByRole('link', { name: 'Allow' }).click();
      await signedInAs(page, 'jane@example.com');
      const tokens = (): number => issuer.requests.filter((path) => path === '/token').length;
      await expect.poll(tokens, { timeout: 90_000 }).toBeGreaterThan(2);
      await signedInAs(page, 'jane@example.com');
      expect(await page.getByRole('dialog').count()).toBe(0);
      issuer.refreshTokens = 'refused';
      const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
      await dialog.waitFor({ timeout: 120_000 });
      expect(await accessibilityProblems(page)).toEqual([]);
      issuer.lifeSeconds = 3600;
      await dialog.getByRole('link', { name: /^Sign in with/ }).click();
      await page.getByRole('link', { name: 'Allow' }).click();
      await signedInAs(page, 'jane@example.com');
      expect(new URL(page.url()).hash).toBe('#/list/pods');
    });

    browserTest('a user who says no, or has no valid identity, sees why', async () => {
      const { page } = await newPage();
      await openAddress(page, `${origin}/console/`);
      await page.getByRole('link', { name: /^Sign in with/ }).click();
      await page.getByRole('link', { name: 'Deny' }).click();
      await page.getByRole('alert').getByText('has denied the sign-in').waitFor();
      expect(page.url()).toBe(`${origin}/console/`);
      issuer.claims = { ...CLAIMS, email_verified: false };
      await page.getByRole('link', { name: /^Sign in with/ }).click();
      await page.getByRole('link', { name: 'Allow' }).click();
      await page.getByRole('alert').getByText('does not accept the identity').waitFor();
    });

    browserTest('a response that this browser has not asked for begins no session', async () => {
      const { page: victim } = await newPage();
      const { page: attacker } = await newPage();
      await openAddress(attacker, `${origin}/console/`);
      await attacker.getByRole('link', { name: /^Sign in with/ }).click();
      const back = await attacker.getByRole('link', { name: 'Allow' }).getAttribute('href');
      await openAddress(victim, back ?? '');
      await victim.getByRole('alert').getByText('was not begun in this browser').waitFor();
      await victim.getByLabel('Token', { exact: true }).waitFor();
    });
  },
);
