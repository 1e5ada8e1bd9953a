import { describe, expect, test } from 'vitest';
import type { PluginRegistration } from '../framework/handle.ts';
import type { ScorePlugin } from '../framework/plugin.ts';
import { inTreeRegistry, registryOf } from '../plugins/registry.ts';
import { makeHandle } from '../testing/handle.ts';
import { readConfiguration } from './configuration.ts';
import { resolveProfile } from '../profile.ts';

const header = { apiVersion: 'kubescheduler.config.k8s.io/v1', kind: 'KubeSchedulerConfiguration' };
const read = (fields: Record<string, unknown>) => readConfiguration({ ...header, ...fields });

describe('readConfiguration', () => {
  test('has defaults for everything', () => {
    const configuration = readConfiguration(undefined);
    expect(configuration).toEqual(readConfiguration(header));
    expect(configuration).toEqual({
      podInitialBackoffSeconds: 1,
      podMaxBackoffSeconds: 10,
      percentageOfNodesToScore: 0,
      leaderElection: {
        leaderElect: false,
        leaseDurationMs: 15_000,
        renewDeadlineMs: 10_000,
        retryPeriodMs: 2000,
        resourceNamespace: 'kube-system',
        resourceName: 'kube-scheduler',
      },
      delayCacheUntilActive: false,
      profiles: [
        {
          schedulerName: 'default-scheduler',
          path: 'profiles[0]',
          percentageOfNodesToScore: undefined,
          plugins: {},
          pluginConfig: new Map(),
        },
      ],
      extenders: [],
    });
  });

  test('reads all fields', () => {
    const configuration = read({
      podInitialBackoffSeconds: 2,
      podMaxBackoffSeconds: 20,
      percentageOfNodesToScore: 30,
      leaderElection: {
        leaderElect: true,
        leaseDuration: '1m0s',
        renewDeadline: '30s',
        retryPeriod: '500ms',
        resourceName: 'mine',
      },
      profiles: [
        {
          schedulerName: 'a',
          plugins: {
            score: { enabled: [{ name: 'Random', weight: 5 }], disabled: [{ name: '*' }] },
          },
        },
        {
          schedulerName: 'b',
          percentageOfNodesToScore: 100,
          pluginConfig: [{ name: 'NodeResourcesFit', args: { x: 1 } }],
        },
      ],
    });
    expect(configuration).toMatchObject({
      podInitialBackoffSeconds: 2,
      podMaxBackoffSeconds: 20,
      percentageOfNodesToScore: 30,
    });
    expect(configuration.leaderElection).toMatchObject({
      leaderElect: true,
      leaseDurationMs: 60_000,
      retryPeriodMs: 500,
      resourceName: 'mine',
    });
    expect(configuration.profiles[0]?.plugins.score).toEqual({
      enabled: [{ name: 'Random', weight: 5 }],
      disabled: ['*'],
    });
    expect(configuration.profiles[1]).toMatchObject({
      percentageOfNodesToScore: 100,
      pluginConfig: new Map([
        ['NodeResourcesFit', { value: { x: 1 }, path: 'profiles[1].pluginConfig[0].args' }],
      ]),
    });
  });

  test.each([
    ['text', 'profiles: []', /must be an object/],
    [
      'another version',
      { ...header, apiVersion: 'kubescheduler.config.k8s.io/v1beta3' },
      /apiVersion: Unsupported value: "kubescheduler.config.k8s.io\/v1beta3"/,
    ],
    ['no kind', { apiVersion: header.apiVersion }, /kind: Required value/],
    [
      'an unknown field',
      { ...header, percentageOfNodes: 5 },
      /percentageOfNodes: Forbidden: unknown field/,
    ],
    [
      'a field without effect here',
      { ...header, parallelism: 16 },
      /parallelism: Forbidden: nodes are filtered and scored in one thread/,
    ],
    [
      'text for a number',
      { ...header, podMaxBackoffSeconds: '10' },
      /podMaxBackoffSeconds: Invalid value: "10": must be an integer/,
    ],
    [
      'a percentage out of range',
      { ...header, percentageOfNodesToScore: 101 },
      /percentageOfNodesToScore: Invalid value: 101: not in valid range \[0-100\]/,
    ],
    [
      'backoffs that shrink',
      { ...header, podInitialBackoffSeconds: 20 },
      /must be greater than or equal to PodInitialBackoffSeconds/,
    ],
    [
      'a profile twice',
      { ...header, profiles: [{ schedulerName: 'a' }, { schedulerName: 'a' }] },
      /profiles\[1\]\.schedulerName: Duplicate value: "a"/,
    ],
    [
      'two profiles without names',
      { ...header, profiles: [{}, {}] },
      /profiles\[0\]\.schedulerName: Required value/,
    ],
    [
      'an unknown extension point',
      { ...header, profiles: [{ plugins: { prefilter: {} } }] },
      /plugins\.prefilter: Forbidden: unknown field/,
    ],
    [
      'a weight for a filter',
      {
        ...header,
        profiles: [{ plugins: { filter: { enabled: [{ name: 'NodeName', weight: 2 }] } } }],
      },
      /only scores have weights/,
    ],
    [
      'a plugin without name',
      { ...header, profiles: [{ plugins: { filter: { enabled: [{}] } } }] },
      /enabled\[0\]\.name: Required value/,
    ],
    [
      'arguments twice',
      { ...header, profiles: [{ pluginConfig: [{ name: 'A' }, { name: 'A' }] }] },
      /Duplicate value: "A"/,
    ],
    [
      'a duration without unit',
      { ...header, leaderElection: { leaseDuration: '15' } },
      /missing unit in duration/,
    ],
    [
      'no backoff',
      { ...header, podInitialBackoffSeconds: 0 },
      /podInitialBackoffSeconds: Invalid value: 0: must be greater than 0/,
    ],
    [
      'retries after the deadline',
      { ...header, leaderElection: { retryPeriod: '10s' } },
      /RenewDeadline must be greater than RetryPeriod/,
    ],
    [
      'a lease without name',
      { ...header, leaderElection: { resourceName: '' } },
      /resourceName: Required value: resourceName is required/,
    ],
    [
      'a deadline after the lease',
      { ...header, leaderElection: { leaseDuration: '5s' } },
      /LeaseDuration must be greater than RenewDeadline/,
    ],
  ])('refuses %s', (_what, value, message) => {
    expect(() => readConfiguration(value)).toThrow(message);
  });

  test('reports every problem at once', () => {
    expect(() => read({ podMaxBackoffSeconds: 0, percentageOfNodesToScore: -1, foo: 1 })).toThrow(
      /podMaxBackoffSeconds.*percentageOfNodesToScore|foo.*podMaxBackoffSeconds.*percentageOfNodesToScore/,
    );
  });
});

describe('extenders', () => {
  const url = 'http://127.0.0.1:1';
  const extender = (fields: Record<string, unknown>) => () =>
    read({ extenders: [{ urlPrefix: url, ...fields }] });

  test('have defaults, and ignorable ones come last', () => {
    const { extenders } = read({
      extenders: [
        { urlPrefix: url, ignorable: true },
        { urlPrefix: `${url}/2`, bindVerb: 'bind' },
      ],
    });
    expect(extenders.map(({ urlPrefix }) => urlPrefix)).toEqual([`${url}/2`, url]);
    expect(extenders[1]).toMatchObject({
      filterVerb: '',
      weight: 0,
      timeoutMs: 5000,
      enableHttps: false,
      nodeCacheCapable: false,
      managedResources: [],
    });
  });

  test('exclude their resources from those that are counted here', () => {
    const managedResources = [
      { name: 'example.com/gpu', ignoredByScheduler: true },
      { name: 'example.com/fpga' },
    ];
    const profiles = [
      { pluginConfig: [{ name: 'NodeResourcesFit', args: { ignoredResources: ['x.com/y'] } }] },
    ];
    const [profile] = read({
      extenders: [{ urlPrefix: url, managedResources }],
      profiles,
    }).profiles;
    expect(profile?.pluginConfig.get('NodeResourcesFit')?.value).toEqual({
      ignoredResources: ['example.com/gpu'],
    });
  });

  test.each<[string, Record<string, unknown>, RegExp]>([
    ['no URL', { urlPrefix: '' }, /extenders\[0\]\.urlPrefix: Required value/],
    ['another scheme', { urlPrefix: 'ftp://x' }, /must be a URL of the scheme http or https/],
    [
      'scores without weight',
      { prioritizeVerb: 'p' },
      /weight: Invalid value: 0: must have a positive weight applied to it/,
    ],
    [
      'resources of Kubernetes',
      { managedResources: [{ name: 'cpu' }] },
      /name: Invalid value: "cpu": is an invalid extended resource name/,
    ],
    [
      'a resource twice',
      { managedResources: [{ name: 'a.b/c' }, { name: 'a.b/c' }] },
      /managedResources\[1\]\.name: Invalid value: "a\.b\/c": duplicate extender managed resource name/,
    ],
    ['an unknown field', { filter: 'x' }, /unknown field "filter"/],
    [
      'certificates that are not looked at',
      { tlsConfig: { insecure: true, caFile: 'x' } },
      /insecure flag is not allowed/,
    ],
    ['a certificate without its key', { tlsConfig: { certFile: 'x' } }, /must be given together/],
  ])('refuses %s', (_what, fields, message) => {
    expect(extender(fields)).toThrow(message);
  });

  test('rejects two that bind', () => {
    const binder = { urlPrefix: url, bindVerb: 'bind' };
    expect(() => read({ extenders: [binder, binder] })).toThrow(
      /only one extender can implement bind/,
    );
  });
});

describe('resolveProfile', () => {
  const flat = (name: string): PluginRegistration => ({
    name,
    create: () => ({ name, score: () => 0 }) satisfies ScorePlugin,
  });
  const registry = registryOf([...inTreeRegistry.values(), flat('X'), flat('Y')]);

  function resolve(fields: Record<string, unknown>) {
    const [profile] = read({ profiles: [fields] }).profiles;
    if (profile === undefined) throw new Error('there is a profile');
    return resolveProfile(profile, registry, makeHandle());
  }
  const scores = (fields: Record<string, unknown>): readonly string[] =>
    resolve({ plugins: fields }).score.map(({ plugin, weight }) => `${plugin.name} ${weight}`);

  const DEFAULT_SCORES = [
    'TaintToleration 3',
    'NodeAffinity 2',
    'NodeResourcesFit 1',
    'PodTopologySpread 2',
    'InterPodAffinity 2',
    'DynamicResources 2',
    'NodeResourcesBalancedAllocation 1',
    'ImageLocality 1',
  ];

  test('has the default plugins, weights and order', () => {
    const plugins = resolve({});
    expect(plugins.score.map(({ plugin, weight }) => `${plugin.name} ${weight}`)).toEqual(
      DEFAULT_SCORES,
    );
    expect(plugins.filter.map((plugin) => plugin.name)).toEqual([
      'NodeUnschedulable',
      'NodeName',
      'TaintToleration',
      'NodeAffinity',
      'NodePorts',
      'NodeResourcesFit',
      'VolumeRestrictions',
      'NodeVolumeLimits',
      'VolumeBinding',
      'VolumeZone',
      'PodTopologySpread',
      'InterPodAffinity',
      'DynamicResources',
      'NodeDeclaredFeatures',
    ]);
    expect([plugins.queueSort.name, plugins.bind[0]?.name, plugins.preEnqueue[0]?.name]).toEqual([
      'PrioritySort',
      'DefaultBinder',
      'SchedulingGates',
    ]);
  });

  test('adds, replaces and removes', () => {
    expect(scores({ score: { enabled: [{ name: 'X', weight: 4 }] } })).toEqual([
      ...DEFAULT_SCORES,
      'X 4',
    ]);
    expect(scores({ score: { enabled: [{ name: 'X' }], disabled: [{ name: '*' }] } })).toEqual([
      'X 1',
    ]);
    expect(scores({ score: { disabled: [{ name: 'ImageLocality' }] } })).toEqual(
      DEFAULT_SCORES.slice(0, -1),
    );
    // Listed at the extension point, a default plugin comes first, with the weight given there.
    expect(scores({ score: { enabled: [{ name: 'NodeResourcesFit', weight: 7 }] } })).toEqual([
      'NodeResourcesFit 7',
      'TaintToleration 3',
      'NodeAffinity 2',
      'PodTopologySpread 2',
      'InterPodAffinity 2',
      'DynamicResources 2',
      'NodeResourcesBalancedAllocation 1',
      'ImageLocality 1',
    ]);
    // Listed in multiPoint, it keeps its position.
    expect(
      scores({
        multiPoint: {
          enabled: [
            { name: 'NodeAffinity', weight: 9 },
            { name: 'Y', weight: 2 },
          ],
        },
      }),
    ).toEqual([
      'TaintToleration 3',
      'NodeAffinity 9',
      'NodeResourcesFit 1',
      'PodTopologySpread 2',
      'InterPodAffinity 2',
      'DynamicResources 2',
      'NodeResourcesBalancedAllocation 1',
      'ImageLocality 1',
      'Y 2',
    ]);
    expect(
      scores({ multiPoint: { disabled: [{ name: 'TaintToleration' }, { name: 'NodeAffinity' }] } }),
    ).toEqual(DEFAULT_SCORES.slice(2));
  });

  test('passes arguments to plugins, and validates those of disabled plugins', () => {
    const args = (name: string, value: unknown) => ({ pluginConfig: [{ name, args: value }] });
    expect(() =>
      resolve(args('NodeResourcesFit', { scoringStrategy: { type: 'MostAllocated' } })),
    ).not.toThrow();
    expect(() => resolve(args('NodeResourcesFit', { scoringStrategy: { typo: 1 } }))).toThrow(
      /profiles\[0\]\.pluginConfig\[0\]\.args\.scoringStrategy\.typo: Forbidden: unknown field "typo"/,
    );
    expect(() => resolve(args('Random', { seed: 1 }))).toThrow(/args\.seed: Forbidden/);
  });

  test.each([
    [
      'an unknown plugin',
      { plugins: { filter: { enabled: [{ name: 'Nope' }] } } },
      /Invalid value: "Nope": unknown plugin; there are DefaultBinder, .*, X, Y/,
    ],
    [
      'an unknown plugin to disable',
      { plugins: { filter: { disabled: [{ name: 'Nope' }] } } },
      /plugins\.filter\.disabled: Invalid value: "Nope"/,
    ],
    [
      'arguments for an unknown plugin',
      { pluginConfig: [{ name: 'Nope' }] },
      /pluginConfig: Invalid value: "Nope": unknown plugin/,
    ],
    [
      'a plugin where it does not belong',
      { plugins: { filter: { enabled: [{ name: 'Random' }] } } },
      /plugins\.filter\.enabled: Invalid value: "Random": plugin does not implement filter/,
    ],
    [
      'a plugin twice',
      { plugins: { score: { enabled: [{ name: 'X' }, { name: 'X' }] } } },
      /score\.enabled: Duplicate value: "X"/,
    ],
    [
      'no binder',
      { plugins: { bind: { disabled: [{ name: '*' }] } } },
      /plugins\.bind: Required value: at least one bind plugin is needed/,
    ],
    [
      'no queue sort',
      { plugins: { multiPoint: { disabled: [{ name: 'PrioritySort' }] } } },
      /exactly one queue sort plugin/,
    ],
  ])('refuses %s', (_what, fields, message) => {
    expect(() => resolve(fields)).toThrow(message);
  });
});
