// Bindings of several pods by one call (SchedulerConfig.bindPods), and what follows if it refuses
// some, fails, or is lost.

import { afterEach, beforeEach, expect, test } from 'vitest';
import { pods } from '#api/groups/core/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { BindPods, PodBinding } from './framework/bind-pods.ts';
import { type RunningScheduler, startTestCluster, type TestCluster } from './testing/cluster.ts';

const NAMES = ['a', 'b', 'c'];
const bindingRequests = ({ requests }: RunningScheduler): readonly string[] =>
  requests.filter((request) => request.endsWith('/binding'));

let cluster: TestCluster;
let calls: (readonly PodBinding[])[];
beforeEach(async () => {
  cluster = await startTestCluster();
  calls = [];
  await cluster.addNode('n1');
});
afterEach(async () => {
  await cluster.stop();
});

/** Creates the pods, and starts a scheduler that binds by `bind`, which gets the real call. */
async function run(
  bind: (bindings: readonly PodBinding[], call: BindPods) => ReturnType<BindPods>,
): Promise<RunningScheduler> {
  for (const name of NAMES) await cluster.addPod(name, { cpu: '1' });
  return cluster.startScheduler({
    bindPods: (bindings) => {
      calls.push(bindings);
      return bind(bindings, cluster.bindPods);
    },
  });
}

test('pods that are scheduled in one turn are bound by one call', async () => {
  const scheduler = await run((bindings, call) => call(bindings));
  await cluster.untilBound(...NAMES);
  expect(calls.map((bindings) => bindings.map(({ name, node }) => [name, node]))).toEqual([
    NAMES.map((name) => [name, 'n1']),
  ]);
  expect(bindingRequests(scheduler)).toEqual([]);
  expect(await cluster.condition('a')).toMatchObject({ status: 'True' });
  await cluster.clock.advance('1s');
  expect((await cluster.eventsOf('b')).map(({ reason }) => reason)).toEqual(['Scheduled']);
  expect(scheduler.logger.problems).toEqual([]);
});

test('a refused binding is made by a request', async () => {
  const scheduler = await run(async (bindings, call) => {
    const results = await call(bindings.filter(({ name }) => name !== 'b'));
    return [results[0]!, 'refused', results[1]!];
  });
  await cluster.untilBound(...NAMES);
  expect(bindingRequests(scheduler)).toEqual(['POST /api/v1/namespaces/default/pods/b/binding']);
});

test('a binding that fails is tried again, and the node is free meanwhile', async () => {
  const { status } = apierrors.forbidden({ group: '', resource: 'pods' }, 'a', 'no');
  await run(async (bindings, call) =>
    calls.length === 1 ? bindings.map(() => status) : call(bindings),
  );
  await cluster.untilBound(...NAMES);
  expect(calls.flat().map(({ name }) => name)).toEqual([...NAMES, ...NAMES]);
});

test('after a lost answer, pods that are bound are not bound again', async () => {
  const scheduler = await run(async (bindings, call) => {
    if (calls.length > 1) return call(bindings);
    await call(bindings.slice(0, 2));
    throw new Error('lost');
  });
  await cluster.untilBound(...NAMES);
  await cluster.clock.advance('10m');
  expect(calls.flat().map(({ name }) => name)).toEqual([...NAMES, 'c']);
  expect(bindingRequests(scheduler)).toEqual([]);
});

test('another pod with the name of a deleted one is not bound', async () => {
  await run(async (bindings, call) => {
    if (calls.length === 1) {
      const inDefault = cluster.client.resource(pods).namespace('default');
      await inDefault.delete('a', { gracePeriodSeconds: 0 });
      await cluster.addPod('a', { cpu: '1' });
    }
    return call(bindings);
  });
  await cluster.untilBound(...NAMES);
  const [first] = calls[0]!;
  const last = calls.flat().findLast(({ name }) => name === 'a');
  expect(last?.uid).not.toBe(first?.uid);
});
