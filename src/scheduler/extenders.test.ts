// A scheduler with an extender in its configuration, and an API server.

import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { pods } from '#api/groups/core/v1/index.ts';
import { startTestCluster, type TestCluster } from './testing/cluster.ts';

interface Asked {
  readonly NodeNames?: readonly string[];
  readonly PodName?: string;
  readonly PodNamespace?: string;
  readonly PodUID?: string;
  readonly Node?: string;
}

describe('an extender', () => {
  let cluster: TestCluster;
  let server: http.Server;
  let answers: Record<string, (body: Asked) => unknown>;
  const asked: string[] = [];

  beforeEach(async () => {
    cluster = await startTestCluster();
    for (const name of ['a', 'b', 'c']) await cluster.addNode(name);
    asked.length = 0;
    server = http.createServer((incoming, outgoing) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () => {
        const verb = incoming.url?.slice('/scheduler/'.length) ?? '';
        asked.push(verb);
        const answer = Promise.resolve(
          answers[verb]?.(JSON.parse(Buffer.concat(chunks).toString()) as Asked),
        );
        void answer.then((value) => outgoing.end(JSON.stringify(value)));
      });
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  });
  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await cluster.stop();
  });

  const configured = (extender: Record<string, unknown>) => ({
    configuration: {
      apiVersion: 'kubescheduler.config.k8s.io/v1',
      kind: 'KubeSchedulerConfiguration',
      extenders: [
        {
          urlPrefix: `http://127.0.0.1:${(server.address() as AddressInfo).port}/scheduler`,
          nodeCacheCapable: true,
          ...extender,
        },
      ],
    },
  });

  /** Waits for responses over a real network, which do not depend on the virtual clock. */
  async function until(condition: () => Promise<boolean>): Promise<void> {
    while (!(await condition())) {
      await new Promise((resolve) => setImmediate(resolve));
      await cluster.clock.settle();
    }
  }
  const isBound = (name: string) => async () => (await cluster.nodeOf(name)) !== undefined;

  test('filters, scores and binds', async () => {
    const bindings: Asked[] = [];
    answers = {
      filter: () => ({ NodeNames: ['a', 'b'], FailedNodes: { c: 'not today' } }),
      prioritize: () => [
        { Host: 'a', Score: 0 },
        { Host: 'b', Score: 10 },
      ],
      bind: async (body) => {
        bindings.push(body);
        const inNamespace = cluster.client.resource(pods).namespace(body.PodNamespace ?? '');
        const binding = {
          metadata: { name: body.PodName, uid: body.PodUID },
          target: { kind: 'Node', name: body.Node },
        };
        await inNamespace.subresource(body.PodName ?? '', 'binding', {
          apiVersion: 'v1',
          kind: 'Binding',
          ...binding,
        });
        return {};
      },
    };
    const extender = {
      filterVerb: 'filter',
      prioritizeVerb: 'prioritize',
      weight: 100,
      bindVerb: 'bind',
    };
    const { requests } = cluster.startScheduler(configured(extender));
    await cluster.addPod('p');
    await until(isBound('p'));
    expect(await cluster.nodeOf('p')).toBe('b');
    expect(bindings).toMatchObject([{ PodName: 'p', PodNamespace: 'default', Node: 'b' }]);
    expect(requests.filter((request) => request.endsWith('/binding'))).toEqual([]);
    expect(asked).toEqual(['filter', 'prioritize', 'bind']);
  });

  test('gives the reason why a pod has to wait, and is called again after any event', async () => {
    answers = {
      filter: ({ NodeNames = [] }) => ({
        NodeNames: [],
        FailedNodes: Object.fromEntries(NodeNames.map((name) => [name, 'full'])),
      }),
    };
    cluster.startScheduler(configured({ filterVerb: 'filter' }));
    await cluster.addPod('p');
    await until(async () => (await cluster.condition('p')) !== undefined);
    expect((await cluster.condition('p'))?.message).toBe(
      '0/3 nodes are available: 3 full. no new claims to deallocate, ' +
        'preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod.',
    );
    answers = { filter: ({ NodeNames }) => ({ NodeNames }) };
    await cluster.addNode('d');
    await cluster.clock.advance('2s');
    await until(isBound('p'));
  });

  test('that fails makes pods wait, and is retried', async () => {
    answers = { filter: () => ({ Error: 'out of order' }) };
    cluster.startScheduler(configured({ filterVerb: 'filter' }));
    await cluster.addPod('p');
    await until(async () => (await cluster.condition('p')) !== undefined);
    expect(await cluster.condition('p')).toMatchObject({
      reason: 'SchedulerError',
      message: 'out of order',
    });
    answers = { filter: ({ NodeNames }) => ({ NodeNames }) };
    await cluster.clock.advance('2s');
    await until(isBound('p'));
  });
});
