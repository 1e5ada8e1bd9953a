import { createHook } from 'node:async_hooks';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { replicaSets } from '#api/groups/apps/v1/index.ts';
import { customResourceDefinitions } from '#api/groups/apiextensions/v1/index.ts';
import { configMaps, namespaces, nodes, pods, type ConfigMap } from '#api/groups/core/v1/index.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { createClient } from '#client/create-client.ts';
import { defineResource } from '#client/define-resource.ts';
import { createHttpTransport } from '#client/http/index.ts';
import { loadKubeconfig } from '#client/kubeconfig.ts';
import { systemClock } from '#machinery/clock.ts';
import * as wait from '#machinery/wait.ts';
import { type EmbeddedCluster, startCluster, type StartClusterOptions } from '../index.ts';

const running: EmbeddedCluster[] = [];
const directories: string[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((cluster) => cluster.stop()));
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true });
});

async function start(options: StartClusterOptions = {}): Promise<EmbeddedCluster> {
  const cluster = await startCluster(options);
  running.push(cluster);
  return cluster;
}

async function startVirtual(options: Omit<StartClusterOptions, 'clock'> = {}) {
  const cluster = await startCluster({ ...options, clock: 'virtual' });
  running.push(cluster);
  return cluster;
}

const replicaSet = (replicas: number): string => `
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: busybox:1.36, command: [sh, -c, "echo hello; sleep 1d"]}]}
`;

const crashing = `
apiVersion: v1
kind: Pod
metadata: {name: crashing}
spec: {containers: [{name: c, image: busybox:1.36, command: [sh, -c, "echo oh; sleep 1; exit 1"]}]}
`;

const podsOf = async (cluster: EmbeddedCluster) =>
  (await cluster.client.resource(pods).namespace('default').list()).items;

async function untilRunning(cluster: EmbeddedCluster, count: number): Promise<void> {
  await wait.pollImmediately({ clock: systemClock, intervalMs: 5, timeoutMs: 60_000 }, async () => {
    const all = await podsOf(cluster);
    return all.length === count && all.every((pod) => pod.status.phase === 'Running');
  });
}

/** Returns the resources that keep a process alive: sockets and servers by name. */
const openResources = (): string[] =>
  process.getActiveResourcesInfo().filter((name) => /TCP|Timeout|Worker|MessagePort/.test(name));

describe('a cluster on the real clock', () => {
  test('is ready to run pods when it has started', async () => {
    const cluster = await start({ nodes: 3 });
    const { items } = await cluster.client.resource(nodes).list();
    expect(items.map((node) => node.metadata.name)).toEqual(['node-1', 'node-2', 'node-3']);
    for (const node of items)
      expect(node.status.conditions?.find(({ type }) => type === 'Ready')?.status).toBe('True');
    await cluster.apply(replicaSet(3));
    await untilRunning(cluster, 3);
  });

  test('is ready without controllers', async () => {
    for (const controlPlanes of [1, 2]) {
      const bare = await startVirtual({ controllers: [], controlPlanes });
      // Nothing removes the taint of a new node, and nothing waits for that.
      expect(bare.clock.now() - Date.UTC(2026, 0, 1)).toBeLessThan(2000);
      const [node] = await bare.list(nodes);
      expect(node?.spec.taints?.map(({ key }) => key)).toEqual(['node.kubernetes.io/not-ready']);
      expect(node?.status.conditions?.find(({ type }) => type === 'Ready')?.status).toBe('True');
      await bare.clock.advance('1m');
    }
  });

  test('tells of its parts at one place, and runs the controllers that are chosen', async () => {
    const cluster = await start({ controllers: ['*', '-replicaset-controller'] });
    await cluster.apply(replicaSet(1));
    const metrics = await cluster.client.transport.text({ method: 'GET', path: '/metrics' });
    expect(metrics).toMatch(/^workqueue_depth\{name="deployment"\} 0$/m);
    expect(metrics).toContain(
      'running_managed_controllers{manager="kube-controller-manager",name="deployment-controller"} 1\n',
    );
    expect(metrics).not.toContain('name="replicaset-controller"');
    expect(metrics).toContain('apiserver_request_total');
    expect(await podsOf(cluster)).toEqual([]);
    await expect(startCluster({ controllers: ['nonsense'] })).rejects.toThrow(
      'not in the list of known controllers',
    );
  });

  test('opens no port unless it is asked to', async () => {
    const before = openResources().filter((name) => name.startsWith('TCP'));
    const cluster = await start();
    expect(cluster.url).toBeUndefined();
    expect(cluster.kubeconfig).toBeUndefined();
    expect(openResources().filter((name) => name.startsWith('TCP'))).toEqual(before);
  });

  test('serves its port over TLS, only to clients with its kubeconfig', async () => {
    const cluster = await start({ port: 0 });
    expect(cluster.url).toMatch(/^https:\/\/127\.0\.0\.1:[1-9]\d*$/);
    const directory = mkdtempSync(join(tmpdir(), 'coxswain-test-'));
    directories.push(directory);
    const path = join(directory, 'kubeconfig');
    writeFileSync(path, cluster.kubeconfig as string);
    const access = await loadKubeconfig(path);
    expect(access.server).toBe(cluster.url);

    const admin = createClient(createHttpTransport({ ...access, clock: systemClock }));
    const stranger = createClient(
      createHttpTransport({ server: access.server, ca: access.ca, clock: systemClock }),
    );
    const unbelieving = createClient(
      createHttpTransport({ server: access.server, clock: systemClock }),
    );
    try {
      await cluster.apply(replicaSet(2));
      await untilRunning(cluster, 2);
      // Both ways of asking see the same cluster.
      const seen = await admin.resource(pods).namespace('default').list();
      expect(seen.items.map(({ metadata, status }) => [metadata, status])).toEqual(
        (await podsOf(cluster)).map(({ metadata, status }) => [metadata, status]),
      );
      const name = seen.items[0]?.metadata.name as string;
      expect(
        await admin.transport.text({
          method: 'GET',
          path: `/api/v1/namespaces/default/pods/${name}/log`,
        }),
      ).toBe('hello\n');

      await expect(stranger.resource(pods).list()).rejects.toMatchObject({
        status: { code: 401, reason: 'Unauthorized' },
      });
      await expect(unbelieving.resource(pods).list()).rejects.toThrow(/certificate/);
    } finally {
      for (const client of [admin, stranger, unbelieving]) client.transport.close();
    }
  });

  test('runs beside others that know nothing of it', async () => {
    const clusters = await Promise.all(
      Array.from({ length: 8 }, (_, index) => start({ nodes: 2, ...(index === 0 && { port: 0 }) })),
    );
    await Promise.all(
      clusters.map(async (cluster, index) => {
        await cluster.apply(replicaSet(index + 1));
        await cluster.apply({
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: `of-${index}` },
        });
        await untilRunning(cluster, index + 1);
      }),
    );
    for (const [index, cluster] of clusters.entries()) {
      const { items } = await cluster.client.resource(configMaps).namespace('default').list();
      expect(
        items.map((map) => map.metadata.name).filter((name) => name !== 'kube-root-ca.crt'),
      ).toEqual([`of-${index}`]);
      expect(await podsOf(cluster)).toHaveLength(index + 1);
    }
    const uids = (await Promise.all(clusters.map(podsOf))).flat().map((pod) => pod.metadata.uid);
    expect(new Set(uids).size).toBe(36);
  });

  test('leaves nothing open when it is stopped', async () => {
    const before = openResources();
    const cluster = await start({ nodes: 2, port: 0 });
    const { url } = cluster;
    await cluster.apply(replicaSet(2));
    await untilRunning(cluster, 2);
    expect(openResources()).not.toEqual(before);
    await Promise.all([cluster.stop(), cluster.stop()]);
    await cluster.stop();
    // The platform lets go of sockets on a later turn.
    await wait.pollImmediately(
      { clock: systemClock, intervalMs: 5, timeoutMs: 60_000 },
      async () => openResources().length <= before.length + 1,
    );
    await expect(cluster.client.resource(pods).list()).rejects.toThrow('shutting down');
    const late = createHttpTransport({
      server: url as string,
      insecureSkipTlsVerify: true,
      clock: systemClock,
    });
    await expect(late.request({ method: 'GET', path: '/version' })).rejects.toThrow(/ECONNREFUSED/);
    late.close();
  });

  test('says what is wrong with its configuration, and leaves nothing behind', async () => {
    const before = openResources();
    const scheduler = {
      apiVersion: 'kubescheduler.config.k8s.io/v1',
      kind: 'KubeSchedulerConfiguration',
      profiles: 'none',
    };
    await expect(startCluster({ port: 0, schedulerConfiguration: scheduler })).rejects.toThrow(
      /profiles/,
    );
    await expect(startCluster({ podCidr: 'nonsense' })).rejects.toThrow(/podCidr/);
    await expect(startCluster({ nodes: 300, podCidr: '10.0.0.0/24' })).rejects.toThrow(
      /10\.0\.0\.0\/24/,
    );
    await wait.pollImmediately(
      { clock: systemClock, intervalMs: 5, timeoutMs: 60_000 },
      async () => openResources().length <= before.length + 1,
    );
  });

  test('works without nodes', async () => {
    const cluster = await start({ nodes: 0 });
    await cluster.apply(replicaSet(1));
    await wait.pollImmediately(
      { clock: systemClock, intervalMs: 5, timeoutMs: 60_000 },
      async () => {
        const [pod] = await podsOf(cluster);
        return (
          pod?.status.conditions?.some(
            ({ message }) => message === 'no nodes available to schedule pods',
          ) === true
        );
      },
    );
  });
});

describe('a cluster on a virtual clock', () => {
  test('stands still until its clock is advanced', async () => {
    const cluster = await startVirtual();
    const began = cluster.clock.now();
    await cluster.apply(replicaSet(1));
    await cluster.clock.advance('1h');
    expect(cluster.clock.now()).toBe(began + 3_600_000);
    const [pod] = await podsOf(cluster);
    expect(pod?.status.phase).toBe('Running');
    expect(Date.parse(pod?.metadata.creationTimestamp as string)).toBe(
      Math.floor(began / 1000) * 1000,
    );
  });

  test('is the same for the same seed, and another for another', async () => {
    const story = async (seed: string | number): Promise<unknown> => {
      const cluster = await startVirtual({ nodes: 3, seed });
      await cluster.apply(replicaSet(5));
      await cluster.clock.advance('10s');
      return await podsOf(cluster);
    };
    // The clusters run at the same time, so that one could disturb the other.
    const [one, two, other] = await Promise.all([story('x'), story('x'), story(7)]);
    expect(two).toEqual(one);
    expect(other).not.toEqual(one);
  });

  test('waits for nothing but its clock: no file, socket, thread or timer of the machine', async () => {
    const offences = new Set<string>();
    const hook = createHook({
      init(_id, type) {
        // The last of them is done when it is named.
        if (
          ['PROMISE', 'Immediate', 'TickObject', 'Microtask', 'RANDOMBYTESREQUEST'].includes(type)
        )
          return;
        // Work of this kind can finish late, and then runs differ. The solution: no such work on
        // simulated nodes.
        const caller = new Error().stack
          ?.split('\n')
          .find((line) => line.includes('/src/') && !line.includes('.test.ts'));
        if (caller !== undefined) offences.add(`${type} ${caller.trim()}`);
      },
    });
    hook.enable();
    try {
      const cluster = await startVirtual({ nodes: 2 });
      await cluster.apply(replicaSet(3));
      await cluster.apply(crashing);
      await cluster.clock.advance('10m');
      await cluster.client
        .resource(replicaSets)
        .namespace('default')
        .delete('web', { propagationPolicy: 'Foreground' });
      await cluster.client.resource(pods).namespace('default').delete('crashing');
      await cluster.clock.advance('2m');
      expect(await podsOf(cluster)).toEqual([]);
    } finally {
      hook.disable();
    }
    expect([...offences]).toEqual([]);
  });

  test('sets no timer any more once it is stopped', async () => {
    const cluster = await startVirtual({ nodes: 2 });
    await cluster.apply(replicaSet(4));
    await cluster.clock.advance('1m');
    expect(cluster.clock.pendingTimers).toBeGreaterThan(0);
    await cluster.stop();
    await cluster.clock.advance('1h');
    expect(cluster.clock.pendingTimers).toBe(0);
  });

  test('loses a node and gets it back', async () => {
    const cluster = await startVirtual({ nodes: 2 });
    const ready = async (): Promise<(string | undefined)[]> =>
      (await cluster.client.resource(nodes).list()).items.map(
        (node) => node.status.conditions?.find(({ type }) => type === 'Ready')?.status,
      );
    await cluster.stopNode('node-2');
    await cluster.stopNode('node-2');
    await cluster.clock.advance('70s');
    expect(await ready()).toEqual(['True', 'Unknown']);
    await cluster.startNode('node-2');
    await cluster.startNode('node-2');
    await cluster.clock.advance('1s');
    expect(await ready()).toEqual(['True', 'True']);
    await expect(cluster.stopNode('node-3')).rejects.toThrow('the cluster has no node "node-3"');
  });

  test("keeps its containers' logs in memory, and writes no files", async () => {
    const files = (): string[] =>
      readdirSync(tmpdir()).filter((name) => name.startsWith(`coxswain-${process.pid}-`));
    const before = files();
    const cluster = await startVirtual({ nodes: 2 });
    await cluster.apply(
      `apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {containers: [{name: c, image: busybox, command: [sh, -c, echo said; sleep 99]}]}`,
    );
    await cluster.clock.advance('10s');
    expect(await cluster.logs('a')).toBe('said\n');
    expect(files()).toEqual(before);
    await cluster.stop();
    expect(files()).toEqual(before);
  });
});

describe('apply', () => {
  test('creates objects, removes fields that are no longer in the manifest, and returns the objects', async () => {
    const cluster = await startVirtual();
    const manifest = (data: string): string => `
apiVersion: v1
kind: Namespace
metadata: {name: team}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: team}
data: {${data}}
`;
    const created = await cluster.apply(manifest('a: "1"'));
    expect(created.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
      'Namespace team',
      'ConfigMap settings',
    ]);
    const applied = await cluster.apply(manifest('b: "2"'));
    expect((applied[1] as ConfigMap).data).toEqual({ b: '2' });
    expect(await cluster.get(configMaps, 'settings', { namespace: 'team' })).toEqual(applied[1]);
  });

  test('reports fields that another manager owns, and takes them over if forced', async () => {
    const cluster = await startVirtual();
    await cluster.apply(replicaSet(1));
    const scaled = { spec: { replicas: 2 } };
    await cluster.client
      .resource(replicaSets)
      .namespace('default')
      .patch('web', 'application/merge-patch+json', scaled);
    await expect(cluster.apply(replicaSet(3))).rejects.toMatchObject({
      status: { code: 409, reason: 'Conflict', message: expect.stringContaining('.spec.replicas') },
    });
    const [applied] = await cluster.apply(replicaSet(3), { force: true });
    expect(applied).toMatchObject({ spec: { replicas: 3 } });
  });

  test('applies Lists and custom resources, and creates objects with a generated name', async () => {
    const cluster = await startVirtual();
    const schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    await cluster.apply({
      apiVersion: 'v1',
      kind: 'List',
      items: [
        {
          apiVersion: 'apiextensions.k8s.io/v1',
          kind: 'CustomResourceDefinition',
          metadata: { name: 'teams.example.com' },
          spec: {
            group: 'example.com',
            scope: 'Namespaced',
            names: { plural: 'teams', kind: 'Team' },
            versions: [
              { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } },
            ],
          },
        },
      ],
    });
    await cluster.waitFor(customResourceDefinitions, 'teams.example.com', 'Established');
    await cluster.apply(
      '{apiVersion: example.com/v1, kind: Team, metadata: {name: blue}, size: 3}',
    );
    const teams = defineResource<KubeObject & { readonly size: number }>({
      group: 'example.com',
      version: 'v1',
      kind: 'Team',
      resource: 'teams',
    });
    expect((await cluster.get(teams, 'blue')).size).toBe(3);
    const [made] = await cluster.apply({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { generateName: 'a-' },
    });
    expect(made?.metadata.name).toMatch(/^a-\w{5}$/);
    await expect(cluster.apply({ apiVersion: 'v1', kind: 'ConfigMap' })).rejects.toThrow(
      'has no metadata.name',
    );
    await expect(cluster.apply('just text')).rejects.toThrow(
      'a manifest has objects, not "just text"',
    );
  });

  test('takes objects as well as text', async () => {
    const cluster = await startVirtual();
    const one = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'one' } };
    await cluster.apply(one);
    await cluster.apply([one, { ...one, metadata: { name: 'two' } }]);
    const { items } = await cluster.client.resource(namespaces).list();
    expect(items.map((namespace) => namespace.metadata.name)).toEqual(
      expect.arrayContaining(['one', 'two']),
    );
  });

  test('throws what the server says, or what is wrong with the manifest', async () => {
    const cluster = await startVirtual();
    await expect(cluster.apply(replicaSet(-1))).rejects.toMatchObject({
      status: { code: 422, reason: 'Invalid' },
    });
    await expect(
      cluster.apply('apiVersion: v1\nkind: Nothing\nmetadata: {name: x}'),
    ).rejects.toThrow('no resource is known for apiVersion "v1", kind "Nothing"');
    await expect(cluster.apply('a: [')).rejects.toThrow(/^yaml: /);
    expect((await cluster.client.resource(replicaSets).list()).items).toEqual([]);
  });
});

test('admission plugins and the files of access, as options', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'coxswain-access-'));
  directories.push(directory);
  const file = join(directory, 'admission.yaml');
  writeFileSync(
    file,
    JSON.stringify({
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'AdmissionConfiguration',
      plugins: [
        {
          name: 'PodSecurity',
          configuration: {
            apiVersion: 'pod-security.admission.config.k8s.io/v1',
            kind: 'PodSecurityConfiguration',
            defaults: { enforce: 'baseline' },
          },
        },
      ],
    }),
  );
  const cluster = await startVirtual({
    access: { enableAdmissionPlugins: ['AlwaysPullImages'], admissionControlConfigFile: file },
  });
  const pod = (name: string, hostNetwork: boolean): string => `
apiVersion: v1
kind: Pod
metadata: {name: ${name}}
spec: {hostNetwork: ${hostNetwork}, containers: [{name: c, image: "busybox:1.36", imagePullPolicy: Never}]}
`;
  const policyIn = async (of: typeof cluster): Promise<string | undefined> => {
    await of.apply(pod('a', false));
    const { spec } = await of.client.resource(pods).namespace('default').get('a');
    return spec.containers[0]?.imagePullPolicy;
  };
  const fork = await cluster.fork();
  running.push(fork);
  expect(await policyIn(cluster)).toBe('Always');
  expect(await policyIn(fork)).toBe('Always');
  await expect(cluster.apply(pod('b', true))).rejects.toThrow(
    'violates PodSecurity "baseline:latest"',
  );
  await expect(
    startVirtual({ access: { enableAdmissionPlugins: ['AlwaysDeny'] } }),
  ).rejects.toThrow('AlwaysDeny is not built in');
});
