import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { get as httpGet, request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { deployments } from '#api/groups/apps/v1/index.ts';
import { configMaps, events, namespaces, pods } from '#api/groups/core/v1/index.ts';
import { connect } from '#client/connect.ts';
import { defineController, ownerReference } from '#controllers/operator/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { systemClock } from '#machinery/clock.ts';
import * as wait from '#machinery/wait.ts';
import { createCluster, startCluster, type EmbeddedCluster } from '../index.ts';
import { sharedCluster, withCluster } from './testing.ts';

const folders: string[] = [];
const folder = (): string => {
  const path = mkdtempSync(join(tmpdir(), 'coxswain-embedded-'));
  folders.push(path);
  return path;
};
afterEach(() => {
  for (const path of folders.splice(0)) rmSync(path, { recursive: true });
});

const pod = (name: string, script: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { containers: [{ name: 'main', image: 'busybox', command: ['sh', '-c', script] }] },
});

const web = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'c', image: 'nginx' }] },
    },
  },
};

describe('a cluster inside a program', () => {
  const shared = sharedCluster({ beforeAll, afterAll }, { nodes: 2 });

  test('waits for conditions, functions and deletions', async () => {
    const { cluster } = shared;
    const namespace = await shared.namespace();
    await cluster.apply(web, { namespace });
    const available = await cluster.waitFor(deployments, 'web', 'Available', { namespace });
    expect(available?.status.availableReplicas).toBe(2);
    const created = cluster.waitFor(configMaps, 'later', ({ data }) => data?.['a'] === 'b', {
      namespace,
    });
    await cluster.apply(
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'later' }, data: { a: 'b' } },
      { namespace },
    );
    expect((await created)?.metadata.name).toBe('later');
    await cluster.delete(configMaps, 'later', { namespace });
    expect(await cluster.waitFor(configMaps, 'later', 'deleted', { namespace })).toBeUndefined();
    await expect(
      cluster.waitFor(configMaps, 'never', 'Ready', { namespace, timeoutMs: 50 }),
    ).rejects.toThrow('timed out waiting for never to be Ready');
    const stopped = cluster.waitFor(configMaps, 'never', 'Ready', {
      namespace,
      signal: AbortSignal.abort(new Error('enough')),
    });
    await expect(stopped).rejects.toThrow('enough');
  });

  test('reads and lists objects', async () => {
    const { cluster } = shared;
    const namespace = await shared.namespace();
    await cluster.apply(
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', labels: { a: 'b' } } },
      { namespace },
    );
    expect((await cluster.get(configMaps, 'x', { namespace })).metadata.labels).toEqual({ a: 'b' });
    expect((await cluster.get(namespaces, namespace)).status.phase).toBe('Active');
    expect(await cluster.list(configMaps, { namespace, labelSelector: 'a=c' })).toEqual([]);
    const all = await cluster.list(configMaps, { labelSelector: 'a=b' });
    expect(all.map(({ metadata }) => metadata.namespace)).toEqual([namespace]);
    await expect(cluster.get(configMaps, 'none', { namespace })).rejects.toSatisfy(
      apierrors.isNotFound,
    );
  });

  test('reads logs, and runs commands', async () => {
    const { cluster } = shared;
    const namespace = await shared.namespace();
    await cluster.apply(pod('runner', 'echo one; echo two; sleep 1d'), { namespace });
    await cluster.waitFor(pods, 'runner', 'Ready', { namespace });
    expect(await cluster.logs('runner', { namespace })).toBe('one\ntwo\n');
    expect(await cluster.logs('runner', { namespace, tailLines: 1 })).toBe('two\n');
    const ended = new AbortController();
    const followed = await cluster.followLogs('runner', { namespace, signal: ended.signal });
    for await (const chunk of followed) {
      expect(Buffer.from(chunk).toString()).toContain('one');
      break;
    }
    ended.abort();
    expect(await cluster.exec('runner', ['sh', '-c', 'echo out; exit 3'], { namespace })).toEqual({
      stdout: 'out\n',
      stderr: '',
      exitCode: 3,
    });
    await expect(cluster.exec('none', ['true'], { namespace })).rejects.toSatisfy(
      apierrors.isNotFound,
    );
    const connection = await cluster.portForward('runner', 80, { namespace });
    await expect(text(connection)).rejects.toThrow(/80/);
  });

  test('serves HTTP clients without a port', async () => {
    const { agent } = shared.cluster;
    const read = (path: string): Promise<{ status: number; body: string }> =>
      new Promise((resolve, reject) => {
        httpGet(`http://any${path}`, { agent }, (response) => {
          text(response).then(
            (body) => resolve({ status: response.statusCode ?? 0, body }),
            reject,
          );
        }).on('error', reject);
      });
    for (let time = 0; time < 3; time++) {
      const { status, body } = await read('/api/v1/namespaces/default');
      expect([status, (JSON.parse(body) as { kind: string }).kind]).toEqual([200, 'Namespace']);
    }
    expect((await read('/api/v1/namespaces/none')).status).toBe(404);
    expect((await read('/nothing')).status).toBe(404);
    const created = await new Promise((resolve, reject) => {
      const path = '/api/v1/namespaces/default/configmaps';
      const request = httpRequest(`http://any${path}`, { agent, method: 'POST' }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode));
      });
      request.on('error', reject).end(JSON.stringify({ metadata: { name: 'posted' } }));
    });
    expect(created).toBe(201);
    expect((await read('/api/v1/namespaces/default/configmaps')).body).toContain('posted');
  });

  test('has no kubeconfig without a port', () => {
    const { url, kubeconfig, kubeconfigPath } = shared.cluster;
    expect([url, kubeconfig, kubeconfigPath]).toEqual([undefined, undefined, undefined]);
  });
});

describe('a cluster on a virtual clock', () => {
  test('moves time while it waits', async () => {
    await withCluster({ clock: 'virtual' }, async (cluster) => {
      await cluster.apply(pod('slow', 'sleep 3600'));
      const before = cluster.clock.now();
      const done = await cluster.waitFor(
        pods,
        'slow',
        ({ status }) => status.containerStatuses?.[0]?.restartCount === 1,
        {
          timeoutMs: 7_200_000,
        },
      );
      expect(done?.metadata.name).toBe('slow');
      expect(cluster.clock.now() - before).toBeGreaterThanOrEqual(3_600_000);
      await expect(cluster.waitFor(pods, 'none', 'Ready', { timeoutMs: 1000 })).rejects.toThrow(
        wait.WaitTimeoutError,
      );
    });
  });
});

describe('a controller', () => {
  const welcome = defineController('welcome', ({ client, recorder, for: reconciles, owns }) => {
    const all = reconciles(namespaces, { labelSelector: 'welcome' });
    const maps = owns(configMaps);
    return async ({ name }) => {
      const namespace = all.lister.get('', name);
      if (namespace === undefined || maps.lister.get(name, 'welcome') !== undefined) return;
      const metadata = {
        name: 'welcome',
        ownerReferences: [ownerReference(namespace, namespaces)],
      };
      await client
        .resource(configMaps)
        .namespace(name)
        .apply({ metadata, data: { hello: name } }, { fieldManager: 'welcome' });
      recorder.event(
        { ...namespace, kind: 'Namespace', apiVersion: 'v1' },
        'Normal',
        'Welcomed',
        `Welcomed ${name}`,
      );
    };
  });
  const labelled = {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'blue', labels: { welcome: '' } },
  };

  test('reconciles objects, and those that they own', async () => {
    await withCluster({}, async (cluster) => {
      const running = cluster.runController(welcome);
      await cluster.apply(labelled);
      const map = await cluster.waitFor(
        configMaps,
        'welcome',
        (object) => object.data?.['hello'] === 'blue',
        {
          namespace: 'blue',
        },
      );
      expect(map?.metadata.ownerReferences).toMatchObject([
        { kind: 'Namespace', name: 'blue', controller: true },
      ]);
      await cluster.delete(configMaps, 'welcome', { namespace: 'blue' });
      const again = await cluster.waitFor(
        configMaps,
        'welcome',
        ({ metadata }) => metadata.uid !== map?.metadata.uid,
        {
          namespace: 'blue',
        },
      );
      expect(again).toBeDefined();
      await wait.poll({ clock: systemClock, intervalMs: 10, timeoutMs: 60_000 }, async () =>
        (await cluster.list(events)).some(
          ({ reason, source }) => reason === 'Welcomed' && source?.component === 'welcome',
        ),
      );
      await running.stop();
      await cluster.delete(configMaps, 'welcome', { namespace: 'blue' });
      await expect(
        cluster.waitFor(configMaps, 'welcome', () => true, { namespace: 'blue', timeoutMs: 200 }),
      ).rejects.toThrow(wait.WaitTimeoutError);
    });
  });

  test('retries what fails, and runs on a virtual clock', async () => {
    await withCluster({ clock: 'virtual' }, async (cluster) => {
      let attempts = 0;
      const flaky = defineController('flaky', ({ for: reconciles }) => {
        reconciles(namespaces, { labelSelector: 'welcome' });
        return async () => {
          if (++attempts < 4) throw new Error('not yet');
        };
      });
      cluster.runController(flaky);
      await cluster.apply(labelled);
      await cluster.clock.runUntil(() => attempts === 4);
    });
  });

  test('reports a setup that declares nothing', async () => {
    const cluster = await startCluster();
    cluster.runController(defineController('idle', () => async () => undefined));
    await expect(cluster.stop()).rejects.toThrow('the controller idle reconciles nothing');
  });
});

describe('a cluster with a port', () => {
  let cluster: EmbeddedCluster | undefined;
  afterEach(() => cluster?.stop());

  test('writes a kubeconfig that only its user can read, and deletes it', async () => {
    cluster = await startCluster({ port: 0 });
    const path = cluster.kubeconfigPath as string;
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readFileSync(path, 'utf8')).toBe(cluster.kubeconfig);
    const connection = await connect({ kubeconfig: path });
    expect((await connection.client.resource(namespaces).get('default')).metadata.name).toBe(
      'default',
    );
    connection.close();
    await cluster.stop();
    expect(existsSync(dirname(path))).toBe(false);
  });

  test('accepts credentials from a program', async () => {
    cluster = await startCluster({ port: 0 });
    const access = cluster.kubeconfig as string;
    const data = (name: string): string =>
      Buffer.from(new RegExp(`${name}: (.*)`).exec(access)?.[1] ?? '', 'base64').toString();
    const status = {
      clientCertificateData: data('client-certificate-data'),
      clientKeyData: data('client-key-data'),
    };
    const directory = folder();
    const plugin = join(directory, 'plugin');
    const credential = {
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      status,
    };
    writeFileSync(plugin, `#!/bin/sh\ncat <<'EOF'\n${JSON.stringify(credential)}\nEOF\n`);
    chmodSync(plugin, 0o700);
    const exec = {
      apiVersion: credential.apiVersion,
      command: './plugin',
      interactiveMode: 'Never',
    };
    const path = join(directory, 'kubeconfig');
    writeFileSync(
      path,
      access.replace(
        /user:\n\s+client-certificate-data: .*\n\s+client-key-data: .*/,
        `user: { exec: ${JSON.stringify(exec)} }`,
      ),
    );
    const connection = await connect({ kubeconfig: path });
    expect((await connection.client.resource(namespaces).get('default')).metadata.name).toBe(
      'default',
    );
    connection.close();
  });
});

describe('createCluster', () => {
  test('keeps objects over restarts', async () => {
    const dataDir = folder();
    const first = await createCluster({ dataDir, port: 0 });
    await first.apply({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'kept' },
      data: { a: 'b' },
    });
    await first.stop();
    const second = await createCluster({ dataDir, port: 0 });
    try {
      expect((await second.get(configMaps, 'kept')).data).toEqual({ a: 'b' });
      await expect(createCluster({ dataDir, port: 0 })).rejects.toThrow(
        /data directory|already|in use/,
      );
    } finally {
      await second.stop();
    }
  });
});
