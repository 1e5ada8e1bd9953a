// The console in a real browser, with the whole command behind it.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Cookie } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { cronJobs } from '#api/groups/batch/v1/index.ts';
import {
  configMaps,
  events,
  namespaces,
  nodes,
  pods,
  serviceAccounts,
} from '#api/groups/core/v1/index.ts';
import { deployments } from '#api/groups/apps/v1/index.ts';
import { roleBindings } from '#api/groups/rbac/v1/index.ts';
import type { Client } from '#client/client.ts';
import { connect, type Connection } from '#client/connect.ts';
import { unlessExists } from '#machinery/apierrors.ts';
import { systemClock } from '#machinery/clock.ts';
import { freePort } from '#machinery/net/testing/free-ports.ts';
import * as wait from '#machinery/wait.ts';
import { coxArgs, coxUp, named, run, type RunningCluster, temporaryDir } from '../harness.ts';
import {
  accessibilityProblems,
  type Attempt,
  type ConsolePage,
  despiteNetworkChanges,
  launchBrowser,
  loginLink,
  missingBrowser,
  openAddress,
  openPage,
  signedInAs,
  signInByLink,
  signInWithToken,
  takeScreenshot,
} from './browser.ts';

const WIDGETS = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { spec: { type: 'object', properties: { colour: { type: 'string' } } } },
          },
        },
        additionalPrinterColumns: [{ name: 'Colour', type: 'string', jsonPath: '.spec.colour' }],
      },
    ],
  },
};

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
    cluster = await coxUp(['--runtime', 'simulated', '--store', 'memory', '--nodes', '2'], {
      dataDir: join(dir.path, 'data'),
      port,
    });
    browser = await launchBrowser();
    connection = await connect({ kubeconfig: cluster.kubeconfig });
    client = connection.client;
  });
  afterAll(async () => {
    await browser?.close();
    connection?.close();
    await cluster?.stop();
    dir.remove();
  });
  const closePages = async (): Promise<void> => {
    for (const each of open.splice(0)) {
      expect(each.defects).toEqual([]);
      await each.close();
    }
  };
  afterEach(closePages);
  const browserTest = (name: string, body: (attempt: Attempt) => Promise<void>): void =>
    test(name, () => despiteNetworkChanges(open, body, closePages));

  const newPage = async (options?: Parameters<typeof openPage>[2]): Promise<ConsolePage> => {
    // A browser that crashed is no reason for all further tests to fail.
    if (!browser.isConnected()) browser = await launchBrowser();
    const each = await openPage(browser, origin, options);
    open.push(each);
    return each;
  };
  /** The administrator's session. Empty: it has not begun. */
  let session: readonly Cookie[] = [];
  /** Opens a page that is signed in as the administrator. */
  const adminPage = async (route = '/', options?: Parameters<typeof openPage>[2]) => {
    const { page, context } = await newPage({ ...options, cookies: session });
    if (session.length === 0) {
      await signInByLink(page, cluster.kubeconfig, 'kubernetes-admin');
      session = await context.cookies();
    }
    await openAddress(page, `${origin}/console/#${route}`);
    await signedInAs(page, 'kubernetes-admin');
    return page;
  };
  const waitUntil = (condition: () => Promise<boolean>): Promise<void> =>
    wait.pollImmediately({ clock: systemClock, intervalMs: 50, timeoutMs: 30_000 }, condition);
  const waitForRunning = (name: string): Promise<void> =>
    waitUntil(async () => {
      const { status } = await client.resource(pods).namespace('default').get(name);
      return status.phase === 'Running';
    });
  const pod = (name: string, command = 'sleep 3600') => ({
    metadata: { name, labels: { app: name } },
    spec: {
      containers: [{ name: 'main', image: 'busybox', command: ['sh', '-c', command] }],
    },
  });

  browserTest(
    'a link signs in once, and leaves no code in the address or the history',
    async () => {
      const { page, context } = await newPage();
      const link = await loginLink(cluster.kubeconfig);
      await openAddress(page, link);
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
      expect(await page.evaluate<string>('document.cookie')).toBe('');
      expect(await accessibilityProblems(page)).toEqual([]);
      const { page: second } = await newPage();
      await second.goto(link);
      await second.getByRole('alert').waitFor();
      await second.getByLabel('Token', { exact: true }).waitFor();
    },
  );

  browserTest(
    'a token of a ServiceAccount signs in, and sees only its namespace',
    async ({ named: own }) => {
      await client.resource(namespaces).create({ metadata: { name: own('team') } });
      const accounts = client.resource(serviceAccounts).namespace(own('team'));
      await accounts.create({ metadata: { name: 'viewer' } });
      await client
        .resource(roleBindings)
        .namespace(own('team'))
        .create({
          metadata: { name: 'viewer' },
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
          subjects: [{ kind: 'ServiceAccount', name: 'viewer', namespace: own('team') }],
        });
      await client
        .resource(pods)
        .namespace(own('team'))
        .create(pod(own('till')));
      await client
        .resource(pods)
        .namespace('default')
        .create(pod(own('hidden')));
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
      await signedInAs(page, `system:serviceaccount:${own('team')}:viewer`);
      await openAddress(page, `${origin}/console/#/list/pods`);
      await page
        .getByText(/cannot list resource "pods"/)
        .first()
        .waitFor();
      expect(await page.getByText(own('hidden')).count()).toBe(0);
      const field = page
        .getByRole('textbox', { name: 'Namespace' })
        .or(page.getByRole('combobox', { name: 'Namespace' }));
      await field.fill(own('team'));
      await field.press('Enter');
      await page.getByRole('link', { name: own('till') }).waitFor();
      await page.getByRole('button', { name: /Signed in as/ }).click();
      await page.getByRole('menuitem', { name: 'Sign out' }).click();
      await page.getByLabel('Token', { exact: true }).waitFor();
    },
  );

  browserTest('a list follows the cluster', async ({ named: own }) => {
    const page = await adminPage('/list/pods');
    const inDefault = client.resource(pods).namespace('default');
    await inDefault.create(pod(own('appears')));
    const row = page.getByRole('row').filter({ hasText: own('appears') });
    await row.getByText('Running').waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await inDefault.delete(own('appears'), { gracePeriodSeconds: 0 });
    await row.waitFor({ state: 'detached' });
  });

  browserTest('a user of a kubeconfig signs in as itself', async () => {
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
    await signInByLink(page, file, 'jane');
  });

  browserTest('logs of a pod are text, whatever they contain', async ({ named: own }) => {
    const hostile =
      'echo first-line; ' +
      `echo '<img src=x onerror="globalThis.hacked=1">'; ` +
      `printf '\\033]0;owned\\007\\033[31mred\\033[0m\\n'; ` +
      'sleep 3600';
    await client
      .resource(pods)
      .namespace('default')
      .create(pod(own('talker'), hostile));
    const page = await adminPage(`/object/pods/default/${own('talker')}/logs`);
    await page.getByText('first-line').waitFor();
    await page.getByText('<img src=x onerror="globalThis.hacked=1">').waitFor();
    expect(await page.evaluate<unknown>('globalThis.hacked')).toBeUndefined();
    expect(await page.title()).not.toContain('owned');
    expect(await accessibilityProblems(page)).toEqual([]);
  });

  browserTest('logs of several pods are one stream', async ({ named: own }) => {
    const labels = { app: own('choir') };
    await client
      .resource(deployments)
      .namespace('default')
      .create({
        metadata: { name: own('choir') },
        spec: {
          replicas: 2,
          selector: { matchLabels: labels },
          template: {
            metadata: { labels },
            spec: pod('', 'echo "sung by $HOSTNAME"; sleep 3600').spec,
          },
        },
      });
    const inDefault = client.resource(pods).namespace('default');
    const ofChoir = async () =>
      (await inDefault.list({ labelSelector: `app=${own('choir')}` })).items;
    await waitUntil(async () => {
      const running = (await ofChoir()).filter(({ status }) => status.phase === 'Running');
      return running.length === 2;
    });
    const page = await adminPage(`/object/deployments.apps/default/${own('choir')}/logs`);
    await page.getByText('2 of 2 containers').waitFor();
    for (const { metadata } of await ofChoir())
      await page.getByText(`${metadata.name}/main`).first().waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
  });

  browserTest('a shell in a container', async ({ named: own }) => {
    await client
      .resource(pods)
      .namespace('default')
      .create(pod(own('shelled')));
    await waitForRunning(own('shelled'));
    const page = await adminPage(`/object/pods/default/${own('shelled')}/terminal`);
    await page.getByRole('button', { name: 'Open a shell' }).click();
    await page.getByText('main: connected').waitFor();
    // The echo of what is typed has the quotes, the answer has not.
    await page.keyboard.type("echo an''swer\r");
    await page.locator('.xterm-accessibility-tree').getByText('answer').first().waitFor();
  });

  browserTest('an edit with a conflict goes on from the latest version', async ({ named: own }) => {
    const maps = client.resource(configMaps).namespace('default');
    await maps.create({
      metadata: { name: own('settings') },
      data: { mine: 'old', theirs: 'old' },
    });
    const page = await adminPage(`/object/configmaps/default/${own('settings')}/yaml`);
    await page.getByRole('button', { name: 'Edit' }).click();
    const editor = page.getByRole('textbox', { name: 'YAML of the object, editable' });
    await editor.locator('.cm-line', { hasText: 'mine: old' }).click();
    for (const key of ['End', 'Backspace', 'Backspace', 'Backspace'])
      await page.keyboard.press(key);
    await page.keyboard.type('new');
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.getByRole('button', { name: 'Save' }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await maps.patch(own('settings'), 'application/merge-patch+json', {
      data: { theirs: 'new' },
    });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The object was changed meanwhile').waitFor();
    await page.getByRole('button', { name: 'Put my changes on top of the latest version' }).click();
    await page.getByText('Your changes are now on top of the latest version').waitFor();
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Edit' }).waitFor();
    expect((await maps.get(own('settings'))).data).toEqual({ mine: 'new', theirs: 'new' });
  });

  browserTest(
    'a custom resource has its columns, and hostile values stay text',
    async ({ named: own }) => {
      const { transport } = client;
      await unlessExists(
        transport.request({
          method: 'POST',
          path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
          body: WIDGETS,
        }),
      );
      await waitUntil(async () => {
        const list = transport.request({ method: 'GET', path: '/apis/example.com/v1/widgets' });
        return list.then(
          () => true,
          () => false,
        );
      });
      const script = '<script>globalThis.hacked=2</script>';
      await transport.request({
        method: 'POST',
        path: '/apis/example.com/v1/namespaces/default/widgets',
        body: {
          apiVersion: 'example.com/v1',
          kind: 'Widget',
          metadata: {
            name: own('gear'),
            annotations: { [`x/y`]: `"><svg onload=globalThis.hacked=3>` },
          },
          spec: { colour: script },
        },
      });
      const page = await adminPage('/list/widgets.example.com');
      await page.getByRole('columnheader', { name: 'Colour' }).waitFor();
      await page.getByText(script).first().waitFor();
      await page.getByRole('link', { name: own('gear'), exact: true }).click();
      await page.getByRole('heading', { name: own('gear'), exact: true }).waitFor();
      await openAddress(
        page,
        `${origin}/console/#/object/widgets.example.com/default/${own('gear')}/yaml`,
      );
      await page.getByText('globalThis.hacked=3').first().waitFor();
      expect(await page.evaluate<unknown>('globalThis.hacked')).toBeUndefined();
      expect(await accessibilityProblems(page)).toEqual([]);
    },
  );

  browserTest(
    '10,000 rows: the document stays small, and the filter finds one',
    async ({ named: own }) => {
      await client.resource(namespaces).create({ metadata: { name: own('many') } });
      const maps = client.resource(configMaps).namespace(own('many'));
      const count = 10_000;
      const names = Array.from(
        { length: count },
        (_, n) => `${own('row')}-${String(n).padStart(5, '0')}`,
      );
      const next = names.values();
      await Promise.all(
        Array.from({ length: 64 }, async () => {
          for (const name of next) await maps.create({ metadata: { name } });
        }),
      );
      const page = await adminPage('/list/configmaps');
      const filter = page.getByRole('textbox', { name: 'Filter' });
      await page.getByRole('link', { name: `${own('row')}-00000` }).waitFor();
      expect(await page.getByRole('row').count()).toBeLessThan(200);
      await filter.fill(`${own('row')}-09999`);
      await page.getByRole('link', { name: `${own('row')}-09999` }).waitFor();
      await page.getByRole('link', { name: `${own('row')}-00000` }).waitFor({ state: 'detached' });
    },
  );

  browserTest('rows are selected and deleted together', async ({ named: own }) => {
    const maps = client.resource(configMaps).namespace('default');
    for (const name of ['one', 'two', 'three'])
      await maps.create({ metadata: { name: own(`bulk-${name}`), labels: { of: own('bulk') } } });
    const page = await adminPage(`/list/configmaps/${encodeURIComponent(`of=${own('bulk')}`)}`);
    await page.locator('[role=grid][aria-rowcount="4"]').waitFor();
    for (const name of ['one', 'three'])
      await page.getByRole('checkbox', { name: `Select ${own(`bulk-${name}`)}` }).click();
    await page.getByRole('button', { name: 'Delete 2' }).click();
    const dialog = page.getByRole('dialog', { name: /^Delete 2/ });
    await dialog.getByText(own('bulk-three')).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.locator('[role=grid][aria-rowcount="2"]').waitFor();
    const { items } = await maps.list({ labelSelector: `of=${own('bulk')}` });
    expect(items.map(({ metadata }) => metadata.name)).toEqual([own('bulk-two')]);
  });

  browserTest('a rollout: new images, its history, and back again', async ({ named: own }) => {
    const labels = { app: own('rolled') };
    const rolled = client.resource(deployments).namespace('default');
    await rolled.create({
      metadata: { name: own('rolled') },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: pod('').spec },
      },
    });
    const image = async (): Promise<string | undefined> =>
      (await rolled.get(own('rolled'))).spec.template.spec.containers[0]?.image;
    const page = await adminPage(`/object/deployments.apps/default/${own('rolled')}/rollout`);
    await page.getByRole('button', { name: 'Actions' }).click();
    await page.getByRole('menuitem', { name: 'Set images' }).click();
    const dialog = page.getByRole('dialog', { name: 'Images' });
    await dialog.getByRole('textbox', { name: 'main' }).fill('busybox:2');
    expect(await accessibilityProblems(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Set images' }).click();
    await page.getByRole('button', { name: 'Back to revision 1' }).waitFor();
    expect(await image()).toBe('busybox:2');
    await page.getByRole('button', { name: 'Back to revision 1' }).click();
    await page.getByRole('button', { name: 'Back to revision 2' }).waitFor();
    expect(await image()).toBe('busybox');
    await page.getByRole('button', { name: 'Actions' }).click();
    await page.getByRole('menuitem', { name: 'Pause the rollout' }).click();
    await page.getByText('A paused rollout cannot be undone').waitFor();
    await page.getByRole('button', { name: 'Scale', exact: true }).click();
    const scale = page.getByRole('dialog', { name: 'Scale' });
    await scale.getByRole('textbox', { name: 'Replicas' }).fill('2');
    await scale.getByRole('button', { name: 'Scale', exact: true }).click();
    await waitUntil(async () => (await rolled.get(own('rolled'))).spec.replicas === 2);
  });

  browserTest('YAML of several objects is checked, and applied', async ({ named: own }) => {
    const page = await adminPage('/apply');
    const text = [
      `apiVersion: v1\nkind: Namespace\nmetadata: { name: ${own('applied')} }`,
      `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: settings, namespace: ${own('applied')} }`,
      `apiVersion: v1\nkind: Nothing\nmetadata: { name: x }`,
    ].join('\n---\n');
    const editor = page.getByRole('textbox', { name: 'YAML of objects' });
    await editor.click();
    await page.keyboard.insertText(text);
    await page.getByRole('button', { name: 'Check' }).click();
    const results = page.getByRole('region', { name: 'The server would do this' });
    await results.getByText('would be created').first().waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.getByRole('button', { name: 'Apply', exact: true }).click();
    await page.getByText('the server does not serve Nothing of v1').waitFor();
    await page.getByRole('link', { name: 'settings' }).click();
    await page.getByRole('heading', { name: 'settings', level: 1 }).waitFor();
    await client.resource(configMaps).namespace(own('applied')).get('settings');
  });

  browserTest(
    'a CronJob runs now, a pod is evicted, a node is looked into',
    async ({ named: own }) => {
      const inDefault = client.resource(pods).namespace('default');
      await client
        .resource(cronJobs)
        .namespace('default')
        .create({
          metadata: { name: own('report') },
          spec: {
            schedule: '0 0 1 1 *',
            jobTemplate: {
              spec: { template: { spec: { ...pod('').spec, restartPolicy: 'Never' } } },
            },
          },
        });
      const page = await adminPage(`/object/cronjobs.batch/default/${own('report')}`);
      await page.getByRole('button', { name: 'Actions' }).click();
      await page.getByRole('menuitem', { name: 'Run now' }).click();
      await page
        .getByRole('heading', { name: new RegExp(`^${own('report')}-manual-`), level: 1 })
        .waitFor();
      await inDefault.create(pod(own('evicted')));
      await waitForRunning(own('evicted'));
      await openAddress(page, `${origin}/console/#/object/pods/default/${own('evicted')}`);
      await page.getByRole('button', { name: 'Actions' }).click();
      await page.getByRole('menuitem', { name: 'Evict' }).click();
      await page.getByText('This Pod was deleted').waitFor();
      const { items } = await client.resource(nodes).list();
      const node = items[0]?.metadata.name ?? '';
      await openAddress(page, `${origin}/console/#/object/nodes/_/${node}`);
      await page.getByRole('region', { name: 'Requested by pods' }).getByText('cpu').waitFor();
      expect(await accessibilityProblems(page)).toEqual([]);
      await page.getByRole('button', { name: 'Actions' }).click();
      await page.getByRole('menuitem', { name: 'Debug' }).click();
      const dialog = page.getByRole('dialog', { name: `Debug ${node}` });
      await dialog.getByRole('textbox', { name: 'Image' }).waitFor();
      expect(await accessibilityProblems(page)).toEqual([]);
      await dialog.getByRole('button', { name: 'Create the pod' }).click();
      await page.getByRole('heading', { name: /^node-debugger-/, level: 1 }).waitFor();
      await page.getByRole('button', { name: 'Open a shell' }).waitFor();
    },
  );

  browserTest('what users write is text on every page', async ({ named: own }) => {
    const hostile = `<img src=x onerror="globalThis.hacked=4">\u001b[31m\u202egnp.exe`;
    const inDefault = client.resource(configMaps).namespace('default');
    const annotations = { 'x/note': hostile };
    const { metadata } = await inDefault.create({
      metadata: { name: own('trap'), annotations },
      data: { 'page.html': hostile },
    });
    const now = new Date().toISOString();
    await client
      .resource(events)
      .namespace('default')
      .create({
        metadata: { name: own('trap') },
        involvedObject: {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          namespace: 'default',
          name: own('trap'),
          uid: metadata.uid,
        },
        type: 'Warning',
        reason: own('Trap'),
        message: hostile,
        firstTimestamp: now,
        lastTimestamp: now,
      });
    const page = await adminPage('/');
    await page.getByText('<img src=x onerror="globalThis.hacked=4">').first().waitFor();
    for (const route of [
      `/object/configmaps/default/${own('trap')}`,
      `/object/configmaps/default/${own('trap')}/yaml`,
      `/object/configmaps/default/${own('trap')}/why`,
      `/list/events.events.k8s.io/${own('Trap')}`,
    ]) {
      await openAddress(page, `${origin}/console/#${route}`);
      await page
        .getByText(/onerror=.{0,2}"globalThis\.hacked=4/)
        .first()
        .waitFor();
      const text = await page.evaluate<string>('document.body.innerText');
      expect(text, route).not.toMatch(/\p{Cf}/u);
    }
    expect(await page.evaluate<unknown>('globalThis.hacked')).toBeUndefined();
  });

  browserTest('an object that vanishes while it is open says so', async ({ named: own }) => {
    await client
      .resource(pods)
      .namespace('default')
      .create(pod(own('fleeting')));
    const page = await adminPage(`/object/pods/default/${own('fleeting')}`);
    await page.getByRole('heading', { name: own('fleeting') }).waitFor();
    await client
      .resource(pods)
      .namespace('default')
      .delete(own('fleeting'), { gracePeriodSeconds: 0 });
    await page.getByText('This Pod was deleted').waitFor();
  });

  browserTest(
    'a session whose ServiceAccount is deleted ends, and the page asks for another',
    async ({ named: own }) => {
      const accounts = client.resource(serviceAccounts).namespace('default');
      await accounts.create({ metadata: { name: own('leaving') } });
      const { status } = await accounts.subresource<{ status: { token: string } }>(
        own('leaving'),
        'token',
        {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenRequest',
          spec: { audiences: [], expirationSeconds: 3600 },
        },
      );
      const { page } = await newPage();
      await signInWithToken(page, origin, status.token);
      await signedInAs(page, `system:serviceaccount:default:${own('leaving')}`);
      await accounts.delete(own('leaving'));
      await openAddress(page, `${origin}/console/#/list/services`);
      await page.getByLabel('Token', { exact: true }).waitFor();
    },
  );

  browserTest('dark, and on a small screen', async () => {
    const page = await adminPage('/list/pods', { colorScheme: 'dark', width: 390 });
    await page.getByRole('grid').or(page.getByRole('table')).first().waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    const isWide = 'document.documentElement.scrollWidth > document.documentElement.clientWidth';
    expect(await page.evaluate<boolean>(isWide)).toBe(false);
  });

  browserTest(
    'what is wrong and why, traffic, decisions: every page is accessible',
    async ({ named: own }) => {
      const template = (name: string, more: object = {}) => ({
        metadata: { labels: { app: name } },
        spec: { containers: [{ name: 'main', image: name, ...more }] },
      });
      const inShop = client.resource(deployments).namespace(own('shop'));
      await client.resource(namespaces).create({ metadata: { name: own('shop') } });
      for (const [name, replicas, more] of [
        ['web', 3, {}],
        ['cart', 2, {}],
        ['reports', 1, { resources: { requests: { cpu: '100' } } }],
      ] as const) {
        const selector = { matchLabels: { app: name } };
        await inShop.create({
          metadata: { name },
          spec: { replicas, selector, template: template(name, more) },
        });
      }
      const inShopPods = client.resource(pods).namespace(own('shop'));
      await waitUntil(async () => {
        const { items } = await inShopPods.list();
        return items.filter(({ status }) => status.phase === 'Running').length >= 5;
      });
      const { items } = await inShopPods.list({ labelSelector: 'app=reports' });
      const page = await adminPage('/');
      const look = async (name: string, route: string, text: string | RegExp): Promise<void> => {
        await openAddress(page, `${origin}/console/#${route}`);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await page.getByText(text).first().waitFor();
        await page
          .getByText(/^Loading/)
          .first()
          .waitFor({ state: 'detached' });
        expect(await accessibilityProblems(page), name).toEqual([]);
        await takeScreenshot(page, name);
      };
      await look('overview', '/', /Insufficient cpu/);
      await look('pods', '/list/pods', 'Running');
      await look('rollout', `/object/deployments.apps/${own('shop')}/web`, 'web');
      await look(
        'why',
        `/object/pods/${own('shop')}/${items[0]?.metadata.name}/why`,
        /Insufficient cpu/,
      );
      await look('map', '/map', own('shop'));
      await look('traffic', '/traffic', 'kube-scheduler');
      await look('scheduler', '/scheduler', /Insufficient cpu/);
      // Scores are kept while the page is shown.
      await inShop.patch('cart', 'application/merge-patch+json', { spec: { replicas: 4 } });
      await page.locator('.scores').nth(1).waitFor();
      await takeScreenshot(page, 'scheduler');
      await look('timeline', '/timeline', 'Changes');
      await look('who-can', '/who-can', /Who can/);
      await look('usage', '/usage', 'Measured by');
      await page.getByText('Pods', { exact: true }).last().click();
      await page.getByRole('link', { name: /^web-/ }).first().waitFor();
      expect(await accessibilityProblems(page)).toEqual([]);
    },
  );

  browserTest('a user without the permission gets no traffic', async () => {
    const { page } = await newPage();
    await signInByLink(page, join(dir.path, 'jane.conf'), 'jane');
    await openAddress(page, `${origin}/console/#/traffic`);
    await page
      .getByText(/cannot get path/)
      .first()
      .waitFor();
  });

  browserTest('the keyboard alone: filter, rows, search, pages', async ({ named: own }) => {
    const name = own('typed');
    await client.resource(pods).namespace('default').create(pod(name));
    const page = await adminPage('/list/pods');
    await page.getByRole('link', { name, exact: true }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type(name);
    await page.locator('[role=grid][aria-rowcount="2"]').waitFor();
    const focused = (): Promise<string | null> =>
      page.evaluate<string | null>(`document.activeElement.getAttribute('role')`);
    for (let presses = 0; (await focused()) !== 'grid'; presses++) {
      expect(presses).toBeLessThan(8);
      await page.keyboard.press('Tab');
    }
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name, level: 1 }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search everything' }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.keyboard.type('kube-system');
    await page
      .getByRole('option', { name: /^kube-system/ })
      .first()
      .waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'kube-system', level: 1 }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('n');
    await page.getByRole('heading', { name: /^Nodes/, level: 1 }).waitFor();
  });

  // The last test: it ends the cluster of all others.
  browserTest('the server disappears and returns', async () => {
    const page = await adminPage('/list/pods');
    await page.getByRole('row').nth(1).waitFor();
    await cluster.kill();
    await page.getByText('The server does not answer').waitFor();
    cluster = await coxUp(['--runtime', 'simulated', '--store', 'memory'], {
      dataDir: cluster.dataDir,
      port: Number(new URL(origin).port),
    });
    // Sessions do not survive a restart. The page asks for another sign-in where it is.
    await page.getByLabel('Token', { exact: true }).waitFor({ timeout: 45_000 });
  });
});
