import { afterEach, expect, test } from 'vitest';
import { pods } from '#api/groups/core/v1/index.ts';
import type { KubeletConfig } from './config.ts';
import {
  DEFAULT_RESOURCE_MANAGERS,
  type ResourceManagerSettings,
} from './resource-managers/settings.ts';
import { makeMachine } from './resource-managers/testing/make-topology.ts';
import { type Harness, startHarness } from './testing/harness.ts';
import type { Pod } from './types.ts';

let harness: Harness | undefined;
afterEach(() => harness?.stop());

// CPU n and n + 4 are threads of one core; cores 0 and 1 are on NUMA node 0.
const machineTopology = makeMachine({ sockets: 2, numaNodes: 1, cores: 2, threads: 2 });

const nodeWith = (settings: Partial<ResourceManagerSettings>): Partial<KubeletConfig> => ({
  machineTopology,
  capacity: { cpu: '8', memory: '16Gi', pods: '110', 'ephemeral-storage': '100Gi' },
  systemReserved: { cpu: '1' },
  resourceManagers: {
    ...DEFAULT_RESOURCE_MANAGERS,
    cpuManagerPolicy: 'static',
    ...settings,
  },
});

async function createPod(name: string, cpu: string): Promise<Pod> {
  const resources = { limits: { cpu, memory: '64Mi' } };
  await harness!.createPod(name, {
    containers: [{ name: 'main', image: 'busybox:1.36', resources }],
  });
  return await harness!.waitForPod(
    name,
    ({ status }) => status.phase === 'Running' || status.phase === 'Failed',
  );
}

interface Resources {
  readonly cpusetCpus?: string;
  readonly cpuQuota?: number;
}

/** Returns what the runtime has for the pod's container. */
async function resourcesOf(pod: string): Promise<Resources> {
  const { runtime } = harness!.runtime;
  const containers = await runtime.listContainers({});
  const { id } = containers.find(({ labels }) => labels['io.kubernetes.pod.name'] === pod)!;
  const { status } = await runtime.containerStatus(id);
  return status?.resources?.linux ?? {};
}

test('a Guaranteed pod has CPUs of its own, and others run on the rest', async () => {
  harness = await startHarness(nodeWith({}));
  await createPod('shared', '500m');
  expect((await resourcesOf('shared')).cpusetCpus).toBe('0-7');
  await createPod('own', '2');
  expect(await resourcesOf('own')).toMatchObject({ cpusetCpus: '1,5' });
  expect((await resourcesOf('own')).cpuQuota ?? 0).toBe(0);
  await harness.clock.runUntil(
    async () => (await resourcesOf('shared')).cpusetCpus === '0,2-4,6-7',
    '1m',
  );
  await harness.deletePod('own', 0);
  await harness.waitForGone('own');
  await harness.clock.runUntil(
    async () => (await resourcesOf('shared')).cpusetCpus === '0-7',
    '1m',
  );
});

const LOCALITY = 'Resources cannot be allocated with Topology locality';

test('a pod that no single NUMA node has CPUs for is rejected', async () => {
  harness = await startHarness(nodeWith({ topologyManagerPolicy: 'single-numa-node' }));
  expect((await createPod('fits', '4')).status.phase).toBe('Running');
  await harness.deletePod('fits', 0);
  await harness.waitForGone('fits');
  expect((await createPod('wide', '5')).status.reason).toBe('TopologyAffinityError');
});

test('the rejection has upstream’s reason and message', async () => {
  harness = await startHarness(nodeWith({ topologyManagerPolicy: 'restricted' }));
  await createPod('one', '2');
  await createPod('two', '3');
  // One CPU is left on each NUMA node.
  const { status } = await createPod('three', '2');
  expect(status).toMatchObject({
    phase: 'Failed',
    reason: 'TopologyAffinityError',
    message: `Pod was rejected: ${LOCALITY}`,
  });
  expect(await harness.eventsOf('three')).toContain(`TopologyAffinityError: ${LOCALITY}`);
});

test('a Guaranteed pod keeps its amounts', async () => {
  harness = await startHarness(nodeWith({}));
  await createPod('own', '1');
  const resources = {
    requests: { cpu: '2', memory: '64Mi' },
    limits: { cpu: '2', memory: '64Mi' },
  };
  const patch = { spec: { containers: [{ name: 'main', resources }] } };
  const type = 'application/strategic-merge-patch+json';
  const inDefault = harness.client.resource(pods).namespace('default');
  await inDefault.patch('own', type, patch, { subresource: 'resize' });
  const { status } = await harness.waitForPod('own', ({ status: { conditions } }) =>
    (conditions ?? []).some((condition) => condition.type === 'PodResizePending'),
  );
  expect(status.conditions).toContainEqual(
    expect.objectContaining({
      type: 'PodResizePending',
      reason: 'Infeasible',
      message: 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"',
    }),
  );
});

test('half a core is rejected with full-pcpus-only', async () => {
  harness = await startHarness(
    nodeWith({ cpuManagerPolicyOptions: { 'full-pcpus-only': 'true' } }),
  );
  const { status } = await createPod('odd', '3');
  expect(status).toMatchObject({
    phase: 'Failed',
    reason: 'SMTAlignmentError',
    message:
      'Pod was rejected: SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2',
  });
});

test('a policy without reserved CPUs does not start', async () => {
  const { systemReserved: _, ...config } = nodeWith({});
  await expect(startHarness(config)).rejects.toThrow(
    'the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero',
  );
});
