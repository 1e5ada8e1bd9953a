// Claims to devices whose allocation is an exponential search, or whose selectors are as expensive
// as the API allows: the scheduler gives up on the node, and everything else is served meanwhile.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '#machinery/clock.ts';
import * as wait from '#machinery/wait.ts';
import { type SecuredCluster, startSecuredCluster } from './cluster.ts';
import { loopUse, machineFactor } from './loop-meter.ts';

/** Half of what an API request may take. */
const BUDGET_MS = 50;
const DEVICES = 26;
const CLAIMS = '/apis/resource.k8s.io/v1/namespaces/default/resourceclaims';
const PODS = '/api/v1/namespaces/default/pods';

let cluster: SecuredCluster;
beforeAll(async () => {
  cluster = await startSecuredCluster({
    nodes: 1,
    schedulerConfiguration: {
      apiVersion: 'kubescheduler.config.k8s.io/v1',
      kind: 'KubeSchedulerConfiguration',
      profiles: [{ pluginConfig: [{ name: 'DynamicResources', args: { filterTimeout: '2s' } }] }],
    },
  });
  const devices = Array.from({ length: DEVICES }, (_, i) => ({
    name: `d${i}`,
    attributes: { model: { string: 'x'.repeat(64) } },
  }));
  await cluster.expect(201, {
    method: 'POST',
    path: '/apis/resource.k8s.io/v1/deviceclasses',
    body: { metadata: { name: 'any' }, spec: {} },
  });
  await cluster.expect(201, {
    method: 'POST',
    path: '/apis/resource.k8s.io/v1/resourceslices',
    body: {
      metadata: { name: 'slice' },
      spec: {
        driver: 'gpu.example.com',
        pool: { name: 'p', generation: 1, resourceSliceCount: 1 },
        allNodes: true,
        devices,
      },
    },
  });
});
afterAll(() => cluster.stop());

const selecting = (expression: string) => ({ selectors: [{ cel: { expression } }] });
const request = (name: string, count: number, more: object = {}) => ({
  name,
  exactly: { deviceClassName: 'any', allocationMode: 'ExactCount', count, ...more },
});

/** A selector whose estimated cost is near the limit of a selector. It never matches. */
const EXPENSIVE =
  `[${Array.from({ length: 100 }, (_, i) => i).join(',')}].exists(i, ` +
  '"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx".matches(' +
  '"^(x|y)*x(x|y)*z(x|y)*z(x|y)*z(x|y)*z(x|y)*z(x|y)*z(x|y)*z(x|y)*z(x|y)*z(x|y)*z$"))';

const cases: readonly (readonly [name: string, requests: readonly object[], refusal: RegExp])[] = [
  [
    'every choice of half of the devices',
    [request('half', DEVICES / 2), request('none', 1, selecting('false'))],
    /timed out trying to allocate devices/,
  ],
  [
    'expensive selectors',
    Array.from({ length: 16 }, (_, i) => request(`r${i}`, 1, selecting(EXPENSIVE))),
    /cannot allocate all claims|timed out/,
  ],
];

test.each(cases)('%s', async (_name, requests, refusal) => {
  const path = `${PODS}/p`;
  await cluster.expect(201, {
    method: 'POST',
    path: CLAIMS,
    body: { metadata: { name: 'claim' }, spec: { devices: { requests } } },
  });
  const claim = { name: 'c', resourceClaimName: 'claim' };
  await cluster.expect(201, {
    method: 'POST',
    path: PODS,
    body: {
      metadata: { name: 'p' },
      spec: { containers: [{ name: 'c', image: 'i' }], resourceClaims: [claim] },
    },
  });
  const { longestTurnMs } = await loopUse(() =>
    wait.poll({ clock: systemClock, intervalMs: 1, timeoutMs: 30_000 }, async () => {
      const { json } = await cluster.expect(200, { path });
      const { conditions = [] } = json.status as { conditions?: { message?: string }[] };
      return conditions.some(({ message = '' }) => refusal.test(message));
    }),
  );
  expect(longestTurnMs / machineFactor()).toBeLessThan(BUDGET_MS);
  await cluster.expect(200, { method: 'DELETE', path });
  await cluster.expect(200, { method: 'DELETE', path: `${CLAIMS}/claim` });
});
