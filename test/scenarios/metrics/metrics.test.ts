// Every metric that upstream calls stable or beta is published by the component that upstream
// names, with the same type, labels, buckets and stability. upstream.tsv has the facts, absent.tsv
// the metrics that cannot be published, with the reasons.

import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

import { endpoints, pods } from '#api/groups/core/v1/index.ts';
import { handle, send } from '#apiserver/testing/requests.ts';
import { startTestServer } from '#apiserver/testing/server.ts';
import { startCluster } from '#cluster/index.ts';
import { systemClock, VirtualClock } from '#machinery/clock.ts';
import { stabilityOf } from '#machinery/metrics/component-metrics.ts';
import { silentLogger } from '#machinery/log.ts';
import type { Pod } from '#scheduler/framework/objects.ts';
import { podResourcesText } from '#scheduler/metrics/pod-resources.ts';
import { openEmbeddedStorage } from '#storage/embedded/index.ts';

interface Fact {
  readonly name: string;
  readonly type: string;
  readonly stability: string;
  readonly labels: string;
  readonly buckets: string;
  readonly places: readonly Place[];
}

/**
 * The API server of a cluster publishes the metrics of the control plane's components as one text;
 * each kubelet publishes its own.
 */
type Place = 'control plane' | 'kubelet';
const PLACES: readonly Place[] = ['control plane', 'kubelet'];

interface Published {
  type: string;
  stability: string;
  /** The label sets of all samples. More than one: the samples do not agree. */
  readonly labels: Set<string>;
  readonly bounds: Set<number>;
  readonly seriesSeen: Set<string>;
  readonly repeated: string[];
}

const rows = (file: string): string[][] =>
  readFileSync(join(import.meta.dirname, file), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split('\t'));

const placesOf = (components: string): readonly Place[] => [
  ...new Set(
    components
      .split(',')
      .map((component): Place => (component === 'kubelet' ? 'kubelet' : 'control plane')),
  ),
];

const facts = rows('upstream.tsv').map(
  ([name = '', type = '', stability = '', labels = '', buckets = '', components = '']): Fact => {
    return { name, type, stability, labels, buckets, places: placesOf(components) };
  },
);
const absences = rows('absent.tsv').flatMap(([name = '', reason = '', components]) =>
  (components === undefined ? PLACES : placesOf(components)).map((place) => ({
    name,
    reason,
    place,
  })),
);
const isAbsent = (metric: string, at: Place): boolean =>
  absences.some(({ name, place }) => name === metric && place === at);
const published = facts.flatMap((fact) =>
  fact.places
    .filter((place) => !isAbsent(fact.name, place))
    .map((place) => [place, fact.name, fact] as const),
);

const families: Readonly<Record<Place, Map<string, Published>>> = {
  'control plane': new Map(),
  kubelet: new Map(),
};
/** Families whose heading occurs more than once in one text. */
const headedTwice: string[] = [];

/** Reads Prometheus' text form. */
function read(text: string, place: Place = 'control plane'): void {
  const known = families[place];
  const headed = new Set<string>();
  for (const line of text.split('\n')) {
    const help = /^# HELP (\S+) (?:\[(\w+)\])?/.exec(line);
    if (help !== null) {
      const name = help[1]!;
      if (headed.has(name)) headedTwice.push(name);
      headed.add(name);
      const earlier = known.get(name);
      if (earlier === undefined) {
        known.set(name, {
          type: '',
          stability: help[2] ?? 'ALPHA',
          labels: new Set(),
          bounds: new Set(),
          seriesSeen: new Set(),
          repeated: [],
        });
      } else earlier.seriesSeen.clear();
      continue;
    }
    const type = /^# TYPE (\S+) (\w+)$/.exec(line);
    if (type !== null) {
      known.get(type[1] as string)!.type = type[2]!;
      continue;
    }
    const sample = /^([\w:]+)(?:\{(.*)\})? \S+(?: \d+)?$/.exec(line);
    if (sample === null) continue;
    const [, series = '', labelText = ''] = sample;
    const family = known.get(series) ?? known.get(series.replace(/_(bucket|sum|count)$/, ''));
    if (family === undefined) throw new Error(`a sample without a heading: ${line}`);
    const id = `${series}{${labelText}}`;
    if (family.seriesSeen.has(id)) family.repeated.push(id);
    family.seriesSeen.add(id);
    const labels = [...labelText.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
    const bound = labels.find(([, name]) => name === 'le')?.[2];
    if (bound !== undefined && bound !== '+Inf') family.bounds.add(Number(bound));
    const names = labels.map(([, name]) => name as string).filter((name) => name !== 'le');
    family.labels.add(names.toSorted().join(','));
  }
}

const JOB = (name: string) => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name, namespace: 'default' },
  spec: {
    template: {
      spec: {
        restartPolicy: 'Never',
        containers: [{ name: 'c', image: 'busybox', command: ['sh', '-c', 'sleep 1'] }],
      },
    },
  },
});

const POLICY = [
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'no-secrets' },
    spec: {
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: [''],
            apiVersions: ['v1'],
            operations: ['CREATE'],
            resources: ['configmaps'],
          },
        ],
      },
      validations: [{ expression: "object.metadata.name != 'refused'" }],
    },
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: 'no-secrets' },
    spec: { policyName: 'no-secrets', validationActions: ['Deny'] },
  },
];

const DEPLOYMENT = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        containers: [
          {
            name: 'c',
            image: 'busybox',
            command: ['sh', '-c', 'sleep 100000'],
            resources: { requests: { cpu: '100m' }, limits: { memory: '64Mi' } },
            readinessProbe: { exec: { command: ['true'] } },
          },
        ],
      },
    },
  },
};

/** Runs a cluster with enough work for every counter of its components, and reads its metrics. */
async function clusterMetrics(): Promise<void> {
  const cluster = await startCluster({ clock: 'virtual', nodes: 2 });
  try {
    const { client, clock } = cluster;
    const { metadata, spec } = JOB('each-minute');
    const cronJob = { schedule: '* * * * *', jobTemplate: { spec } };
    await cluster.apply([
      JOB('once'),
      DEPLOYMENT,
      ...POLICY,
      { apiVersion: 'batch/v1', kind: 'CronJob', metadata, spec: cronJob },
    ]);
    await clock.advance('3m');
    const refused = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'refused', namespace: 'default' },
    };
    await expect(cluster.apply(refused)).rejects.toThrow('no-secrets');
    // A request for a deprecated resource.
    await client.resource(endpoints).list();
    // The order of the paths matters: health is checked before its results are read.
    // /metrics/cadvisor has no metrics of Kubernetes' own.
    for (const path of [
      '/healthz',
      '/metrics',
      '/metrics/probes',
      '/metrics/resource',
      '/metrics/slis',
    ]) {
      read(
        await client.transport.text({ method: 'GET', path: `/api/v1/nodes/node-1/proxy${path}` }),
        'kubelet',
      );
    }
    await cluster.stopNode('node-2');
    await clock.advance('15m');
    read(await client.transport.text({ method: 'GET', path: '/metrics' }));
    const { items } = await client.resource(pods).list();
    read(podResourcesText(items));
  } finally {
    await cluster.stop();
  }
}

/** A webhook whose address has no server, and a request that calls it. */
const CALLED_IN_VAIN = [
  [
    '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
    {
      metadata: { name: 'in-vain' },
      webhooks: [
        {
          name: 'in-vain.example.com',
          clientConfig: { url: 'https://127.0.0.1:1/' },
          rules: [
            {
              apiGroups: [''],
              apiVersions: ['v1'],
              operations: ['CREATE'],
              resources: ['configmaps'],
            },
          ],
          failurePolicy: 'Ignore',
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
        },
      ],
    },
  ],
  ['/api/v1/namespaces/default/configmaps', { metadata: { name: 'reviewed' } }],
] as const;

/** A priority level without shares, for one user. */
const NO_SEATS = [
  [
    '/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations',
    {
      metadata: { name: 'no-seats' },
      spec: {
        type: 'Limited',
        limited: {
          nominalConcurrencyShares: 0,
          borrowingLimitPercent: 0,
          limitResponse: { type: 'Reject' },
        },
      },
    },
  ],
  [
    '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas',
    {
      metadata: { name: 'no-seats' },
      spec: {
        priorityLevelConfiguration: { name: 'no-seats' },
        matchingPrecedence: 2,
        rules: [
          {
            subjects: [{ kind: 'User', user: { name: 'unlucky' } }],
            resourceRules: [
              { verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true },
            ],
          },
        ],
      },
    },
  ],
] as const;

const WATCH_LIST =
  '/api/v1/namespaces?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';

/**
 * Reads the metrics of a server alone, by requests as over a connection, with a store that has a
 * file.
 */
async function serverMetrics(): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'coxswain-metrics-'));
  const storage = await openEmbeddedStorage({ clock: systemClock, logger: silentLogger, dataDir });
  const t = await startTestServer({ clock: systemClock, storage });
  try {
    for (const path of ['/api/v1/namespaces', '/api/v1/namespaces/default', '/readyz'])
      await send(t.server, { path });
    for (const [path, body] of CALLED_IN_VAIN) {
      expect((await send(t.server, { method: 'POST', path, body })).code).toBe(201);
    }
    for (const [path, body] of NO_SEATS)
      expect((await send(t.server, { method: 'POST', path, body })).code).toBe(201);
    const user = { name: 'unlucky', groups: ['system:authenticated'] };
    // The level has one seat all the same, so one of two requests at a time is rejected.
    await vi.waitFor(
      async () => {
        const request = { path: '/api/v1/namespaces', user, rawHeaders: [] };
        const answers = await Promise.all([send(t.server, request), send(t.server, request)]);
        expect(answers.map(({ code }) => code)).toContain(429);
      },
      { timeout: 60_000 },
    );
    const { body } = await handle(t.server, { path: WATCH_LIST });
    if (body.kind === 'watch') body.events.stop();
    for (const path of ['/metrics', '/metrics/slis']) read((await send(t.server, { path })).text);
  } finally {
    await t.stop();
    await storage.close();
    await rm(dataDir, { recursive: true });
  }
}

beforeAll(async () => {
  await clusterMetrics();
  await serverMetrics();
});
afterAll(() => {
  for (const place of PLACES) families[place].clear();
});

describe('metrics of upstream', () => {
  test.each(published)('%s: %s', (place, name, fact) => {
    const family = families[place].get(name);
    if (family === undefined) throw new Error(`${name} is not published`);
    expect([family.type, [...family.labels], family.stability]).toEqual([
      fact.type,
      [fact.labels],
      fact.stability,
    ]);
    if (fact.buckets !== '')
      expect([...family.bounds]).toEqual(fact.buckets.split(' ').map(Number));
    expect(family.repeated).toEqual([]);
    expect(stabilityOf(name)).toBe(fact.stability);
  });

  test('absent metrics are not published, have a reason, and exist in upstream', () => {
    for (const { name, reason, place } of absences) {
      expect([place, name, families[place].has(name), reason !== '']).toEqual([
        place,
        name,
        false,
        true,
      ]);
      expect(facts.map((fact) => fact.name)).toContain(name);
    }
  });

  test('no other metric has the level stable, none has two headings, and no series is repeated', () => {
    for (const place of PLACES) {
      const known = facts.filter(({ places }) => places.includes(place)).map(({ name }) => name);
      for (const [name, { stability, repeated }] of families[place]) {
        if (stability !== 'ALPHA') expect(known).toContain(name);
        expect([name, repeated]).toEqual([name, []]);
      }
    }
    expect(headedTwice).toEqual([]);
  });
});

test('resources of pods: requests and limits, without terminated pods', async () => {
  const clock = new VirtualClock();
  const container = (requests: object, limits: object) => ({
    name: 'c',
    image: 'i',
    resources: { requests, limits },
  });
  const pod = (name: string, phase: string, containers: readonly object[]): Pod =>
    ({
      metadata: {
        name,
        namespace: 'default',
        creationTimestamp: new Date(clock.now()).toISOString(),
      },
      spec: {
        nodeName: 'node-1',
        schedulerName: 'default-scheduler',
        priority: 7,
        containers,
        overhead: { memory: '1Mi' },
      },
      status: { phase },
    }) as unknown as Pod;
  const text = podResourcesText([
    pod('a', 'Running', [
      container({ cpu: '250m' }, { memory: '1Mi' }),
      container({ cpu: '1' }, { memory: '1Mi' }),
    ]),
    pod('done', 'Succeeded', [container({ cpu: '1' }, {})]),
  ]);
  const of = 'namespace="default",pod="a",node="node-1",scheduler="default-scheduler",priority="7"';
  expect(text.split('\n').filter((line) => line.startsWith('kube_'))).toEqual([
    `kube_pod_resource_limit{${of},resource="memory",unit="bytes"} ${3 * 1024 * 1024}`,
    `kube_pod_resource_request{${of},resource="cpu",unit="cores"} 1.25`,
    `kube_pod_resource_request{${of},resource="memory",unit="bytes"} ${1024 * 1024}`,
  ]);
});
