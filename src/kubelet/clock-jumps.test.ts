// A node whose wall clock is set forward or back: by an administrator, or by NTP after the start.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { leases } from '#api/groups/coordination/v1/index.ts';
import { events, nodes } from '#api/groups/core/v1/index.ts';
import { type Harness, NODE_NAME, startHarness } from './testing/harness.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

let harness: Harness;
beforeEach(async () => {
  harness = await startHarness();
});
afterEach(() => harness.stop());

const restarts = async (name: string): Promise<number> =>
  (await harness.getPod(name)).status.containerStatuses?.[0]?.restartCount ?? 0;

const readyStatus = async (): Promise<string | undefined> => {
  const { status } = await harness.client.resource(nodes).get(NODE_NAME);
  return status.conditions?.find(({ type }) => type === 'Ready')?.status;
};

describe.each([
  ['back by an hour', -HOUR],
  ['forward by a day', DAY],
])('a clock that is set %s', (_, jump) => {
  test('a container that fails is restarted as before', async () => {
    await harness.createPod('crashing', {
      containers: [{ name: 'main', image: 'busybox:1.36', command: ['sh', '-c', 'exit 1'] }],
    });
    await harness.waitForPod(
      'crashing',
      ({ status }) => status.containerStatuses?.[0]?.state.waiting?.reason === 'CrashLoopBackOff',
    );
    const before = await restarts('crashing');
    harness.clock.jumpTo(harness.clock.now() + jump);
    await harness.clock.runUntil(async () => (await restarts('crashing')) > before, '6m');
    const after = await restarts('crashing');
    await harness.clock.runUntil(async () => (await restarts('crashing')) > after, '6m');
  });

  test('an image that could not be pulled is pulled again', async () => {
    const annotations = { 'simulation.coxswain.dev/image-pull-error': 'not found' };
    await harness.createPod('pulling', {}, { annotations });
    const pulls = async (): Promise<number> =>
      (await harness.client.resource(events).list()).items
        .filter(
          ({ reason, involvedObject }) => reason === 'Pulling' && involvedObject.name === 'pulling',
        )
        .reduce((sum, { count = 1 }) => sum + count, 0);
    await harness.waitForPod(
      'pulling',
      ({ status }) => status.containerStatuses?.[0]?.state.waiting?.reason === 'ImagePullBackOff',
    );
    const before = await pulls();
    harness.clock.jumpTo(harness.clock.now() + jump);
    await harness.clock.runUntil(async () => (await pulls()) > before, '6m');
  });

  test('running pods stay, and the node goes on reporting itself', async () => {
    await harness.createPod('web', {
      containers: [
        {
          name: 'main',
          image: 'busybox:1.36',
          command: ['sleep', 'infinity'],
          livenessProbe: { exec: { command: ['true'] }, periodSeconds: 5 },
        },
      ],
    });
    await harness.waitForPod('web', ({ status }) => status.phase === 'Running');
    harness.clock.jumpTo(harness.clock.now() + jump);
    await harness.clock.advance('1m');
    expect(await restarts('web')).toBe(0);
    expect((await harness.getPod('web')).status.phase).toBe('Running');
    expect(await readyStatus()).toBe('True');
    const lease = await harness.client.resource(leases).namespace('kube-node-lease').get(NODE_NAME);
    const age = harness.clock.now() - Date.parse(lease.spec?.renewTime ?? '');
    expect(Math.abs(age)).toBeLessThan(15_000);
    await harness.deletePod('web');
    await harness.waitForGone('web', '2m');
  });
});
