// Two controller managers of one cluster, on a clock that the test turns.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { deployments } from '#api/groups/apps/v1/index.ts';
import { leases } from '#api/groups/coordination/v1/index.ts';
import { events } from '#api/groups/core/v1/index.ts';
import { ControllerManager } from '#controllers/index.ts';
import { startTestCluster, type TestCluster } from '#controllers/testing/test-cluster.ts';
import type { Client } from '#client/client.ts';
import { createClient } from '#client/create-client.ts';
import { createInProcessTransport } from '#client/in-process.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { recordingLogger } from '#machinery/log.ts';
import { leading, type LeaderElectionSettings } from './leading.ts';

let cluster: TestCluster;
/** The clients whose requests are lost. */
let dead: Set<string>;
let stops: { readonly abort: AbortController; readonly run: Promise<void> }[];
let leaders: string[];
beforeEach(async () => {
  cluster = await startTestCluster();
  dead = new Set();
  stops = [];
  leaders = [];
});
afterEach(async () => {
  for (const { abort } of stops) abort.abort();
  await Promise.all(stops.map(({ run }) => run));
  await cluster.stop();
});

function clientOf(identity: string, account?: string): Client {
  const name =
    account === undefined
      ? 'system:kube-controller-manager'
      : `system:serviceaccount:kube-system:${account}`;
  const handler = cluster.server.inProcess({ name, groups: ['system:authenticated'] });
  const transport = createInProcessTransport({
    handler: (request) => {
      if (dead.has(identity)) throw apierrors.serviceUnavailable('the network is down');
      return handler(request);
    },
  });
  return createClient(transport);
}

function stand(identity: string, settings: LeaderElectionSettings = {}): void {
  const { clock, random } = cluster;
  const client = clientOf(identity);
  const logger = recordingLogger();
  const abort = new AbortController();
  const run = leading(
    {
      client,
      clock,
      random: random.derive(identity),
      logger,
      component: 'kube-controller-manager',
      identity,
      settings,
      work: (held) =>
        new ControllerManager({
          client,
          clientOf: (account) => clientOf(identity, account),
          clock,
          random,
          logger,
          controllers: ['deployment-controller'],
        }).run(held),
      onLeading: (leads) =>
        void (leads ? leaders.push(identity) : leaders.splice(leaders.indexOf(identity), 1)),
    },
    abort.signal,
  );
  stops.push({ abort, run });
}

const template = {
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'c', image: 'i' }] },
};
async function isWorkedOn(name: string): Promise<boolean> {
  const inDefault = cluster.client.resource(deployments).namespace('default');
  await inDefault.create({
    metadata: { name },
    spec: { replicas: 1, selector: { matchLabels: { app: 'web' } }, template },
  });
  await cluster.clock.settle();
  return (await inDefault.get(name)).status.observedGeneration === 1;
}
const lease = async () =>
  (await cluster.client.resource(leases).namespace('kube-system').get('kube-controller-manager'))
    .spec;

describe('of two controller managers', () => {
  test('one works; the other does as soon as the first one lets go', async () => {
    stand('a_1');
    await cluster.clock.settle();
    stand('b_2');
    await cluster.clock.advance('1m');
    expect(leaders).toEqual(['a_1']);
    expect(await isWorkedOn('first')).toBe(true);
    expect(await lease()).toMatchObject({ holderIdentity: 'a_1', leaseDurationSeconds: 15 });
    stops[0]?.abort.abort();
    await cluster.clock.advance('5s');
    expect(leaders).toEqual(['b_2']);
    expect(await isWorkedOn('second')).toBe(true);
    const messages = (
      await cluster.client.resource(events).namespace('kube-system').list()
    ).items.map(({ message }) => message);
    expect(messages).toEqual(
      expect.arrayContaining(['a_1 became leader', 'a_1 stopped leading', 'b_2 became leader']),
    );
  });

  test('the one that is cut off stops before the other begins, and stands again when it is back', async () => {
    stand('a_1');
    await cluster.clock.settle();
    stand('b_2');
    await cluster.clock.advance('1m');
    dead.add('a_1');
    const history = ['a_1'];
    for (let second = 0; second < 40; second++) {
      await cluster.clock.advance('1s');
      expect(leaders.length).toBeLessThanOrEqual(1);
      const [now = 'nobody'] = leaders;
      if (now !== history.at(-1)) history.push(now);
    }
    expect(history).toEqual(['a_1', 'nobody', 'b_2']);
    expect(await isWorkedOn('second')).toBe(true);
    dead.delete('a_1');
    dead.add('b_2');
    await cluster.clock.advance('1m');
    expect(leaders).toEqual(['a_1']);
    expect(await isWorkedOn('third')).toBe(true);
    expect((await lease()).leaseTransitions).toBe(2);
  });
});

test('without election it works at once', async () => {
  stand('a_1', { leaderElect: false });
  await cluster.clock.settle();
  expect(await isWorkedOn('first')).toBe(true);
  await expect(lease()).rejects.toThrow(/not found/);
});
