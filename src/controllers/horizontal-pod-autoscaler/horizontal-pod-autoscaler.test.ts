import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { replicaSets } from '#api/groups/apps/v1/index.ts';
import {
  type HorizontalPodAutoscaler,
  horizontalPodAutoscalers,
} from '#api/groups/autoscaling/v2/index.ts';
import { events, type Pod, pods } from '#api/groups/core/v1/index.ts';
import type { Immutable, New } from '#api/machinery/meta/v1/index.ts';
import { createClient } from '#client/create-client.ts';
import type { Transport, TransportRequest } from '#client/transport.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { ControllerConfig } from '../controller.ts';
import { ReplicaManager, replicaSetKind } from '../replicaset/index.ts';
import { readyPods } from '../testing/ready-pods.ts';
import { disturb } from '../testing/robustness.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { HorizontalPodAutoscalerController } from './index.ts';
import { limit, type Past, type Wish } from './limits.ts';
import { averageOf, type Calculation, replicasFor, utilizationOf } from './replicas.ts';

type Spec = New<HorizontalPodAutoscaler['spec']>;

describe('the number of pods for a metric', () => {
  const now = Date.UTC(2026, 0, 1, 1);
  const at = (ms: number): string => new Date(now + ms).toISOString();
  const pod = (
    name: string,
    { phase = 'Running', ready = true, started = -3_600_000 } = {},
  ): Immutable<Pod> =>
    ({
      metadata: { name },
      spec: { containers: [{ name: 'c', resources: { requests: { cpu: '1' } } }] },
      status: {
        phase,
        startTime: at(started),
        conditions: [
          { type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: at(started) },
        ],
      },
    }) as unknown as Immutable<Pod>;
  const three = [pod('a'), pod('b'), pod('c')];
  const wanted = (
    used: Record<string, number>,
    target: number,
    more: Partial<Calculation> = {},
  ): number => {
    const selected = more.pods ?? three;
    const requests = new Map(selected.map(({ metadata }) => [metadata.name, 1000]));
    return replicasFor({
      pods: selected,
      metrics: new Map(
        Object.entries(used).map(([name, value]) => [name, { value, at: now, windowMs: 60_000 }]),
      ),
      isCpu: true,
      current: selected.length,
      tolerances: { up: 0.1, down: 0.1 },
      now,
      usage: (metrics) => utilizationOf(metrics, requests, target),
      assumed: () => Math.max(100, target) * 10,
      ...more,
    }).replicas;
  };

  test.each<[string, Record<string, number>, number, number]>([
    ['more', { a: 500, b: 500, c: 500 }, 30, 5],
    ['fewer', { a: 100, b: 300, c: 500 }, 50, 2],
    ['as many, within the tolerance', { a: 500, b: 510, c: 520 }, 50, 3],
    ['fewer, but those that do not tell count as fully used', { a: 400, b: 400 }, 50, 3],
    ['more, but those that do not tell count as idle', { a: 950, b: 950 }, 50, 4],
  ])('%s', (_, used, target, replicas) => expect(wanted(used, target)).toBe(replicas));

  test('ignores pods that are starting when it scales up', () => {
    const starting = [pod('a'), pod('b'), pod('c', { started: -60_000, ready: false })];
    expect(wanted({ a: 600, b: 600, c: 5000 }, 50, { pods: starting })).toBe(3);
    expect(
      wanted({ a: 600, b: 600, c: 5000 }, 50, {
        pods: [pod('a'), pod('b'), pod('c', { phase: 'Pending' })],
      }),
    ).toBe(3);
    expect(
      wanted({ a: 900, b: 900, c: 900 }, 30, {
        pods: [pod('a'), pod('b'), pod('c', { phase: 'Failed' })],
      }),
    ).toBe(6);
  });

  test('reports why there is no result', () => {
    expect(() => wanted({}, 50, { pods: [] })).toThrow(
      'no pods returned by selector while calculating replica count',
    );
    expect(() => wanted({}, 50)).toThrow(
      'did not receive metrics for targeted pods (pods might be unready)',
    );
    expect(() => wanted({ x: 5 }, 50)).toThrow('no metrics returned matched known pods');
    expect(averageOf(new Map([['a', { value: 30, at: 0, windowMs: 1 }]]), 10)).toEqual({
      ratio: 3,
      average: 30,
    });
  });
});

describe('the limits of a change', () => {
  const NOTHING: Past = { recommendations: [], ups: [], downs: [] };
  const HOUR = 3_600_000;
  const wish = (change: Partial<Wish>): Wish => ({
    current: 5,
    desired: 5,
    min: 1,
    max: 100,
    behavior: undefined,
    ...change,
  });
  const pods4 = { type: 'Pods', value: 4, periodSeconds: 60 };
  const half = { type: 'Percent', value: 50, periodSeconds: 60 };
  const up = (more: object, past = NOTHING, current = 5) =>
    limit(
      wish({ current, desired: 90, behavior: { scaleUp: { policies: [pods4, half], ...more } } }),
      past,
      HOUR,
    ).replicas;
  const down = (more: object, past = NOTHING, current = 20) =>
    limit(
      wish({
        current,
        desired: 1,
        behavior: {
          scaleDown: { stabilizationWindowSeconds: 0, policies: [pods4, half], ...more },
        },
      }),
      past,
      HOUR,
    ).replicas;

  test.each<[string, Partial<Wish>, number, string, string]>([
    ['as wished', { desired: 7 }, 7, 'ReadyForNewScale', 'DesiredWithinRange'],
    ['twice at most', { desired: 50 }, 10, 'ReadyForNewScale', 'ScaleUpLimit'],
    ['four at least', { current: 1, desired: 50 }, 4, 'ReadyForNewScale', 'ScaleUpLimit'],
    ['the maximum', { desired: 9, max: 6 }, 6, 'ReadyForNewScale', 'TooManyReplicas'],
    ['the minimum', { desired: 1, min: 3 }, 3, 'ReadyForNewScale', 'TooFewReplicas'],
  ])('without rules: %s', (_, change, replicas, able, limited) => {
    const found = limit(wish(change), NOTHING, HOUR);
    expect([found.replicas, ...found.news.map(({ reason }) => reason)]).toEqual([
      replicas,
      able,
      limited,
    ]);
  });

  test('scales down only if no recent recommendation was higher', () => {
    const past = (minutes: number): Past => ({
      ...NOTHING,
      recommendations: [{ at: HOUR - minutes * 60_000, replicas: 8 }],
    });
    const found = limit(wish({ current: 8, desired: 2 }), past(4), HOUR);
    expect([found.replicas, found.news[0]?.reason]).toEqual([8, 'ScaleDownStabilized']);
    expect(limit(wish({ current: 8, desired: 2 }), past(6), HOUR).replicas).toBe(2);
  });

  test('scales up by policies, counting changes in their period', () => {
    expect([up({}), up({ selectPolicy: 'Min' }), up({ selectPolicy: 'Disabled' })]).toEqual([
      9, 8, 5,
    ]);
    expect(up({}, { ...NOTHING, ups: [{ at: HOUR - 30_000, replicas: 4 }] }, 9)).toBe(9);
    expect(up({}, { ...NOTHING, ups: [{ at: HOUR - 61_000, replicas: 4 }] }, 9)).toBe(14);
    expect(up({}, { ...NOTHING, downs: [{ at: HOUR - 30_000, replicas: 5 }] })).toBe(15);
  });

  test('scales down by policies', () => {
    expect([down({}), down({ selectPolicy: 'Min' }), down({ selectPolicy: 'Disabled' })]).toEqual([
      10, 16, 20,
    ]);
    expect(down({}, { ...NOTHING, downs: [{ at: HOUR - 30_000, replicas: 10 }] }, 10)).toBe(10);
  });

  test('waits for the stabilization windows', () => {
    const behavior = { scaleUp: { stabilizationWindowSeconds: 60, policies: [pods4] } };
    const past = { ...NOTHING, recommendations: [{ at: HOUR - 30_000, replicas: 6 }] };
    const found = limit(wish({ desired: 9, behavior }), past, HOUR);
    expect([found.replicas, found.news[0]?.reason]).toEqual([6, 'ScaleUpStabilized']);
  });
});

const labels = { app: 'web' };
const webSet = (replicas: number) => ({
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    replicas,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: {
        containers: [
          { name: 'c', image: 'i', resources: { requests: { cpu: '1', memory: '1000' } } },
        ],
      },
    },
  },
});
const autoscaler = (spec: Partial<Spec> = {}, name = 'a'): New<HorizontalPodAutoscaler> => ({
  metadata: { name, namespace: 'default' },
  spec: {
    scaleTargetRef: { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web' },
    minReplicas: 2,
    maxReplicas: 10,
    ...spec,
  },
});

/** Serves the metrics APIs from `answer`. */
function withMetrics(inner: Transport, answer: (request: TransportRequest) => unknown): Transport {
  return {
    request: async <T>(request: TransportRequest): Promise<T> => {
      const answered =
        request.path.includes('.metrics.k8s.io/') || request.path.includes('/metrics.k8s.io/')
          ? answer(request)
          : undefined;
      return answered === undefined ? inner.request<T>(request) : (answered as T);
    },
    watch: (request) => inner.watch(request),
    text: (request) => inner.text(request),
    stream: (request) => inner.stream(request),
    close: () => inner.close(),
  };
}

describe('HorizontalPodAutoscalerController', () => {
  let cluster: TestCluster;
  beforeEach(async () => {
    cluster = await startTestCluster();
    await cluster.run((config) => new ReplicaManager({ ...config, kind: replicaSetKind }));
    await cluster.run(readyPods());
  });
  afterEach(() => cluster.stop());

  const replicas = async () =>
    (await cluster.client.resource(replicaSets).namespace('default').get('web')).spec.replicas;
  const statusOf = async (name = 'a') =>
    (await cluster.client.resource(horizontalPodAutoscalers).namespace('default').get(name)).status;
  const conditions = async (name = 'a') =>
    Object.fromEntries(
      ((await statusOf(name)).conditions ?? []).map(({ type, status, reason }) => [
        type,
        `${status} ${reason}`,
      ]),
    );
  const eventTexts = async () =>
    (await cluster.client.resource(events).namespace('default').list()).items
      .filter(({ source }) => source.component === 'horizontal-pod-autoscaler')
      .map(({ reason, message }) => `${reason}: ${message}`);
  const start = async (answer: (request: TransportRequest) => unknown = () => undefined) => {
    await cluster.clock.settle();
    await cluster.run((config) => {
      const client = createClient(withMetrics(config.client.transport, answer));
      return new HorizontalPodAutoscalerController({ ...config, client });
    });
    await cluster.clock.settle();
  };
  /**
   * Serves pod metrics. `memory`: returns the current memory of each pod. Unlike CPU, memory counts
   * also while a pod starts.
   */
  const memoryOf = (memory: () => string) => async (): Promise<unknown> => {
    const { items } = await cluster.client.resource(pods).namespace('default').list();
    const timestamp = new Date(cluster.clock.now()).toISOString();
    const containers = [{ name: 'c', usage: { memory: memory() } }];
    return {
      items: items.map(({ metadata: { name } }) => ({
        metadata: { name },
        timestamp,
        window: '30s',
        containers,
      })),
    };
  };

  test('has as many pods as their load needs, and fewer when it has been low for long', async () => {
    let memory = '1600';
    await cluster.client.resource(replicaSets).create(webSet(2));
    await cluster.client.resource(horizontalPodAutoscalers).create(
      autoscaler({
        metrics: [
          {
            type: 'Resource',
            resource: { name: 'memory', target: { type: 'Utilization', averageUtilization: 80 } },
          },
        ],
      }),
    );
    await cluster.clock.advance('10m');
    const answer = memoryOf(() => memory);
    await cluster.run((config) => {
      const transport = config.client.transport;
      const asking: Transport = {
        ...withMetrics(transport, () => undefined),
        request: async <T>(request: TransportRequest) =>
          request.path.includes('/metrics.k8s.io/')
            ? ((await answer()) as T)
            : transport.request<T>(request),
      };
      return new HorizontalPodAutoscalerController({ ...config, client: createClient(asking) });
    });
    await cluster.clock.settle();
    expect(await replicas()).toBe(4);
    expect(await statusOf()).toMatchObject({
      currentReplicas: 2,
      desiredReplicas: 4,
      lastScaleTime: expect.any(String),
      currentMetrics: [
        {
          type: 'Resource',
          resource: { name: 'memory', current: { averageUtilization: 160, averageValue: '1600' } },
        },
      ],
    });
    expect(await eventTexts()).toEqual([
      'SuccessfulRescale: New size: 4; reason: memory resource utilization (percentage of request) above target',
    ]);
    memory = '800';
    await cluster.clock.advance('1m');
    expect(await replicas()).toBe(4);
    memory = '200';
    await cluster.clock.advance('4m');
    expect(await replicas()).toBe(4);
    expect(await conditions()).toEqual({
      AbleToScale: 'True ScaleDownStabilized',
      ScalingActive: 'True ValidMetricFound',
      ScalingLimited: 'False DesiredWithinRange',
    });
    await cluster.clock.advance('6m');
    expect(await replicas()).toBe(2);
    expect(await eventTexts()).toContain(
      'SuccessfulRescale: New size: 2; reason: All metrics below target',
    );
    const requests = cluster.faults.requests.length;
    await cluster.clock.advance('10m');
    expect(
      cluster.faults.requests
        .slice(requests)
        .filter((each) => /^(PUT|POST|PATCH) .*autoscal|scale$/.test(each)),
    ).not.toContainEqual(expect.stringMatching(/^PUT .*scale$/));
  });

  test('reports missing metrics APIs', async () => {
    await cluster.client.resource(replicaSets).create(webSet(3));
    await cluster.client.resource(horizontalPodAutoscalers).create(autoscaler());
    await start();
    const why =
      'failed to get cpu utilization: unable to get metrics for resource cpu: unable to ' +
      'fetch metrics from resource metrics API: ' +
      'the server could not find the requested resource (get pods.metrics.k8s.io)';
    expect(await conditions()).toEqual({
      AbleToScale: 'True SucceededGetScale',
      ScalingActive: 'False FailedGetResourceMetric',
    });
    expect((await statusOf()).conditions?.[1]?.message).toBe(
      `the HPA was unable to compute the replica count: ${why}`,
    );
    expect((await eventTexts()).toSorted().toReversed()).toEqual([
      `FailedGetResourceMetric: ${why}`,
      'FailedComputeMetricsReplicas: invalid metrics (1 invalid out of 1), first error is: ' +
        `failed to get cpu resource metric value: ${why}`,
    ]);
    expect(await replicas()).toBe(3);
  });

  test.each<[string, Partial<Spec>, number, number, string]>([
    ['too many', { maxReplicas: 3 }, 5, 3, 'Current number of replicas above Spec.MaxReplicas'],
    ['too few', { minReplicas: 4 }, 1, 4, 'Current number of replicas below Spec.MinReplicas'],
  ])('keeps the bounds: %s', async (_, spec, before, after, why) => {
    await cluster.client.resource(replicaSets).create(webSet(before));
    await cluster.client.resource(horizontalPodAutoscalers).create(autoscaler(spec));
    await start();
    expect(await replicas()).toBe(after);
    expect(await eventTexts()).toContain(`SuccessfulRescale: New size: ${after}; reason: ${why}`);
  });

  test('reports unreadable metrics', async () => {
    await cluster.client.resource(replicaSets).create(webSet(0));
    await cluster.client.resource(horizontalPodAutoscalers).create(autoscaler());
    cluster.faults.fail('PUT', /status$/, () => apierrors.internalError('disk on fire'));
    await start();
    expect(await eventTexts()).toContain(
      'FailedUpdateStatus: Internal error occurred: disk on fire',
    );
    await cluster.clock.advance('1m');
    expect(await conditions()).toHaveProperty('ScalingActive', 'False ScalingDisabled');
  });

  test('leaves alone targets that are scaled to zero or do not exist', async () => {
    await cluster.client.resource(replicaSets).create(webSet(0));
    await cluster.client.resource(horizontalPodAutoscalers).create(autoscaler());
    const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'gone' };
    await cluster.client
      .resource(horizontalPodAutoscalers)
      .create(autoscaler({ scaleTargetRef }, 'b'));
    const odd = { apiVersion: 'example.com/v1', kind: 'Odd', name: 'x' };
    await cluster.client
      .resource(horizontalPodAutoscalers)
      .create(autoscaler({ scaleTargetRef: odd }, 'c'));
    await start();
    expect(await replicas()).toBe(0);
    expect(await conditions()).toEqual({
      AbleToScale: 'True SucceededGetScale',
      ScalingActive: 'False ScalingDisabled',
    });
    expect(await conditions('b')).toEqual({ AbleToScale: 'False FailedGetScale' });
    expect((await statusOf('c')).conditions?.[0]?.message).toContain(
      'no matches for kind "Odd" in group "example.com"',
    );
  });

  test('rejects two autoscalers that select the same pods', async () => {
    await cluster.client.resource(replicaSets).create(webSet(3));
    await cluster.client.resource(horizontalPodAutoscalers).create(autoscaler());
    await cluster.client.resource(horizontalPodAutoscalers).create(autoscaler({}, 'b'));
    await cluster.clock.settle();
    await start();
    await cluster.clock.advance('1m');
    expect(await conditions()).toMatchObject({ ScalingActive: 'False AmbiguousSelector' });
    expect(await conditions('b')).toMatchObject({ ScalingActive: 'False AmbiguousSelector' });
  });

  const metric = (value: string) => ({
    items: [{ describedObject: { name: 'x' }, timestamp: '2026-01-01T00:00:00Z', value }],
  });
  const identifier = { name: 'queue' };
  test.each<[string, object, object, number]>([
    [
      'external',
      {
        type: 'External',
        external: { metric: identifier, target: { type: 'AverageValue', averageValue: '10' } },
      },
      metric('35'),
      4,
    ],
    [
      'external',
      {
        type: 'External',
        external: { metric: identifier, target: { type: 'Value', value: '10' } },
      },
      metric('20'),
      4,
    ],
    [
      'object',
      {
        type: 'Object',
        object: {
          describedObject: { apiVersion: 'v1', kind: 'Service', name: 's' },
          metric: identifier,
          target: { type: 'Value', value: '4' },
        },
      },
      metric('6'),
      3,
    ],
  ])('asks for metrics of others: %s', async (_, spec, answer, after) => {
    await cluster.client.resource(replicaSets).create(webSet(2));
    await cluster.client.resource(horizontalPodAutoscalers).create(autoscaler({ metrics: [spec] }));
    await cluster.clock.settle();
    await start(() => answer);
    expect(await replicas()).toBe(after);
  });
});

test('reaches the same outcome after every fault', async () => {
  const { outcome, disturbed } = await disturb({
    subject: (config: ControllerConfig) => new HorizontalPodAutoscalerController(config),
    steps: [
      async ({ client }) => void (await client.resource(replicaSets).create(webSet(1))),
      async ({ client }) =>
        void (await client.resource(horizontalPodAutoscalers).create(autoscaler())),
    ],
    outcome: [replicaSets],
    rest: '1m',
  });
  expect(outcome).toMatchObject([{ spec: { replicas: 2 } }]);
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});
