// The console of a cluster inside a program: its virtual clock, forks, and work on nodes. Pods move
// only when the test moves the clock.

import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { deployments } from '#api/groups/apps/v1/index.ts';
import { nodes, pods, serviceAccounts } from '#api/groups/core/v1/index.ts';
import { clusterRoleBindings } from '#api/groups/rbac/v1/index.ts';
import { podDisruptionBudgets } from '#api/groups/policy/v1/index.ts';
import type { ForkableCluster } from '#cluster/embedded/embedded-cluster.ts';
import { startCluster } from '#cluster/embedded/start-cluster.ts';
import { systemClock } from '#machinery/clock.ts';
import * as wait from '#machinery/wait.ts';
import { named } from '../harness.ts';
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
  signInWithToken,
} from './browser.ts';

describe.skipIf(missingBrowser !== undefined)(
  named('the console of a test cluster', missingBrowser),
  () => {
    let cluster: ForkableCluster;
    let browser: Browser;
    const open: ConsolePage[] = [];
    beforeAll(async () => {
      browser = await launchBrowser();
    });
    afterAll(() => browser?.close());
    const closePages = async (): Promise<void> => {
      for (const each of open.splice(0)) {
        expect(each.defects).toEqual([]);
        await each.close();
      }
    };
    afterEach(closePages);

    /** Runs a test with a cluster of its own, whose certificates are valid now. */
    const clusterTest = (name: string, body: () => Promise<void>): void =>
      test(name, () =>
        despiteNetworkChanges(
          open,
          async (_attempt: Attempt) => {
            const startMs = systemClock.now();
            cluster = await startCluster({
              clock: 'virtual',
              startMs,
              nodes: 2,
              port: 0,
              console: true,
            });
            try {
              await body();
              await closePages();
            } finally {
              await cluster.stop();
            }
          },
          closePages,
        ),
      );
    const adminPage = async (route: string): Promise<ConsolePage> => {
      const origin = cluster.url as string;
      const each = await openPage(browser, origin);
      open.push(each);
      const { path } = await cluster.client.transport.request<{ readonly path: string }>({
        method: 'POST',
        path: '/console/codes',
      });
      await openAddress(each.page, `${origin}${path}`);
      await signedInAs(each.page, 'kubernetes-admin');
      await openAddress(each.page, `${origin}/console/#${route}`);
      return each;
    };
    const waitUntil = (condition: () => Promise<boolean>): Promise<void> =>
      wait.pollImmediately({ clock: systemClock, intervalMs: 50, timeoutMs: 60_000 }, condition);

    clusterTest('moves its clock, and opens a fork with a future of its own', async () => {
      const before = cluster.clock.now();
      const { page } = await adminPage('/clock');
      await page.getByRole('button', { name: '+ 1 minute' }).click();
      await waitUntil(async () => cluster.clock.now() >= before + 60_000);
      await page.getByRole('button', { name: 'Fork the cluster' }).click();
      const link = page.getByRole('link', { name: /^https:\/\/127\.0\.0\.1:/ });
      await link.waitFor();
      expect(await accessibilityProblems(page)).toEqual([]);
      const address = (await link.getAttribute('href')) ?? '';
      const fork = await openPage(browser, new URL(address).origin);
      open.push(fork);
      await openAddress(fork.page, address);
      await signedInAs(fork.page, 'kubernetes-admin');
      await openAddress(fork.page, `${new URL(address).origin}/console/#/clock`);
      const moved = cluster.clock.now();
      await fork.page.getByRole('button', { name: '+ 10 seconds' }).click();
      await fork.page.getByRole('button', { name: '+ 10 seconds', disabled: false }).waitFor();
      expect(cluster.clock.now()).toBe(moved);
    });

    clusterTest('a day passes while the console is connected', async () => {
      const { clock } = cluster;
      const { page } = await adminPage('/list/nodes');
      await page.getByRole('link', { name: 'node-1' }).waitFor();
      const before = clock.now();
      await openAddress(page, `${cluster.url}/console/#/clock`);
      await page.getByRole('button', { name: '+ 1 day' }).click();
      await page.getByRole('button', { name: '+ 1 day', disabled: false }).waitFor();
      expect(clock.now()).toBeGreaterThanOrEqual(before + 86_400_000);
      // The page follows what happens afterwards.
      await openAddress(page, `${cluster.url}/console/#/list/nodes`);
      await page.getByRole('link', { name: 'node-1' }).waitFor();
      await cluster.client.resource(nodes).delete('node-2');
      await page.getByRole('link', { name: 'node-2' }).waitFor({ state: 'detached' });
    });

    clusterTest('a session ends with its token, and the page goes on after another', async () => {
      const { client, clock } = cluster;
      const accounts = client.resource(serviceAccounts).namespace('default');
      await accounts.create({ metadata: { name: 'guest' } });
      await client.resource(clusterRoleBindings).create({
        metadata: { name: 'guest' },
        roleRef: {
          apiGroup: 'rbac.authorization.k8s.io',
          kind: 'ClusterRole',
          name: 'cluster-admin',
        },
        subjects: [{ kind: 'ServiceAccount', name: 'guest', namespace: 'default' }],
      });
      const newToken = async (): Promise<string> => {
        const { status } = await accounts.subresource<{ status: { token: string } }>(
          'guest',
          'token',
          {
            apiVersion: 'authentication.k8s.io/v1',
            kind: 'TokenRequest',
            spec: { audiences: [], expirationSeconds: 600 },
          },
        );
        return status.token;
      };
      const origin = cluster.url as string;
      const each = await openPage(browser, origin);
      open.push(each);
      const { page } = each;
      await signInWithToken(page, origin, await newToken());
      await signedInAs(page, 'system:serviceaccount:default:guest');
      await openAddress(page, `${origin}/console/#/apply`);
      const editor = page.getByRole('textbox', { name: 'YAML of objects' });
      await editor.click();
      await page.keyboard.insertText('kind: Half-written');
      await clock.advance('11m');
      const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
      await dialog.waitFor();
      expect(await accessibilityProblems(page)).toEqual([]);
      await dialog.getByLabel('Token', { exact: true }).fill(await newToken());
      await dialog.getByRole('button', { name: 'Sign in' }).click();
      await dialog.waitFor({ state: 'detached' }).catch(async (error: unknown) => {
        throw new Error(`the dialog stays: ${await dialog.innerText()}`, { cause: error });
      });
      // The typed text is still there.
      await page.getByText('kind: Half-written').waitFor();
    });

    clusterTest('drains a node: a budget is waited for, and the pods move', async () => {
      const { client, clock } = cluster;
      const labels = { app: 'web' };
      await client
        .resource(deployments)
        .namespace('default')
        .create({
          metadata: { name: 'web' },
          spec: {
            replicas: 2,
            selector: { matchLabels: labels },
            template: {
              metadata: { labels },
              spec: { containers: [{ name: 'main', image: 'web' }] },
            },
          },
        });
      await cluster.waitFor(deployments, 'web', 'Available');
      const budgets = client.resource(podDisruptionBudgets).namespace('default');
      await budgets.create({
        metadata: { name: 'web' },
        spec: { minAvailable: 2, selector: { matchLabels: labels } },
      });
      await clock.advance('10s');
      const { page } = await adminPage('/object/nodes/_/node-1');
      await page.getByRole('button', { name: 'Actions' }).click();
      await page.getByRole('menuitem', { name: 'Drain' }).click();
      const dialog = page.getByRole('dialog', { name: 'Drain node-1' });
      await dialog.getByRole('button', { name: 'Drain', exact: true }).waitFor();
      expect(await accessibilityProblems(page)).toEqual([]);
      await dialog.getByRole('button', { name: 'Drain', exact: true }).click();
      await dialog
        .getByText(/waits: Cannot evict pod as it would violate/)
        .first()
        .waitFor();
      expect((await client.resource(nodes).get('node-1')).spec.unschedulable).toBe(true);
      await budgets.delete('web');
      // The page's timers are those of the browser; the pods' those of the cluster.
      const onNode = async (): Promise<number> => {
        const { items } = await client
          .resource(pods)
          .namespace('default')
          .list({ fieldSelector: 'spec.nodeName=node-1' });
        return items.length;
      };
      await waitUntil(async () => {
        await clock.advance('1s');
        return (await onNode()) === 0;
      });
      await dialog.getByText('The node is drained.').waitFor();
      expect(await accessibilityProblems(page)).toEqual([]);
      await cluster.waitFor(deployments, 'web', 'Available');
    });
  },
);
