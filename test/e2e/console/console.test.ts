// The console in a real browser, with the whole command behind it.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { namespaces, pods, serviceAccounts } from '#api/groups/core/v1/index.ts';
import { roleBindings } from '#api/groups/rbac/v1/index.ts';
import type { Client } from '#client/client.ts';
import { connect, type Connection } from '#client/connect.ts';
import { freePort } from '#machinery/net/testing/free-ports.ts';
import { coxArgs, coxUp, named, run, type RunningCluster, temporaryDir } from '../harness.ts';
import {
  accessibilityProblems,
  type ConsolePage,
  launchBrowser,
  loginLink,
  missingBrowser,
  openPage,
  signedInAs,
  signInWithToken,
} from './browser.ts';

describe.skipIf(missingBrowser !== undefined)(named('the console', missingBrowser), () => {
  const dir = temporaryDir();
  let cluster: RunningCluster;
  let origin: string;
  let connection: Connection;
  let client: Client;
  let browser: Browser;
  const open: ConsolePage[] = [];

  beforeAll(async () => {
    const port = await freePort();
    origin = `https://127.0.0.1:${port}`;
    [cluster, browser] = await Promise.all([
      coxUp(['--runtime', 'simulated', '--store', 'memory', '--nodes', '2'], {
        dataDir: join(dir.path, 'data'),
        port,
      }),
      launchBrowser(),
    ]);
    connection = await connect({ kubeconfig: cluster.kubeconfig });
    client = connection.client;
  });
  afterAll(async () => {
    await browser?.close();
    connection?.close();
    await cluster?.stop();
    dir.remove();
  });
  afterEach(async () => {
    for (const each of open.splice(0)) {
      expect(each.defects).toEqual([]);
      await each.close();
    }
  });

  const newPage = async (options?: Parameters<typeof openPage>[2]): Promise<ConsolePage> => {
    const each = await openPage(browser, origin, options);
    open.push(each);
    return each;
  };
  /** Opens a page that is signed in as the administrator. */
  const adminPage = async (route = '/', options?: Parameters<typeof openPage>[2]) => {
    const each = await newPage(options);
    await each.page.goto(await loginLink(cluster.kubeconfig));
    await signedInAs(each.page, 'kubernetes-admin');
    if (route !== '/') await each.page.goto(`${origin}/console/#${route}`);
    return each.page;
  };
  const pod = (name: string, command = 'sleep 3600') => ({
    metadata: { name, labels: { app: name } },
    spec: {
      containers: [{ name: 'main', image: 'busybox', command: ['sh', '-c', command] }],
    },
  });

  test('a link signs in once, and leaves no code in the address or the history', async () => {
    const { page, context } = await newPage();
    const link = await loginLink(cluster.kubeconfig);
    await page.goto(link);
    await signedInAs(page, 'kubernetes-admin');
    await page.getByRole('heading', { name: 'Cluster', level: 1 }).waitFor();
    expect(page.url()).not.toContain('login=');
    const cookies = await context.cookies();
    expect(cookies).toMatchObject([
      {
        name: '__Host-coxswain-console',
        httpOnly: true,
        secure: true,
        sameSite: 'Strict',
        path: '/',
      },
    ]);
    expect(await page.evaluate(() => document.cookie)).toBe('');
    expect(await accessibilityProblems(page)).toEqual([]);
    const { page: second } = await newPage();
    await second.goto(link);
    await second.getByRole('alert').waitFor();
    await second.getByLabel('Token', { exact: true }).waitFor();
  });

  test('a token of a ServiceAccount signs in, and sees only its namespace', async () => {
    await client.resource(namespaces).create({ metadata: { name: 'shop' } });
    const accounts = client.resource(serviceAccounts).namespace('shop');
    await accounts.create({ metadata: { name: 'viewer' } });
    await client
      .resource(roleBindings)
      .namespace('shop')
      .create({
        metadata: { name: 'viewer' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
        subjects: [{ kind: 'ServiceAccount', name: 'viewer', namespace: 'shop' }],
      });
    await client.resource(pods).namespace('shop').create(pod('till'));
    await client.resource(pods).namespace('default').create(pod('hidden'));
    const { status } = await accounts.subresource<{ status: { token: string } }>(
      'viewer',
      'token',
      {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: { audiences: [], expirationSeconds: 3600 },
      },
    );
    const { page } = await newPage();
    await signInWithToken(page, origin, 'not-a-token');
    await page.getByRole('alert').getByText('does not accept this token').waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await signInWithToken(page, origin, status.token);
    await signedInAs(page, 'system:serviceaccount:shop:viewer');
    await page.goto(`${origin}/console/#/list/pods`);
    await page
      .getByText(/cannot list resource "pods"/)
      .first()
      .waitFor();
    expect(await page.getByText('hidden').count()).toBe(0);
    const field = page
      .getByRole('textbox', { name: 'Namespace' })
      .or(page.getByRole('combobox', { name: 'Namespace' }));
    await field.fill('shop');
    await field.press('Enter');
    await page.getByRole('link', { name: 'till' }).waitFor();
    await page.getByRole('button', { name: /Signed in as/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByLabel('Token', { exact: true }).waitFor();
  });

  test('a list follows the cluster', async () => {
    const page = await adminPage('/list/pods');
    const inDefault = client.resource(pods).namespace('default');
    await inDefault.create(pod('appears'));
    const row = page.getByRole('row').filter({ hasText: 'appears' });
    await row.getByText('Running').waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await inDefault.delete('appears', { gracePeriodSeconds: 0 });
    await row.waitFor({ state: 'detached' });
  });

  test('a user of a kubeconfig signs in as itself', async () => {
    const { stdout } = await run(process.execPath, [
      ...coxArgs,
      'kubeconfig',
      '--data-dir',
      cluster.dataDir,
      '--user',
      'jane',
    ]);
    const file = join(dir.path, 'jane.conf');
    writeFileSync(file, stdout, { mode: 0o600 });
    const { page } = await newPage();
    await page.goto(await loginLink(file));
    await signedInAs(page, 'jane');
  });
});
