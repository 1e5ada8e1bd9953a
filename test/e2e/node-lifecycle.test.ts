// The promises of a node to single pods, with real containers: CPUs and memory of their own, limits,
// profiles, kernel parameters, static pods, ephemeral containers, the shutdown of the machine.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { pods, type Pod } from '#api/groups/core/v1/index.ts';
import type * as v1 from '#api/groups/core/v1/index.ts';
import { runtimeClasses } from '#api/groups/node/v1/index.ts';
import type { New } from '#api/machinery/meta/v1/index.ts';
import { LinuxCgroups } from '#kubelet/node/writable-cgroups.ts';
import { DEFAULT_RESOURCE_MANAGERS } from '#kubelet/resource-managers/settings.ts';
import { isAppArmorEnabled } from '#kubelet/node/apparmor-enabled.ts';
import { named } from './harness.ts';
import { type FakeLogind, missingLogind, startFakeLogind } from './logind.ts';
import { missingLongTests, NODE, type RealNode, startRealNode } from './real-node.ts';

const POD_CIDR = '10.251.1.0/25';
const SLEEP = ['sleep', '3600'];
const MiB = 1024 ** 2;

type Spec = New<v1.PodSpec>;
type ContainerFields = Partial<New<v1.Container>>;

/** A pod of one container of busybox, which sleeps by default. */
function podOf(name: string, container: ContainerFields = {}, spec: Spec = {}): New<Pod> {
  return {
    metadata: { name },
    spec: {
      nodeName: NODE,
      terminationGracePeriodSeconds: 1,
      tolerations: [{ operator: 'Exists' }],
      containers: [
        {
          name: 'main',
          image: 'busybox',
          imagePullPolicy: 'IfNotPresent',
          command: SLEEP,
          ...container,
        },
      ],
      ...spec,
    },
  };
}

const guaranteed = (cpu: string, memory: string): ContainerFields => ({
  resources: { requests: { cpu, memory }, limits: { cpu, memory } },
});

const statusLine = async (node: RealNode, pod: string, field: string): Promise<string> => {
  const text = await node.exec(pod, 'cat', '/proc/self/status');
  return new RegExp(`^${field}:\\s*(.*)$`, 'm').exec(text)?.[1] ?? '';
};

/** A local seccomp profile that permits all but the creation of directories. */
const NO_MKDIR = JSON.stringify({
  defaultAction: 'SCMP_ACT_ALLOW',
  syscalls: [{ names: ['mkdir', 'mkdirat'], action: 'SCMP_ACT_ERRNO' }],
});

describe.skipIf(missingLongTests !== undefined)(named('a real node', missingLongTests), () => {
  const root = `/coxswain-node-${process.pid}`;
  let cgroups: LinuxCgroups;
  let node: RealNode;
  let manifests: string;
  let web: Server;
  /** The manifest behind the URL; undefined: the server fails. */
  let remote: string | undefined = '';

  beforeAll(async () => {
    cgroups = await LinuxCgroups.open();
    web = createServer((_, response) => {
      if (remote === undefined) response.writeHead(503).end();
      else response.end(remote);
    });
    await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
    const { port } = web.address() as AddressInfo;
    node = await startRealNode(
      64,
      (dir) => {
        manifests = join(dir, 'manifests');
        mkdirSync(manifests);
        return {
          cgroupRoot: root,
          podPidsLimit: 64,
          systemReserved: { cpu: '1', memory: '100Mi' },
          eviction: { hard: { 'memory.available': '100Mi' } },
          resourceManagers: {
            ...DEFAULT_RESOURCE_MANAGERS,
            cpuManagerPolicy: 'static',
            cpuManagerReconcileMs: 500,
            reservedSystemCPUs: '0',
            memoryManagerPolicy: 'Static',
            reservedMemory: [{ numaNode: 0, limits: { memory: '200Mi' } }],
            topologyManagerPolicy: 'single-numa-node',
          },
          allowedUnsafeSysctls: ['kernel.msg*'],
          seccompDefault: 'RuntimeDefault',
          swapBehavior: 'LimitedSwap',
          staticPodPath: manifests,
          staticPodCheckMs: 300,
          staticPodUrl: `http://127.0.0.1:${port}/pods`,
          staticPodUrlCheckMs: 300,
          nodeCheckMs: 1000,
        };
      },
      { podCidr: POD_CIDR, files: { 'seccomp/no-mkdir.json': NO_MKDIR } },
    );
  });
  afterEach(() => node?.deleteAll());
  afterAll(async () => {
    await node?.stop();
    await cgroups?.remove(root);
    web?.close();
  });

  /** Waits for an event about the pod's sandbox. Returns all of them. */
  const sandboxEvents = async (name: string): Promise<readonly string[]> => {
    const find = async (): Promise<readonly string[]> =>
      (await node.eventsOf(name)).filter((text) => text.startsWith('FailedCreatePodSandBox'));
    await node.until('an event', async () => (await find()).length > 0);
    return await find();
  };

  test('a Guaranteed container has CPUs of its own, which others leave and get back', async () => {
    await node.create(podOf('shared'));
    await node.ready('shared');
    const sharedCpus = (): Promise<string> => statusLine(node, 'shared', 'Cpus_allowed_list');
    expect(await sharedCpus()).toBe('0-1');
    await node.create(podOf('exclusive', guaranteed('1', '32Mi')));
    await node.ready('exclusive');
    expect(await statusLine(node, 'exclusive', 'Cpus_allowed_list')).toBe('1');
    await node.until('the shared CPUs to shrink', async () => (await sharedCpus()) === '0');
    await node.remove('exclusive');
    await node.until('the shared CPUs to grow', async () => (await sharedCpus()) === '0-1');
  });

  test('a Guaranteed container has its memory on one NUMA node, which a file records', async () => {
    await node.create(podOf('pinned', guaranteed('100m', '48Mi')));
    const { metadata } = await node.ready('pinned');
    expect(await statusLine(node, 'pinned', 'Mems_allowed_list')).toBe('0');
    const state: unknown = JSON.parse(
      readFileSync(join(node.rootDir, 'memory_manager_state'), 'utf8'),
    );
    expect(state).toMatchObject({
      policyName: 'Static',
      entries: {
        [metadata.uid]: { main: [{ numaAffinity: [0], type: 'memory', size: 48 * MiB }] },
      },
    });
  });

  test('a container that needs more CPUs than one can have to itself is rejected', async () => {
    await node.create(podOf('large', guaranteed('2', '32Mi')));
    await node.until(
      'the rejection',
      async () => (await node.get('large')).status.phase === 'Failed',
    );
    expect((await node.get('large')).status).toMatchObject({
      reason: 'OutOfcpu',
      message:
        "Pod was rejected: Node didn't have enough resource: cpu, requested: 2000, used: 0, capacity: 1000",
    });
  });

  test('a pod has no more processes than the limit', async () => {
    // The inner shell ends when it can no longer fork. The first process must not: its end would
    // end all others.
    const script = '(for i in $(seq 200); do sleep 3600 & done); exec sleep 3600';
    await node.create(podOf('forks', { command: ['sh', '-c', script] }));
    const { metadata } = await node.ready('forks');
    const path = `${root}/kubepods/besteffort/pod${metadata.uid}`;
    expect((await cgroups.read(path, 'pids', 'pids.max'))?.trim()).toBe('64');
    await node.until(
      'the limit to be met',
      async () => Number(await cgroups.read(path, 'pids', 'pids.current')) >= 60,
    );
    expect(Number(await cgroups.read(path, 'pids', 'pids.current'))).toBeLessThanOrEqual(64);
    // Other pods start nevertheless.
    await node.create(podOf('bystander'));
    await node.ready('bystander');
  });

  test('without control groups v2 no container gets swap', async () => {
    if (cgroups.version !== 1) return;
    await node.create(
      podOf('burstable', {
        resources: { requests: { memory: '16Mi' }, limits: { memory: '32Mi' } },
      }),
    );
    const { metadata, status } = await node.ready('burstable');
    const id = status.containerStatuses?.[0]?.containerID?.replace('containerd://', '') ?? '';
    const path = `${root}/kubepods/burstable/pod${metadata.uid}/${id}`;
    const read = async (file: string): Promise<string | undefined> =>
      (await cgroups.read(path, 'memory', file))?.trim();
    expect(await read('memory.limit_in_bytes')).toBe(String(32 * MiB));
    expect(await read('memory.memsw.limit_in_bytes')).toBe(String(32 * MiB));
  });

  test('a RuntimeClass chooses the handler, and its overhead enlarges the pod’s limits', async () => {
    const overhead = { podFixed: { cpu: '100m', memory: '16Mi' } };
    const classes = node.client.resource(runtimeClasses);
    await classes.create({ metadata: { name: 'heavy' }, handler: 'runc', overhead });
    await classes.create({ metadata: { name: 'missing' }, handler: 'nowhere' });
    await node.create(podOf('heavy', guaranteed('100m', '32Mi'), { runtimeClassName: 'heavy' }));
    const { metadata } = await node.ready('heavy');
    const path = `${root}/kubepods/pod${metadata.uid}`;
    const [controller, file] =
      cgroups.version === 1
        ? (['memory', 'memory.limit_in_bytes'] as const)
        : (['memory', 'memory.max'] as const);
    expect((await cgroups.read(path, controller, file))?.trim()).toBe(String(48 * MiB));
    await node.create(podOf('lost', {}, { runtimeClassName: 'missing' }));
    const [event, ...others] = await sandboxEvents('lost');
    expect(others).toEqual([]);
    // The rest is in the words of containerd, which 2.0 has changed.
    expect(event).toMatch(
      /^FailedCreatePodSandBox: Failed to create pod sandbox: rpc error: .*no runtime for "nowhere" is configured$/,
    );
  });

  test('seccomp: the default, none, and local profiles', async () => {
    const withProfile = (name: string, seccompProfile: New<v1.SeccompProfile>): New<Pod> =>
      podOf(name, { securityContext: { seccompProfile } });
    await node.create(podOf('default'));
    await node.create(withProfile('unconfined', { type: 'Unconfined' }));
    await node.create(
      withProfile('local', { type: 'Localhost', localhostProfile: 'no-mkdir.json' }),
    );
    await node.create(
      withProfile('absent', { type: 'Localhost', localhostProfile: 'absent.json' }),
    );
    for (const name of ['default', 'unconfined', 'local']) await node.ready(name);
    expect(await statusLine(node, 'default', 'Seccomp')).toBe('2');
    expect(await node.exec('default', 'mkdir', '/tmp/made')).toBe('');
    expect(await statusLine(node, 'unconfined', 'Seccomp')).toBe('0');
    expect(await node.exec('local', 'mkdir', '/tmp/made')).toContain('Operation not permitted');
    await node.until('the failure', async () =>
      (await node.eventsOf('absent')).some((text) => text.includes('cannot load seccomp profile')),
    );
    const [status] = (await node.get('absent')).status.containerStatuses ?? [];
    expect(status?.state.waiting?.reason).toBe('CreateContainerError');
  });

  test('a pod with an AppArmor profile is rejected where the kernel has no AppArmor', async () => {
    if (await isAppArmorEnabled()) return;
    const securityContext = { appArmorProfile: { type: 'RuntimeDefault' } } as const;
    await node.create(podOf('confined', { securityContext }));
    await node.until(
      'the rejection',
      async () => (await node.get('confined')).status.phase === 'Failed',
    );
    expect((await node.get('confined')).status).toMatchObject({
      reason: 'AppArmor',
      message: 'Pod was rejected: Cannot enforce AppArmor: AppArmor is not enabled on the host',
    });
  });

  test('sysctls: safe ones and allowed ones are set, others reject the pod', async () => {
    const withSysctl = (name: string, sysctl: string, value: string): New<Pod> =>
      podOf(name, {}, { securityContext: { sysctls: [{ name: sysctl, value }] } });
    await node.create(withSysctl('safe', 'net.ipv4.ip_unprivileged_port_start', '80'));
    await node.create(withSysctl('allowed', 'kernel.msgmax', '4096'));
    await node.create(withSysctl('forbidden', 'net.core.somaxconn', '100'));
    for (const name of ['safe', 'allowed']) await node.ready(name);
    const read = (pod: string, file: string): Promise<string> =>
      node.exec(pod, 'cat', `/proc/sys/${file}`);
    expect(await read('safe', 'net/ipv4/ip_unprivileged_port_start')).toBe('80');
    expect(await read('allowed', 'kernel/msgmax')).toBe('4096');
    await node.until(
      'the rejection',
      async () => (await node.get('forbidden')).status.phase === 'Failed',
    );
    expect((await node.get('forbidden')).status).toMatchObject({
      reason: 'SysctlForbidden',
      message: 'Pod was rejected: forbidden sysctl: "net.core.somaxconn" not allowlisted',
    });
  });

  test('a pod with a user namespace waits for a runtime that has them', async () => {
    await node.create(podOf('namespaced', {}, { hostUsers: false }));
    expect(await sandboxEvents('namespaced')).toEqual([
      "FailedCreatePodSandBox: Failed to create pod sandbox: can't set `spec.hostUsers: false`, " +
        'runtime does not support user namespaces',
    ]);
    expect((await node.get('namespaced')).status.phase).toBe('Pending');
  });

  test('an ephemeral container sees the processes of its target', async () => {
    await node.create(podOf('target'));
    await node.ready('target');
    const debug = {
      name: 'debug',
      image: 'busybox',
      imagePullPolicy: 'IfNotPresent',
      targetContainerName: 'main',
      command: ['sh', '-c', 'ps > /dev/termination-log'],
      terminationMessagePath: '/dev/termination-log',
    } as const;
    await node.client
      .resource(pods)
      .namespace('default')
      .patch(
        'target',
        'application/strategic-merge-patch+json',
        { spec: { ephemeralContainers: [debug] } },
        { subresource: 'ephemeralcontainers' },
      );
    const ended = async () =>
      (await node.get('target')).status.ephemeralContainerStatuses?.[0]?.state.terminated;
    await node.until('its end', async () => (await ended()) !== undefined);
    expect(await ended()).toMatchObject({
      exitCode: 0,
      message: expect.stringContaining('sleep 3600'),
    });
    expect((await node.get('target')).status.containerStatuses?.[0]?.restartCount).toBe(0);
  });

  describe('static pods', () => {
    const manifest = (name: string, seconds: number): string =>
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name },
        spec: {
          terminationGracePeriodSeconds: 0,
          containers: [
            {
              name: 'main',
              image: 'busybox',
              imagePullPolicy: 'IfNotPresent',
              command: ['sleep', String(seconds)],
            },
          ],
        },
      });
    const isGone = async (name: string): Promise<boolean> =>
      (await node.client.resource(pods).namespace('default').list()).items.every(
        ({ metadata }) => metadata.name !== name,
      );

    test('of a directory: the mirror follows the file, and comes back', async () => {
      const file = join(manifests, 'web.json');
      const mirror = `web-${NODE}`;
      writeFileSync(file, manifest('web', 3600));
      const appears = (): Promise<void> =>
        node.until('the mirror', async () => !(await isGone(mirror)));
      await appears();
      const first = await node.ready(mirror);
      expect(first.metadata.annotations).toMatchObject({
        'kubernetes.io/config.source': 'file',
        'kubernetes.io/config.mirror': first.metadata.annotations?.['kubernetes.io/config.hash'],
      });
      expect(first.metadata.ownerReferences?.[0]).toMatchObject({ kind: 'Node', name: NODE });
      // Deleting the mirror does not end the containers.
      await node.client
        .resource(pods)
        .namespace('default')
        .delete(mirror, { gracePeriodSeconds: 0 });
      await node.until('another mirror', async () => {
        const { items } = await node.client.resource(pods).namespace('default').list();
        return items.some(
          ({ metadata }) => metadata.name === mirror && metadata.uid !== first.metadata.uid,
        );
      });
      const second = await node.ready(mirror);
      expect(second.status.containerStatuses?.[0]?.containerID).toBe(
        first.status.containerStatuses?.[0]?.containerID,
      );
      rmSync(file);
      await node.until('its end', () => isGone(mirror));
    });

    test('of a URL: they run while the server fails, and end with an empty manifest', async () => {
      const mirror = `remote-${NODE}`;
      remote = manifest('remote', 3600);
      await node.until('the mirror', async () => !(await isGone(mirror)));
      const { metadata, status } = await node.ready(mirror);
      expect(metadata.annotations?.['kubernetes.io/config.source']).toBe('http');
      remote = undefined;
      await node.create(podOf('meanwhile'));
      await node.ready('meanwhile');
      expect((await node.get(mirror)).status.containerStatuses?.[0]?.containerID).toBe(
        status.containerStatuses?.[0]?.containerID,
      );
      remote = '';
      await node.until('its end', () => isGone(mirror));
    });
  });
});

const missingShutdown = missingLongTests ?? missingLogind;
describe.skipIf(missingShutdown !== undefined)(named('a shutdown', missingShutdown), () => {
  let node: RealNode;
  let logind: FakeLogind;
  const addressBefore = process.env['DBUS_SYSTEM_BUS_ADDRESS'];

  beforeAll(async () => {
    logind = await startFakeLogind();
    process.env['DBUS_SYSTEM_BUS_ADDRESS'] = logind.address;
    node = await startRealNode(
      64,
      {
        shutdownPeriods: [
          { priority: 0, seconds: 10 },
          { priority: 1000, seconds: 10 },
        ],
        nodeCheckMs: 1000,
      },
      { podCidr: '10.251.1.128/25' },
    );
  });
  afterAll(async () => {
    await node?.stop();
    logind?.stop();
    if (addressBefore === undefined) delete process.env['DBUS_SYSTEM_BUS_ADDRESS'];
    else process.env['DBUS_SYSTEM_BUS_ADDRESS'] = addressBefore;
  });

  test('ends pods by priority while a lock of logind holds the machine', async () => {
    await node.until('the lock', () => Promise.resolve(logind.locks === 1));
    // Each writes when it ends, by the machine's clock.
    const script = (seconds: number): readonly string[] => [
      'sh',
      '-c',
      `trap 'sleep ${seconds}; exit 0' TERM; while true; do sleep 0.1; done`,
    ];
    const create = (name: string, priority: number): Promise<void> =>
      node.create(
        podOf(name, { command: [...script(1)] }, { priority, terminationGracePeriodSeconds: 30 }),
      );
    await create('ordinary', 0);
    await create('important', 1000);
    for (const name of ['ordinary', 'important']) await node.ready(name);
    logind.announce('shutdown');
    await node.until('the release of the lock', () => Promise.resolve(logind.locks === 0));
    const endOf = async (name: string): Promise<number | undefined> => {
      const { finishedAt } =
        (await node.get(name)).status.containerStatuses?.[0]?.state.terminated ?? {};
      return typeof finishedAt === 'string' ? Date.parse(finishedAt) : undefined;
    };
    await node.until('both ends', async () => {
      const ends = await Promise.all(['ordinary', 'important'].map(endOf));
      return ends.every((end) => end !== undefined);
    });
    // The second group is asked to end when the first has ended, and takes a second.
    expect(await endOf('important')).toBeGreaterThan((await endOf('ordinary')) ?? Number.NaN);
    expect(await node.condition('Ready')).toBe('False');
  });
});
