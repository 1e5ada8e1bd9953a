import { mkdtemp, rm } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { Instruments } from '#machinery/metrics/instruments.ts';
import { duplexPair } from '#machinery/streams/duplex-pair.ts';
import { SeededRandom } from '#machinery/random.ts';
import { startHarness, type Harness } from '../testing/harness.ts';
import { KubeletMetrics } from './kubelet-metrics.ts';

let harness: Harness;
let logs: string;
beforeAll(async () => {
  logs = await mkdtemp(join(tmpdir(), 'kubelet-metrics-'));
  harness = await startHarness({ podLogsDir: logs, random: new SeededRandom('metrics') });
  await harness.createPod(
    'web',
    {
      containers: [
        {
          name: 'main',
          image: 'nginx',
          resources: { requests: { cpu: '250m' }, limits: { cpu: '500m', memory: '64Mi' } },
          readinessProbe: { exec: { command: ['true'] }, periodSeconds: 1 },
          livenessProbe: { exec: { command: ['false'] }, periodSeconds: 1, failureThreshold: 1000 },
        },
      ],
    },
    {
      annotations: {
        'simulation.coxswain.dev/cpu': '250m',
        'simulation.coxswain.dev/memory': '32Mi',
      },
    },
  );
  await harness.waitForPod('web', (pod) => pod.status.containerStatuses?.[0]?.ready === true);
  await harness.clock.advance('10s');
});
afterAll(async () => {
  await harness.stop();
  await rm(logs, { recursive: true, force: true });
});

function get(
  path: string,
  headers: Readonly<Record<string, string>> = {},
  method = 'GET',
): Promise<{ readonly code: number; readonly body: string }> {
  const [near, far] = duplexPair();
  harness.kubelet.handleConnection(far, { name: 'system:apiserver', groups: ['system:masters'] });
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      { host: 'kubelet', path, method, headers, agent: undefined, createConnection: () => near },
      (response) => {
        let body = '';
        response.on('data', (chunk: Buffer) => (body += chunk.toString()));
        response.on('end', () => resolve({ code: response.statusCode ?? 0, body }));
      },
    );
    sent.on('error', reject);
    sent.end();
  });
}

/** Returns sample lines by name, with sorted labels, without timestamps. */
function parse(
  text: string,
): Map<string, { readonly type: string; readonly samples: Map<string, number> }> {
  const families = new Map<string, { type: string; samples: Map<string, number> }>();
  for (const line of text.split('\n')) {
    const type = /^# TYPE (\S+) (\S+)$/.exec(line);
    if (type !== null) {
      // Prometheus rejects a text with a duplicate family.
      expect(families.has(type[1]!), type[1]).toBe(false);
      families.set(type[1]!, { type: type[2]!, samples: new Map() });
    }
    const sample = /^([a-z_]+)(?:\{(.*)\})? (\S+)(?: (\d+))?$/.exec(line);
    if (sample === null) {
      expect(line === '' || line.startsWith('#'), line).toBe(true);
      continue;
    }
    const [, name = '', labels = '', value = ''] = sample;
    const family = families.get(name) ?? families.get(name.replace(/_(?:bucket|sum|count)$/, ''));
    const sorted = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)]
      .map(([, label, text]) => `${label}=${text}`)
      .sort();
    family?.samples.set(sorted.join(','), Number(value));
    expect(family, line).toBeDefined();
  }
  return families;
}

/** Alpha metrics on common dashboards. test/scenarios/metrics has the stable and beta ones. */
const ON_DASHBOARDS: readonly (readonly [
  endpoint: string,
  name: string,
  type: string,
  labels: readonly string[],
])[] = [
  ['/metrics', 'kubelet_node_name', 'gauge', ['node']],
  ['/metrics', 'kubelet_running_pods', 'gauge', []],
  ['/metrics', 'kubelet_running_containers', 'gauge', ['container_state']],
  ['/metrics', 'kubelet_desired_pods', 'gauge', ['static']],
  ['/metrics', 'kubelet_started_pods_total', 'counter', []],
  ['/metrics', 'kubelet_started_containers_total', 'counter', ['container_type']],
  ['/metrics', 'kubelet_runtime_operations_total', 'counter', ['operation_type']],
  ['/metrics', 'kubelet_runtime_operations_duration_seconds', 'histogram', ['operation_type']],
  ['/metrics', 'kubelet_pod_start_duration_seconds', 'histogram', []],
  ['/metrics', 'kubelet_pod_worker_duration_seconds', 'histogram', ['operation_type']],
  ['/metrics', 'kubelet_pleg_relist_duration_seconds', 'histogram', []],
  ['/metrics', 'kubelet_pleg_relist_interval_seconds', 'histogram', []],
  ['/metrics', 'kubelet_run_podsandbox_duration_seconds', 'histogram', ['runtime_handler']],
  ['/metrics', 'kubelet_image_pull_duration_seconds', 'histogram', ['image_size_in_bytes']],
  ['/metrics', 'kubelet_pod_in_progress_resizes', 'gauge', []],
  [
    '/metrics',
    'kubelet_http_requests_total',
    'counter',
    ['long_running', 'method', 'path', 'server_type'],
  ],
  ['/metrics', 'process_start_time_seconds', 'gauge', []],
  [
    '/metrics/probes',
    'prober_probe_duration_seconds',
    'histogram',
    ['container', 'namespace', 'pod', 'probe_type'],
  ],
  [
    '/metrics/cadvisor',
    'container_cpu_usage_seconds_total',
    'counter',
    ['container', 'cpu', 'id', 'image', 'name', 'namespace', 'pod'],
  ],
  [
    '/metrics/cadvisor',
    'container_memory_working_set_bytes',
    'gauge',
    ['container', 'id', 'image', 'name', 'namespace', 'pod'],
  ],
  [
    '/metrics/cadvisor',
    'container_memory_rss',
    'gauge',
    ['container', 'id', 'image', 'name', 'namespace', 'pod'],
  ],
  [
    '/metrics/cadvisor',
    'container_spec_memory_limit_bytes',
    'gauge',
    ['container', 'id', 'image', 'name', 'namespace', 'pod'],
  ],
  [
    '/metrics/cadvisor',
    'container_spec_cpu_quota',
    'gauge',
    ['container', 'id', 'image', 'name', 'namespace', 'pod'],
  ],
  ['/metrics/cadvisor', 'machine_cpu_cores', 'gauge', ['boot_id', 'machine_id', 'system_uuid']],
  ['/metrics/cadvisor', 'machine_memory_bytes', 'gauge', ['boot_id', 'machine_id', 'system_uuid']],
];

test.each(ON_DASHBOARDS)('%s has %s', async (endpoint, name, type, labels) => {
  await get('/healthz');
  await get('/metrics');
  const { code, body } = await get(endpoint);
  expect(code).toBe(200);
  const family = parse(body).get(name);
  expect(family?.type).toBe(type);
  const [key = ''] = family?.samples.keys() ?? [];
  const names = key === '' ? [] : key.split(',').map((pair) => pair.replace(/=.*/s, ''));
  expect(names.filter((label) => label !== 'le')).toEqual(labels);
});

describe('values', () => {
  const web = 'container=main,namespace=default,pod=web';

  test('usage comes from the runtime', async () => {
    const first = parse((await get('/metrics/resource')).body);
    expect(first.get('container_memory_working_set_bytes')?.samples.get(web)).toBe(
      32 * 1024 * 1024,
    );
    expect(
      first.get('pod_memory_working_set_bytes')?.samples.get('namespace=default,pod=web'),
    ).toBe(32 * 1024 * 1024);
    await harness.clock.advance('20s');
    const second = parse((await get('/metrics/resource')).body);
    const used = (name: string, labels: string): number =>
      (second.get(name)?.samples.get(labels) ?? 0) - (first.get(name)?.samples.get(labels) ?? 0);
    expect(used('container_cpu_usage_seconds_total', web)).toBeCloseTo(5, 3);
    expect(used('pod_cpu_usage_seconds_total', 'namespace=default,pod=web')).toBeCloseTo(5, 3);
    // The node's own share is 20 thousandths of a CPU.
    expect(used('node_cpu_usage_seconds_total', '')).toBeCloseTo(5.4, 3);
  });

  test('an unresponsive runtime is a scrape error metric, not a failed scrape', async () => {
    const { runtime } = harness.runtime;
    const original = runtime.listContainerStats.bind(runtime);
    runtime.listContainerStats = () => Promise.reject(new Error('no answer'));
    const { code, body } = await get('/metrics/resource');
    const cadvisor = await get('/metrics/cadvisor');
    runtime.listContainerStats = original;
    expect(code).toBe(200);
    expect([...parse(body)].map(([name, { samples }]) => [name, samples.get('')])).toEqual([
      ['resource_scrape_error', 1],
      ['scrape_error', 1],
    ]);
    expect(cadvisor.code).toBe(200);
    const families = parse(cadvisor.body);
    expect(families.get('container_scrape_error')?.samples.get('')).toBe(1);
    expect([...families.keys()].filter((name) => !name.endsWith('_scrape_error'))).toEqual([
      'cadvisor_version_info',
      'machine_cpu_cores',
      'machine_memory_bytes',
    ]);
  });

  test('probes are counted by result, and dropped with their pod', async () => {
    const series = (probe: string, result: string) => (text: string) =>
      [...(parse(text).get('prober_probe_total')?.samples ?? [])].find(
        ([labels]) => labels.includes(`probe_type=${probe}`) && labels.includes(`result=${result}`),
      )?.[1] ?? 0;
    const { body } = await get('/metrics/probes');
    expect(series('Readiness', 'successful')(body)).toBeGreaterThan(5);
    expect(series('Liveness', 'failed')(body)).toBeGreaterThan(5);
    expect(series('Readiness', 'failed')(body)).toBe(0);
    await harness.createPod('short', {
      containers: [
        {
          name: 'c',
          image: 'nginx',
          readinessProbe: { exec: { command: ['true'] }, periodSeconds: 1 },
        },
      ],
    });
    await harness.waitForPod('short', (pod) => pod.status.containerStatuses?.[0]?.ready === true);
    expect((await get('/metrics/probes')).body).toContain('pod="short"');
    await harness.deletePod('short', 0);
    await harness.waitForGone('short');
    await harness.clock.runUntil(
      async () => !(await get('/metrics/probes')).body.includes('pod="short"'),
      '1m',
    );
  });

  test('the machine is the cgroup /, a pod has no container, and a container has both', async () => {
    const families = parse((await get('/metrics/cadvisor')).body);
    const working = [
      ...(families.get('container_memory_working_set_bytes')?.samples.entries() ?? []),
    ];
    const found = (pattern: RegExp): number | undefined =>
      working.find(([labels]) => pattern.test(labels))?.[1];
    expect(found(/^container=,id=\/,image=,name=,namespace=,pod=$/)).toBeGreaterThan(
      32 * 1024 * 1024,
    );
    expect(
      found(/^container=,id=\/kubepods\/pod[^,]*,image=,name=,namespace=default,pod=web$/),
    ).toBe(32 * 1024 * 1024);
    expect(found(/^container=main,/)).toBe(32 * 1024 * 1024);
    expect([...(families.get('container_processes')?.samples.values() ?? [])]).toEqual([1]);
    expect(families.get('container_scrape_error')?.samples.get('')).toBe(0);
  });

  test('limits of containers come from the pod', async () => {
    const { body } = await get('/metrics/cadvisor');
    const value = (name: string): number | undefined =>
      [...(parse(body).get(name)?.samples ?? [])].find(([labels]) =>
        labels.startsWith('container=main,'),
      )?.[1];
    expect(value('container_spec_memory_limit_bytes')).toBe(64 * 1024 * 1024);
    expect(value('container_spec_cpu_quota')).toBe(50_000);
    expect(value('container_spec_cpu_shares')).toBe(256);
    expect(value('container_memory_working_set_bytes')).toBe(32 * 1024 * 1024);
  });

  test('the summary has node, pods and containers', async () => {
    const { body } = await get('/stats/summary');
    expect(JSON.parse(body)).toMatchObject({
      node: { nodeName: 'node-1', cpu: { usageCoreNanoSeconds: expect.any(Number) as number } },
      pods: [
        {
          podRef: { name: 'web', namespace: 'default' },
          cpu: { usageNanoCores: 250e6 },
          memory: { workingSetBytes: 32 * 1024 * 1024 },
          process_stats: { process_count: 1 },
          containers: [{ name: 'main', rootfs: { usedBytes: 0 } }],
        },
      ],
    });
    const short = (await get('/stats/summary?only_cpu_and_memory=true')).body;
    expect(short).not.toContain('rootfs');
  });

  test('the configuration is a KubeletConfiguration with the effective values', async () => {
    expect(JSON.parse((await get('/configz')).body)).toMatchObject({
      kubeletconfig: {
        kind: 'KubeletConfiguration',
        apiVersion: 'kubelet.config.k8s.io/v1beta1',
        authentication: {
          anonymous: { enabled: false },
          webhook: { enabled: true, cacheTTL: '2m0s' },
        },
        authorization: { mode: 'Webhook' },
        clusterDNS: ['10.96.0.10'],
        maxPods: 110,
      },
    });
  });

  test('statusz, as text and as an object', async () => {
    const { body } = await get('/statusz');
    expect(body).toMatch(
      /^\nkubelet statusz\n[^]*\nBinary version: 1\.36\.3\nEmulation version: 1\.36\n/,
    );
    expect(body).toMatch(
      /\nEmulation version: 1\.36\nPaths: \/attach \/checkpoint [^\n]*\/statusz\n$/,
    );
    const accept = 'application/json;as=Statusz;v=v1beta1;g=config.k8s.io';
    expect(JSON.parse((await get('/statusz', { accept })).body)).toMatchObject({
      kind: 'Statusz',
      apiVersion: 'config.k8s.io/v1beta1',
      metadata: { name: 'kubelet' },
      binaryVersion: '1.36.3',
    });
    const unknown = await get('/statusz', { accept: 'application/json' });
    expect([unknown.code, (JSON.parse(unknown.body) as { reason: string }).reason]).toEqual([
      406,
      'NotAcceptable',
    ]);
  });

  test.each([
    ['/checkpoint/default/none/main', 404, 'pod does not exist\n'],
    ['/checkpoint/default/web/none', 404, 'container none does not exist\n'],
    ['/checkpoint/default/web/main?timeout=x', 404, 'cannot parse value of timeout parameter\n'],
    [
      '/checkpoint/default/web/main',
      500,
      'checkpointing of default/web/main failed (rpc error: code = Unimplemented desc = ' +
        'containers cannot be checkpointed)\n',
    ],
  ])('POST %s is %i', async (path, code, body) => {
    expect(await get(path, {}, 'POST')).toEqual({ code, body });
  });

  test('running pods come from the runtime', async () => {
    expect(JSON.parse((await get('/runningpods/')).body)).toMatchObject({
      kind: 'PodList',
      items: [
        {
          metadata: { name: 'web', namespace: 'default' },
          spec: {
            containers: [{ name: 'main', image: expect.stringContaining('nginx') as string }],
          },
        },
      ],
    });
  });

  test.each(['/pods', '/runningpods/', '/stats/summary'])(
    'the times of %s can be read by clients in Go',
    async (path) => {
      const times: unknown[] = [];
      JSON.parse((await get(path)).body, (key, value: unknown) => {
        if (/^(?!runtime$)[a-zA-Z]*[tT]ime(stamp)?$/.test(key) && value !== null) times.push(value);
        return value;
      });
      for (const time of times) expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
    },
  );

  test.each([
    ['/logs/', 405, 'logs endpoint is disabled.\n'],
    ['/debug/pprof/heap', 405, 'profiling endpoint is disabled.\n'],
    ['/debug/flags/v', 405, 'flags endpoint is disabled.\n'],
    ['/metrics/nothing', 404, '404 page not found\n'],
    ['/healthz/nothing', 404, '404 page not found\n'],
    ['/healthz', 200, 'ok'],
    ['/healthz/syncloop', 200, 'ok'],
    ['/healthz?verbose', 200, '[+]ping ok\n[+]log ok\n[+]syncloop ok\nhealthz check passed\n'],
    [
      '/healthz?verbose&exclude=log',
      200,
      '[+]ping ok\n[+]log excluded: ok\n[+]syncloop ok\nhealthz check passed\n',
    ],
    ['/statusz/more', 404, '404 page not found\n'],
    ['/flagz', 404, '404 page not found\n'],
    ['/checkpoint/default/web/main', 405, '405: Method Not Allowed\n'],
    ['/%zz', 400, 'Bad Request: URI malformed\n'],
  ])('%s is %i', async (path, code, body) => {
    expect(await get(path)).toEqual({ code, body });
  });
});

test('families are made when they are first used: a process may have thousands of kubelets', () => {
  const made = [
    vi.spyOn(Instruments.prototype, 'counter'),
    vi.spyOn(Instruments.prototype, 'histogram'),
  ];
  const metrics = new KubeletMetrics(new VirtualClock());
  const calls = (): number => made.reduce((sum, { mock }) => sum + mock.calls.length, 0);
  expect(calls()).toBe(0);
  metrics.podStarted(1);
  expect(calls()).toBe(1);
  vi.restoreAllMocks();
});
