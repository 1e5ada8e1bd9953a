// A node that runs short, with real containers: a file system that pods fill. COXSWAIN_ROUNDS sets
// how often (default: 2).

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Pod } from '#api/groups/core/v1/index.ts';
import type { New } from '#api/machinery/meta/v1/index.ts';
import { systemRandom } from '#machinery/random.ts';
import { named } from './harness.ts';
import { missingRealNode, NODE, type RealNode, startRealNode } from './real-node.ts';

const ROUNDS = Number(process.env['COXSWAIN_ROUNDS'] ?? '2');

interface Options {
  readonly requests?: Readonly<Record<string, string>>;
  readonly limits?: Readonly<Record<string, string>>;
  readonly priority?: number;
  readonly sizeLimit?: string;
}

/** A pod that runs a script, and then sleeps. */
function podRunning(name: string, script: string, options: Options = {}): New<Pod> {
  const { requests = {}, limits = {}, priority = 0, sizeLimit } = options;
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
      volumes: [{ name: 'scratch', emptyDir: { ...(sizeLimit !== undefined && { sizeLimit }) } }],
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
        await node.until('the bystanders', async () => {
          const ready = await Promise.all(['small', 'within-request', 'critical'].map(isReady));
          return ready.every(Boolean);
        });
        expect(await node.evicted()).toEqual([]);
        expect(await node.condition('DiskPressure')).toBe('False');

        await node.create(podRunning('greedy', writing(70 - small - large + 30)));
        await node.until('the eviction', async () => (await node.evicted()).includes('greedy'));
        const { status } = await node.get('greedy');
        expect(status.message).toMatch(
          /^The node was low on resource: ephemeral-storage\. Threshold quantity: \d+\w*, available: \d+Ki\. /,
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
