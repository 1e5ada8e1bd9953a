// A node that runs short, with real containers: a file system and a memory cgroup that pods fill.
// COXSWAIN_ROUNDS sets how often (default: once, at night three times).

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Pod } from '#api/groups/core/v1/index.ts';
import type { New } from '#api/machinery/meta/v1/index.ts';
import { systemRandom } from '#machinery/random.ts';
import { partOrWhole } from '#machinery/testing/long-tests.ts';
import { LinuxCgroups } from '#kubelet/node/writable-cgroups.ts';
import { named } from './harness.ts';
import { missingRealNode, NODE, type RealNode, startRealNode } from './real-node.ts';

const ROUNDS = Number(process.env['COXSWAIN_ROUNDS'] ?? partOrWhole('1', '3'));

interface Options {
  readonly requests?: Readonly<Record<string, string>>;
  readonly limits?: Readonly<Record<string, string>>;
  readonly priority?: number;
  readonly sizeLimit?: string;
  /** 'Memory' for a volume in memory. */
  readonly medium?: string;
}

/** A pod that runs a script, and then sleeps. */
function podRunning(name: string, script: string, options: Options = {}): New<Pod> {
  const { requests = {}, limits = {}, priority = 0, sizeLimit, medium } = options;
  return {
    metadata: { name },
    spec: {
      nodeName: NODE,
      priority,
      terminationGracePeriodSeconds: 1,
      tolerations: [{ operator: 'Exists' }],
      containers: [
        {
          name: 'main',
          image: 'busybox',
          imagePullPolicy: 'IfNotPresent',
          command: ['sh', '-c', `${script}; touch /tmp/done; sleep 3600`],
          resources: { requests, limits },
          readinessProbe: { exec: { command: ['test', '-f', '/tmp/done'] }, periodSeconds: 1 },
          volumeMounts: [{ name: 'scratch', mountPath: '/scratch' }],
        },
      ],
      volumes: [
        {
          name: 'scratch',
          emptyDir: {
            ...(sizeLimit !== undefined && { sizeLimit }),
            ...(medium !== undefined && { medium }),
          },
        },
      ],
    },
  };
}

const writing = (mebibytes: number): string =>
  `dd if=/dev/zero of=/scratch/file bs=1M count=${mebibytes} 2>/dev/null`;

describe.skipIf(missingRealNode !== undefined)(named('a full disk', missingRealNode), () => {
  let node: RealNode;
  beforeAll(async () => {
    node = await startRealNode(128, {
      eviction: {
        hard: { 'nodefs.available': '30%' },
        pressureTransitionMs: 1000,
        monitoringMs: 500,
        volumeStatsMs: 200,
      },
    });
  });
  afterAll(() => node?.stop());

  const isReady = async (name: string): Promise<boolean> =>
    (await node.get(name)).status.conditions?.some(
      ({ type, status }) => type === 'Ready' && status === 'True',
    ) === true;

  test(
    `the pods that upstream would evict are evicted, and no others (${ROUNDS} rounds)`,
    async () => {
      for (let round = 0; round < ROUNDS; round++) {
        // Sizes are random; the sum of the bystanders never reaches the threshold.
        const small = 2 + systemRandom.int(8);
        const large = 20 + systemRandom.int(10);
        await node.create(podRunning('small', writing(small)));
        // This pod uses the most, but requests it.
        await node.create(
          podRunning('within-request', writing(large), {
            requests: { 'ephemeral-storage': '40Mi' },
          }),
        );
        await node.create(podRunning('critical', writing(10), { priority: 2_000_000_000 }));
        await node.until(`the bystanders of round ${round}`, async () => {
          const ready = await Promise.all(['small', 'within-request', 'critical'].map(isReady));
          return ready.every(Boolean);
        });
        expect(await node.evicted()).toEqual([]);
        expect(await node.condition('DiskPressure')).toBe('False');

        await node.create(podRunning('greedy', writing(70 - small - large + 30)));
        await node.until(`the eviction of round ${round}`, async () =>
          (await node.evicted()).includes('greedy'),
        );
        const { status } = await node.get('greedy');
        expect(status.message).toMatch(
          /^The node was low on resource: ephemeral-storage\. Threshold quantity: \d+\w*, available: \d+[KM]i\. /,
        );
        expect(status.conditions).toContainEqual(
          expect.objectContaining({ type: 'DisruptionTarget', reason: 'TerminationByKubelet' }),
        );
        await node.until(
          'the end of the pressure',
          async () => (await node.condition('DiskPressure')) === 'False',
        );
        expect(await node.evicted()).toEqual(['greedy']);
        for (const name of ['small', 'within-request', 'critical'])
          expect((await node.get(name)).status.phase).toBe('Running');
        await node.deleteAll();
      }
      const reasons = (await node.eventsOf(NODE)).map((text) => text.split(':')[0]);
      for (const reason of ['EvictionThresholdMet', 'NodeHasDiskPressure', 'NodeHasNoDiskPressure'])
        expect(reasons).toContain(reason);
    },
    ROUNDS * 60_000,
  );

  test('a pod above the sizeLimit of its volume is evicted, and one above its storage limit', async () => {
    await node.create(podRunning('within', writing(2), { sizeLimit: '5Mi' }));
    await node.create(podRunning('volume', writing(8), { sizeLimit: '5Mi' }));
    await node.create(podRunning('limit', writing(8), { limits: { 'ephemeral-storage': '5Mi' } }));
    await node.until('both evictions', async () => (await node.evicted()).length >= 2);
    expect(await node.evicted()).toEqual(['limit', 'volume']);
    expect((await node.get('volume')).status.message).toBe(
      'Usage of EmptyDir volume "scratch" exceeds the limit "5Mi". ',
    );
    expect((await node.get('limit')).status.message).toBe(
      'Pod ephemeral local storage usage exceeds the total limit of containers 5Mi. ',
    );
    expect((await node.get('within')).status.phase).toBe('Running');
    await node.deleteAll();
  });

  test('a container that the kernel kills is reported as OOMKilled', async () => {
    const script = 'a=x; while true; do a=$a$a; done';
    await node.create(podRunning('hungry', script, { limits: { memory: '20Mi' } }));
    await node.until('the kill', async () => {
      const [container] = (await node.get('hungry')).status.containerStatuses ?? [];
      const { terminated } = container?.lastState ?? {};
      const ended = container?.state?.terminated ?? terminated;
      return ended?.reason === 'OOMKilled' && ended.exitCode === 137;
    });
    await node.deleteAll();
  });
});

describe.skipIf(missingRealNode !== undefined)(named('full memory', missingRealNode), () => {
  const MEMORY = 'memory.limit_in_bytes';
  const root = `/coxswain-test-${process.pid}`;
  let node: RealNode;
  let cgroups: LinuxCgroups;
  beforeAll(async () => {
    cgroups = await LinuxCgroups.open();
    node = await startRealNode(64, {
      cgroupRoot: root,
      podPidsLimit: 100,
      capacity: { cpu: '2', memory: '512Mi', pods: '20', 'ephemeral-storage': '1Gi' },
      systemReserved: { memory: '112Mi' },
      eviction: {
        hard: { 'memory.available': '100Mi' },
        pressureTransitionMs: 1000,
        monitoringMs: 300,
      },
    });
  });
  afterAll(async () => {
    await node?.deleteAll();
    await node?.stop();
    await cgroups?.remove(root);
  });

  test('pods have cgroups with their limits, below that of the node', async () => {
    const limits = { memory: '30Mi', cpu: '200m' };
    await node.create(podRunning('guaranteed', 'true', { requests: limits, limits }));
    await node.create(podRunning('burstable', 'true', { requests: { cpu: '100m' } }));
    for (const name of ['guaranteed', 'burstable'])
      await node.until(name, async () => (await node.get(name)).status.phase === 'Running');
    const uid = async (name: string): Promise<string> => (await node.get(name)).metadata.uid;
    const guaranteed = `${root}/kubepods/pod${await uid('guaranteed')}`;
    const burstable = `${root}/kubepods/burstable/pod${await uid('burstable')}`;
    const files = cgroups.version === 1 ? [MEMORY, 'cpu.shares'] : ['memory.max', 'cpu.weight'];
    const [memoryFile = '', sharesFile = ''] = files;
    const read = async (path: string, controller: 'cpu' | 'memory' | 'pids', name: string) =>
      (await cgroups.read(path, controller, name))?.trim();
    expect(await read(`${root}/kubepods`, 'memory', memoryFile)).toBe(String(400 * 1024 ** 2));
    expect(await read(guaranteed, 'memory', memoryFile)).toBe(String(30 * 1024 ** 2));
    expect(await read(guaranteed, 'cpu', sharesFile)).toBe(cgroups.version === 1 ? '204' : '8');
    expect(await read(guaranteed, 'pids', 'pids.max')).toBe('100');
    expect(await read(burstable, 'cpu', sharesFile)).toBe(cgroups.version === 1 ? '102' : '4');
    expect(Number(await read(guaranteed, 'pids', 'pids.current'))).toBeGreaterThan(0);
    expect(await node.allocatable('memory')).toBe('300Mi');
    await node.deleteAll();
    await node.until('the end of the cgroup', async () =>
      (await cgroups.children(`${root}/kubepods`)).every((name) => !name.startsWith('pod')),
    );
  });

  test(
    `the pods that upstream would evict are evicted, and no others (${ROUNDS} rounds)`,
    async () => {
      const inMemory = { medium: 'Memory' };
      for (let round = 0; round < ROUNDS; round++) {
        const steady = 40 + systemRandom.int(40);
        await node.create(
          podRunning('steady', writing(steady), { ...inMemory, requests: { memory: '100Mi' } }),
        );
        // A pod above its request with a higher priority.
        await node.create(
          podRunning('important', writing(40), {
            ...inMemory,
            requests: { memory: '20Mi' },
            priority: 1000,
          }),
        );
        await node.until(`the bystanders of round ${round}`, async () => {
          const all = await Promise.all(['steady', 'important'].map((name) => node.get(name)));
          return all.every(({ status }) =>
            status.conditions?.some(({ type, status: met }) => type === 'Ready' && met === 'True'),
          );
        });
        expect(await node.evicted()).toEqual([]);
        await node.create(podRunning('greedy', writing(290 - steady), inMemory));
        await node.until(`the eviction of round ${round}`, async () =>
          (await node.evicted()).includes('greedy'),
        );
        const { status } = await node.get('greedy');
        expect(status.message).toMatch(
          /^The node was low on resource: memory\. Threshold quantity: 100Mi, available: \d+[KM]i\. /,
        );
        expect(status.message).toMatch(
          /Container main was using \d+[KM]i, request is 0, has larger consumption of memory\. $/,
        );
        await node.until(
          'the end of the pressure',
          async () => (await node.condition('MemoryPressure')) === 'False',
        );
        expect(await node.evicted()).toEqual(['greedy']);
        for (const name of ['steady', 'important'])
          expect((await node.get(name)).status.phase).toBe('Running');
        await node.deleteAll();
      }
    },
    ROUNDS * 60_000,
  );
});
