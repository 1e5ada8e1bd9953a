import { leases as leaseType } from '#api/groups/coordination/v1/index.ts';
import {
  configMaps,
  events,
  namespaces,
  nodes,
  pods,
  type Pod,
} from '#api/groups/core/v1/index.ts';
import type { Immutable, New } from '#api/machinery/meta/v1/index.ts';
import { ADMIN } from '#apiserver/testing/server.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';
import { createClient } from '#client/create-client.ts';
import { createInProcessTransport } from '#client/in-process.ts';
import type { Client } from '#client/client.ts';
import type { Runtime } from '#cri/index.ts';
import type { KubeletConfig } from '#kubelet/config.ts';
import { Kubelet } from '#kubelet/kubelet.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { SeededRandom } from '#machinery/random.ts';
import { duplexPair } from '#machinery/streams/duplex-pair.ts';
import { createSimulatedRuntime } from '#runtime/simulated/runtime.ts';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { DormantNodes } from './dormant-nodes.ts';

const NAMES = ['node-1', 'node-2', 'node-3'];

const server = serverPerTest();
let abort: AbortController;
let runtimes: Map<string, Runtime>;
let kubelets: Map<string, Kubelet>;
/** The nodes whose kubelets have begun in the place of a dormant one, and whether they take over. */
let begun: string[];
let dormant: DormantNodes;
/** The requests of all kubelets, dormant or not, without the renewals of Leases. */
let requests: string[];
/** Requests of kubelets that write the status of a pod fail. */
let refuses = false;

beforeEach(async () => {
  for (const name of ['default', 'kube-node-lease'])
    await server.client
      .resource(namespaces)
      .create({ metadata: { name } })
      .catch(() => undefined);
  runtimes = new Map(
    NAMES.map((name) => [
      name,
      createSimulatedRuntime({ clock: server.clock, random: new SeededRandom(name) }),
    ]),
  );
  await begin();
});

afterEach(async () => {
  await end();
});

/** Starts the nodes, as a process does. */
async function begin(): Promise<void> {
  abort = new AbortController();
  kubelets = new Map();
  begun = [];
  requests = [];
  dormant = new DormantNodes({
    client: server.client,
    clock: server.clock,
    random: new SeededRandom('dormant'),
    logger: server.logger,
    signal: abort.signal,
    kubelet: configOf,
    begin: async (name, config) => {
      begun.push(`${name}${config.takesOver === true ? '' : ' anew'}`);
      const kubelet = new Kubelet(config);
      kubelets.set(name, kubelet);
      await kubelet.start();
      return {
        isIdle: (unusedForMs) => kubelet.isIdle(unusedForMs),
        stop: async () => {
          kubelets.delete(name);
          await kubelet.stop();
        },
      };
    },
    onError: (name, error) => {
      throw new Error(`${name} has not begun`, { cause: error });
    },
  });
  const counts: number[] = [];
  await dormant.start(NAMES, (count) => counts.push(count));
  expect(counts.at(-1)).toBe(NAMES.length);
  await server.clock.advance('1s');
}

async function untilBegun(name: string): Promise<void> {
  await server.clock.runUntil(() => Promise.resolve(begun.length > 0));
  expect(begun).toEqual([name]);
}

async function end(): Promise<void> {
  for (const kubelet of kubelets.values()) await kubelet.stop();
  abort.abort();
  await dormant.stop();
}

/** Ends all kubelets and starts them again, as a restart of the process does. */
async function restart(): Promise<void> {
  await end();
  await begin();
}

function configOf(nodeName: string): KubeletConfig {
  return {
    client: recordedClient(),
    runtime: runtimes.get(nodeName)!,
    clock: server.clock,
    random: new SeededRandom(nodeName),
    logger: server.logger,
    nodeName,
    hostFiles: false,
    podNetwork: false,
    podLogsDir: '/nonexistent/pod-logs',
    addresses: [{ type: 'InternalIP', address: '192.168.0.5' }],
    capacity: { cpu: '4', memory: '8Gi', pods: '110', 'ephemeral-storage': '100Gi' },
  };
}

function recordedClient(): Client {
  const handler = server.server.inProcess(ADMIN);
  return createClient(
    createInProcessTransport({
      handler: (request) => {
        const verb = request.query.get('watch') === 'true' ? 'WATCH' : request.method;
        if (refuses && verb === 'PATCH' && request.path.endsWith('/web/status'))
          return Promise.reject(apierrors.serviceUnavailable('the test refuses it'));
        if (verb !== 'PATCH' || !request.path.includes('/leases/'))
          requests.push(`${verb} ${request.path}`);
        return handler(request);
      },
    }),
  );
}

const isReady = ({ status }: Immutable<Pod>): boolean =>
  status.conditions?.some((each) => each.type === 'Ready' && each.status === 'True') === true;

const inDefault = () => server.client.resource(pods).namespace('default');

async function runPod(name: string, nodeName: string, spec: New<Pod['spec']> = {}): Promise<void> {
  await inDefault().create({
    metadata: { name },
    spec: { nodeName, containers: [{ name: 'main', image: 'pause' }], ...spec },
  });
  await server.clock.runUntil(async () => (await inDefault().get(name)).status.phase === 'Running');
}

/** Requests a path of the node's server. Resolves with the response as it is sent. */
async function request(node: string, path: string): Promise<string> {
  const [near, far] = duplexPair();
  kubelets.get(node)!.handleConnection(far, { name: 'admin', groups: ['system:masters'] });
  near.write(`GET ${path} HTTP/1.1\r\nHost: kubelet\r\nConnection: close\r\n\r\n`);
  let response = '';
  for await (const chunk of near) response += String(chunk);
  return response;
}

describe('nodes without pods', () => {
  test('are registered, and stay Ready without a kubelet', async () => {
    await server.clock.advance('10m');
    const { items } = await server.client.resource(nodes).list();
    const ready = items.filter(({ status }) =>
      status.conditions?.some((each) => each.type === 'Ready' && each.status === 'True'),
    );
    expect(ready.map(({ metadata }) => metadata.name)).toEqual(NAMES);
    expect(begun).toEqual([]);
    expect(NAMES.map((name) => dormant.has(name))).toEqual([true, true, true]);
  });

  test('begin with their first pod, each alone', async () => {
    await runPod('web', 'node-2');
    expect(begun).toEqual(['node-2']);
    expect(dormant.has('node-2')).toBe(false);
    expect(dormant.wake('node-2')).toBeUndefined();
  });

  test('begin with a connection', async () => {
    await Promise.all([dormant.wake('node-3'), dormant.wake('node-3')]);
    expect(begun).toEqual(['node-3']);
    expect(dormant.wake('unknown')).toBeUndefined();
  });
});

describe('after a restart, a node whose pods run', () => {
  beforeEach(async () => {
    await server.client
      .resource(configMaps)
      .namespace('default')
      .create({ metadata: { name: 'settings' }, data: { a: '1' } });
    await runPod('web', 'node-1', {
      volumes: [{ name: 'v', configMap: { name: 'settings' } }],
    });
    await runPod('ends', 'node-2', {
      containers: [{ name: 'main', image: 'busybox', command: ['sleep', '1h'] }],
    });
    await restart();
  });

  test('stays dormant, and no pod is written', async () => {
    const before = await inDefault().list();
    await server.clock.advance('30m');
    expect(begun).toEqual([]);
    expect((await inDefault().list()).items).toEqual(before.items);
  });

  test('stays dormant when labels change that no container sees', async () => {
    await inDefault().patch('web', 'application/merge-patch+json', {
      metadata: { labels: { a: 'b' }, annotations: { c: 'd' } },
    });
    await server.clock.advance('10m');
    expect(begun).toEqual([]);
  });

  describe('and whose pods the node lifecycle controller marks,', () => {
    const markNotReady = (name: string): Promise<unknown> =>
      inDefault().patch(
        name,
        'application/strategic-merge-patch+json',
        {
          status: {
            conditions: [
              { type: 'Ready', status: 'False', lastTransitionTime: '2026-01-01T00:00:00Z' },
            ],
          },
        },
        { subresource: 'status' },
      );
    const restored = async (name: string): Promise<Immutable<Pod>['status']> => {
      await server.clock.advance('1s');
      const marked = server.clock.now();
      await markNotReady(name);
      await server.clock.runUntil(async () => isReady(await inDefault().get(name)));
      const { status } = await inDefault().get(name);
      const conditions = (status.conditions ?? []).map((condition) => {
        const time = Date.parse(condition.lastTransitionTime ?? '');
        return { ...condition, lastTransitionTime: time >= marked - 1000 ? 'now' : 'before' };
      });
      return { ...status, conditions };
    };

    test('stays dormant, and the conditions are what a kubelet writes', async () => {
      const first = await restored('web');
      const second = await restored('web');
      await server.clock.advance('1m');
      expect(begun).toEqual([]);
      await dormant.wake('node-1');
      const byKubelet = await restored('web');
      expect(first).toEqual(byKubelet);
      expect(second).toEqual(byKubelet);
      expect(byKubelet.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({
        status: 'True',
        lastTransitionTime: 'now',
      });
    });

    test('stays dormant when the pod is marked again before its conditions are written', async () => {
      await Promise.all([markNotReady('web'), markNotReady('web')]);
      await server.clock.runUntil(async () => isReady(await inDefault().get('web')));
      await server.clock.advance('1m');
      expect(isReady(await inDefault().get('web'))).toBe(true);
      expect(begun).toEqual([]);
    });

    test('begins if anything else of the status changes, too', async () => {
      await inDefault().patch(
        'web',
        'application/merge-patch+json',
        { status: { podIP: '192.0.2.1', podIPs: [{ ip: '192.0.2.1' }] } },
        { subresource: 'status' },
      );
      await untilBegun('node-1');
    });

    test('begins if the conditions cannot be written', async () => {
      refuses = true;
      await markNotReady('web');
      await server.clock.runUntil(() => Promise.resolve(begun.length > 0));
      refuses = false;
      await server.clock.runUntil(async () => isReady(await inDefault().get('web')));
      expect(begun).toEqual(['node-1']);
    });
  });

  test('begins when a pod changes', async () => {
    await inDefault().patch('web', 'application/merge-patch+json', {
      spec: { activeDeadlineSeconds: 3600 },
    });
    await untilBegun('node-1');
    await inDefault().delete('web', { gracePeriodSeconds: 0 });
    await server.clock.runUntil(async () => {
      const { runtime } = runtimes.get('node-1')!;
      return (await runtime.listContainers({})).length === 0;
    });
  });

  test('begins when a container ends', async () => {
    await server.clock.advance('61m');
    expect(begun).toEqual(['node-2']);
    expect((await inDefault().get('ends')).status.containerStatuses?.[0]?.restartCount).toBe(1);
  });

  test('begins when an object changes that a pod refers to', async () => {
    const resource = server.client.resource(configMaps).namespace('default');
    await resource.create({ metadata: { name: 'other' } });
    await server.clock.advance('10s');
    expect(begun).toEqual([]);
    await resource.patch('settings', 'application/merge-patch+json', { data: { a: '2' } });
    await untilBegun('node-1');
  });

  test('begins without a read of the objects that its pods refer to, and follows them', async () => {
    const resource = server.client.resource(configMaps).namespace('default');
    requests = [];
    await runPod('second', 'node-1', {
      volumes: [{ name: 'v', configMap: { name: 'settings' } }],
    });
    await server.clock.advance('1s');
    expect(requests.filter((each) => each.endsWith('/configmaps'))).toEqual([]);
    await inDefault().create({
      metadata: { name: 'waits' },
      spec: {
        nodeName: 'node-1',
        containers: [
          { name: 'main', image: 'pause', envFrom: [{ configMapRef: { name: 'later' } }] },
        ],
      },
    });
    await server.clock.advance('1s');
    expect((await inDefault().get('waits')).status.phase).toBe('Pending');
    await resource.create({ metadata: { name: 'later' } });
    await server.clock.runUntil(async () => isReady(await inDefault().get('waits')));
    await resource.delete('settings');
    await server.clock.advance('1s');
    await inDefault().create({
      metadata: { name: 'third' },
      spec: {
        nodeName: 'node-1',
        containers: [
          { name: 'main', image: 'pause', envFrom: [{ configMapRef: { name: 'settings' } }] },
        ],
      },
    });
    await server.clock.advance('5s');
    expect((await inDefault().get('third')).status.phase).toBe('Pending');
  });

  test('begins when its containers are gone', async () => {
    const { runtime } = runtimes.get('node-1')!;
    for (const { id } of await runtime.listPodSandbox({})) {
      await runtime.stopPodSandbox(id);
      await runtime.removePodSandbox(id);
    }
    await untilBegun('node-1');
  });

  test('begins at once when the containers were gone before', async () => {
    await end();
    runtimes.set(
      'node-1',
      createSimulatedRuntime({ clock: server.clock, random: new SeededRandom('new') }),
    );
    await begin();
    await server.clock.runUntil(
      async () => (await inDefault().get('web')).status.containerStatuses?.[0]?.restartCount === 1,
    );
    expect(begun).toEqual(['node-1']);
  });

  test('begins at once when a pod was deleted meanwhile', async () => {
    await end();
    await inDefault().delete('web', { gracePeriodSeconds: 0 });
    await begin();
    await server.clock.runUntil(async () => {
      const { runtime } = runtimes.get('node-1')!;
      return (await runtime.listContainers({})).length === 0;
    });
    expect(begun).toEqual(['node-1']);
  });
});

describe('a node that has been idle', () => {
  const isAsleep = (name: string): Promise<boolean> =>
    Promise.resolve(dormant.has(name) && !kubelets.has(name));
  const resources = () => server.client.resource(nodes);
  const eventsAbout = async (name: string): Promise<readonly string[]> =>
    (await server.client.resource(events).list()).items
      .filter(({ involvedObject }) => involvedObject.name === name)
      .map(({ reason }) => reason ?? '');

  beforeEach(() =>
    runPod('web', 'node-1', {
      containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu: '500m' } } }],
    }),
  );

  test('goes back to sleep, and stays Ready without an event or a write of a pod', async () => {
    await server.clock.advance('20s');
    const [before, said] = [await inDefault().list(), await eventsAbout('node-1')];
    await server.clock.runUntil(() => isAsleep('node-1'));
    await server.clock.advance('30m');
    expect(await isAsleep('node-1')).toBe(true);
    expect(begun).toEqual(['node-1']);
    expect((await inDefault().list()).items).toEqual(before.items);
    expect(await eventsAbout('node-1')).toEqual(said);
    const { status } = await resources().get('node-1');
    expect(status.conditions?.find(({ type }) => type === 'Ready')?.status).toBe('True');
  });

  test('wakes for its next pod, and sleeps again after that', async () => {
    await server.clock.runUntil(() => isAsleep('node-1'));
    await runPod('second', 'node-1');
    await server.clock.runUntil(() => isAsleep('node-1'));
    await inDefault().delete('web');
    await server.clock.runUntil(async () => (await inDefault().list()).items.length === 1);
    await server.clock.runUntil(() => isAsleep('node-1'));
    expect(begun).toEqual(['node-1', 'node-1', 'node-1']);
    const { runtime } = runtimes.get('node-1')!;
    expect((await runtime.listPodSandbox({})).map(({ metadata }) => metadata?.name)).toEqual([
      'second',
    ]);
  });

  test('wakes without a read, and leaves the pods alone that are at rest', async () => {
    await server.clock.runUntil(() => isAsleep('node-1'));
    await server.clock.advance('1s');
    requests = [];
    await runPod('second', 'node-1');
    await server.clock.advance('100ms');
    const path = '/api/v1/namespaces/default/pods/second/status';
    expect(new Set(requests)).toEqual(
      new Set([`PATCH ${path}`, 'POST /api/v1/namespaces/default/events']),
    );
    const leases = server.client.resource(leaseType).namespace('kube-node-lease');
    await server.clock.advance('9s');
    const renewed = Date.parse((await leases.get('node-1')).spec?.renewTime ?? '');
    expect(server.clock.now() - renewed).toBeLessThanOrEqual(10_000);
  });

  test('wakes without reading the pods at rest from the runtime, until they are asked for', async () => {
    await server.clock.runUntil(() => isAsleep('node-1'));
    const { runtime } = runtimes.get('node-1')!;
    const [container] = await runtime.listContainers({});
    const read = vi.spyOn(runtime, 'containerStatus');
    const isRead = (): boolean => read.mock.calls.some(([id]) => id === container!.id);
    await runPod('second', 'node-1');
    await server.clock.advance('100ms');
    expect(read).toHaveBeenCalled();
    expect(isRead()).toBe(false);
    expect(await request('node-1', '/runningpods/')).toMatch(/^HTTP\/1\.1 200 /);
    expect(isRead()).toBe(true);
  });

  describe('and wakes for another pod, goes on with the first one:', () => {
    beforeEach(async () => {
      await server.clock.runUntil(() => isAsleep('node-1'));
      await runPod('second', 'node-1');
    });

    test('a status that another client changes is written again', async () => {
      const { status } = await inDefault().get('web');
      await inDefault().patch(
        'web',
        'application/merge-patch+json',
        { status: { podIP: '192.0.2.1', podIPs: [{ ip: '192.0.2.1' }] } },
        { subresource: 'status' },
      );
      await server.clock.runUntil(
        async () => (await inDefault().get('web')).status.podIP === status.podIP,
      );
      expect((await inDefault().get('web')).status).toEqual(status);
    });

    test('a resize is allocated, reported and recorded', async () => {
      await inDefault().patch(
        'web',
        'application/merge-patch+json',
        {
          spec: {
            containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu: '1' } } }],
          },
        },
        { subresource: 'resize' },
      );
      await server.clock.runUntil(
        async () =>
          (await inDefault().get('web')).status.containerStatuses?.[0]?.resources?.requests?.[
            'cpu'
          ] === '1',
      );
      expect(await eventsAbout('web')).toContain('ResizeCompleted');
    });

    test('an ended container is started again', async () => {
      const { runtime } = runtimes.get('node-1')!;
      const containers = await runtime.listContainers({});
      for (const { id } of containers) await runtime.stopContainer(id, 0);
      for (const name of ['web', 'second'])
        await server.clock.runUntil(
          async () =>
            (await inDefault().get(name)).status.containerStatuses?.[0]?.restartCount === 1,
        );
    });

    test('a deletion ends it', async () => {
      await inDefault().delete('web');
      await server.clock.runUntil(async () => (await inDefault().list()).items.length === 1);
      const { runtime } = runtimes.get('node-1')!;
      await server.clock.runUntil(async () => (await runtime.listPodSandbox({})).length === 1);
    });
  });

  test('stays awake while a pod is not at rest', async () => {
    await runPod('probed', 'node-1', {
      containers: [
        { name: 'main', image: 'pause', livenessProbe: { exec: { command: ['true'] } } },
      ],
    });
    await server.clock.advance('10m');
    expect(await isAsleep('node-1')).toBe(false);
    await inDefault().delete('probed');
    await server.clock.runUntil(() => isAsleep('node-1'));
  });

  test('stays awake while it is connected to, and for a while afterwards', async () => {
    const [near, far] = duplexPair();
    kubelets.get('node-1')!.handleConnection(far, { name: 'system:apiserver', groups: [] });
    await server.clock.advance('10m');
    expect(await isAsleep('node-1')).toBe(false);
    near.destroy();
    await server.clock.advance('50s');
    expect(await isAsleep('node-1')).toBe(false);
    await server.clock.runUntil(() => isAsleep('node-1'));
  });

  test('wakes for what happens while it goes to sleep', async () => {
    let changed = false;
    await server.clock.runUntil(async () => {
      // The kubelet has been stopped, and the dormant one has not been registered.
      if (!kubelets.has('node-1') && !changed) {
        changed = true;
        await inDefault().delete('web', { gracePeriodSeconds: 0 });
      }
      const { runtime } = runtimes.get('node-1')!;
      return changed && (await runtime.listContainers({})).length === 0;
    });
    await server.clock.runUntil(() => isAsleep('node-1'));
  });

  test('wakes when a container ends', async () => {
    await server.clock.runUntil(() => isAsleep('node-1'));
    const { runtime } = runtimes.get('node-1')!;
    const [container] = await runtime.listContainers({});
    await runtime.stopContainer(container?.id ?? '', 0);
    await server.clock.runUntil(
      async () => (await inDefault().get('web')).status.containerStatuses?.[0]?.restartCount === 1,
    );
    // The ended container of a restarted one stays, so a kubelet has to know of it.
    await server.clock.advance('10m');
    expect(await isAsleep('node-1')).toBe(false);
  });
});

test('nothing is left behind when the nodes stop while one goes to sleep', async () => {
  await runPod('web', 'node-1');
  await server.clock.runUntil(() => Promise.resolve(!kubelets.has('node-1')));
  await end();
  await begin();
  await server.clock.advance('1m');
  expect(begun).toEqual([]);
});
