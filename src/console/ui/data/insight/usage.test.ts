import { expect, test } from 'vitest';
import { FakeServer, TestClock } from '../../testing/fake-server.ts';
import { Api } from '../server/api.ts';
import { Connection } from '../server/connection.ts';
import { Types } from '../server/discovery.ts';
import type { ResourceType } from '../server/resource-type.ts';
import { type Summary, usageOfItem, UsageReader, usagesOf } from './usage.ts';

const summaryAt = (time: string, cpu: number, more: Partial<Summary> = {}): Summary => ({
  node: { cpu: { time, usageCoreNanoSeconds: cpu }, memory: { workingSetBytes: 1000 } },
  pods: [
    {
      podRef: { namespace: 'shop', name: 'web' },
      cpu: { time, usageCoreNanoSeconds: cpu / 2 },
      memory: { workingSetBytes: 10 },
    },
  ],
  ...more,
});

test('a rate is the difference of two answers; a counter that went back gives none', () => {
  const first = summaryAt('2026-01-01T00:00:00Z', 10e9);
  const second = summaryAt('2026-01-01T00:00:10Z', 15e9);
  expect(usagesOf('n1', first, {})).toEqual({
    node: { namespace: '', name: 'n1', cpu: Number.NaN, memory: 1000 },
    pods: [{ namespace: 'shop', name: 'web', cpu: Number.NaN, memory: 10 }],
  });
  const { node, pods } = usagesOf('n1', second, first);
  expect(node.cpu).toBeCloseTo(0.5);
  expect(pods[0]?.cpu).toBeCloseTo(0.25);
  expect(usagesOf('n1', first, second).node.cpu).toBeNaN();
  const rated = { node: { cpu: { usageNanoCores: 250e6 } } };
  expect(usagesOf('n1', rated, {}).node).toMatchObject({ cpu: 0.25, memory: Number.NaN });
});

test('the usage of a pod is the sum of its containers', () => {
  expect(
    usageOfItem({
      metadata: { name: 'web', namespace: 'shop' },
      containers: [
        { usage: { cpu: '250m', memory: '1Mi' } },
        { usage: { cpu: '1', memory: '1Mi' } },
      ],
    }),
  ).toEqual({ namespace: 'shop', name: 'web', cpu: 1.25, memory: 2 ** 21 });
});

function readerOf(server: FakeServer): UsageReader {
  return new UsageReader(
    new Api(server.fetch, new Connection(new TestClock(), async () => undefined)),
  );
}
const request = (types: readonly ResourceType[], more: object = {}) => ({
  types: new Types(types),
  nodes: ['n1', 'n2'],
  what: 'pods' as const,
  namespace: '',
  signal: new AbortController().signal,
  ...more,
});

test('without metrics.k8s.io kubelets are asked, and one that fails is named', async () => {
  const server = new FakeServer();
  server.nextJson(summaryAt('2026-01-01T00:00:00Z', 10e9));
  server.nextJson({ message: 'the kubelet is away' }, 502);
  const { source, nodes, pods, failures } = await readerOf(server).read(request([]));
  expect(source).toBe('kubelets');
  expect(server.requests.map(({ pathname }) => pathname)).toEqual([
    '/api/v1/nodes/n1/proxy/stats/summary',
    '/api/v1/nodes/n2/proxy/stats/summary',
  ]);
  expect(nodes.map(({ name }) => name)).toEqual(['n1']);
  expect(pods.map(({ name }) => name)).toEqual(['web']);
  expect([...failures]).toEqual([['n2', 'the kubelet is away']]);
});

test('a user who may ask no kubelet gets the reason', async () => {
  const server = new FakeServer();
  for (let n = 0; n < 2; n++) server.nextJson({ message: 'cannot get nodes/proxy' }, 403);
  await expect(readerOf(server).read(request([]))).rejects.toThrow('cannot get nodes/proxy');
});

test('metrics.k8s.io is asked if the server has it', async () => {
  const server = new FakeServer();
  server.nextJson({ items: [{ metadata: { name: 'web', namespace: 'shop' }, containers: [] }] });
  const type = { group: 'metrics.k8s.io', version: 'v1beta1', resource: 'pods' } as ResourceType;
  const { source, pods } = await readerOf(server).read(request([type], { namespace: 'shop' }));
  expect(source).toBe('metrics.k8s.io');
  expect(server.requests[0]?.pathname).toBe('/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods');
  expect(pods).toHaveLength(1);
});
