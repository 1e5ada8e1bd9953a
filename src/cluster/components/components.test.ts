import { expect, test } from 'vitest';
import { createClient } from '#client/create-client.ts';
import { createInProcessTransport } from '#client/in-process.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import type { ClusterNode } from '../nodes/cluster-node.ts';
import { simulatedNode } from '../nodes/simulated-machine.ts';
import { Components } from './components.ts';

const services = { clock: systemClock, random: systemRandom, logger: silentLogger };

/** Returns components without controllers and scheduler, which another thread has. */
function componentsOf(node: ClusterNode): Components {
  const handler = () => Promise.reject(new Error('there is no API server'));
  return new Components({
    ...services,
    clientOf: () => createClient(createInProcessTransport({ handler, userAgent: 'test' })),
    nodes: [node],
    nodesInAll: 1,
  });
}

test('the service proxy of a node has metrics wherever the controllers are', () => {
  const node = simulatedNode(
    { name: 'node-1', podCidrs: ['10.244.1.0/24'] },
    { ...services, journal: undefined },
  );
  const proxy = {
    mode: 'userspace',
    table: 'none',
    clusterCidrs: [],
    nodePortAddresses: 'primary',
    reservedPorts: [],
  } as const;
  expect(componentsOf({ ...node, proxy }).metrics()).toContain('kubeproxy_');
  expect(componentsOf(node).metrics()).toBe('');
});
