// KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1): how the scheduler is configured by a
// file.

import { isPlainObject } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import { EXTENSION_POINTS, type ExtensionPoint } from '../framework/plugin.ts';
import type { PluginArgs } from '../framework/handle.ts';
import { readDuration } from './durations.ts';
import { type ExtenderConfiguration, readExtenders } from './extenders.ts';
import { ConfigReader } from './reader.ts';

const DEFAULT_SCHEDULER_NAME = 'default-scheduler';

export interface EnabledPlugin {
  readonly name: string;
  /** The weight of its score; 0 counts as 1. */
  readonly weight: number;
}

/**
 * The changes of a profile at one extension point, or (multiPoint) at all extension points of a
 * plugin.
 */
export interface PluginSet {
  readonly enabled: readonly EnabledPlugin[];
  /** Names; '*' means all default plugins. */
  readonly disabled: readonly string[];
}

export type PluginSelection = Readonly<Partial<Record<ExtensionPoint | 'multiPoint', PluginSet>>>;

export interface ProfileConfiguration {
  /** The profile schedules pods with this spec.schedulerName. */
  readonly schedulerName: string;
  /** The profile's path in the configuration, for messages. */
  readonly path: string;
  readonly percentageOfNodesToScore: number | undefined;
  readonly plugins: PluginSelection;
  /** By the plugin's name. */
  readonly pluginConfig: ReadonlyMap<string, PluginArgs>;
}

export interface LeaderElectionConfiguration {
  readonly leaderElect: boolean;
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
  readonly resourceNamespace: string;
  readonly resourceName: string;
}

export interface SchedulerConfiguration {
  readonly podInitialBackoffSeconds: number;
  readonly podMaxBackoffSeconds: number;
  readonly percentageOfNodesToScore: number;
  readonly leaderElection: LeaderElectionConfiguration;
  /** The cluster is watched only while leading, not while waiting to lead. */
  readonly delayCacheUntilActive: boolean;
  readonly profiles: readonly ProfileConfiguration[];
  /** The extenders, in the order of their calls. */
  readonly extenders: readonly ExtenderConfiguration[];
}

/** Upstream's fields that this scheduler does not support, with the reasons. */
const UNSUPPORTED: Readonly<Record<string, string>> = {
  parallelism: 'nodes are filtered and scored in one thread; there is nothing to set',
  clientConnection: 'the scheduler is given its client',
  enableProfiling: 'the scheduler serves no HTTP of its own',
  enableContentionProfiling: 'the scheduler serves no HTTP of its own',
};

const MAX_SECONDS = 2 ** 31 - 1;
const PERCENTAGE = 'not in valid range [0-100]';

/**
 * Reads a configuration object (parsed from YAML); undefined means all defaults. Throws
 * ConfigurationError with every problem, including fields without an effect here. One default
 * differs from upstream: leader election is off, because a single process does not need it.
 */
export function readConfiguration(value: unknown): SchedulerConfiguration {
  const root = new ConfigReader(value ?? {}, field.path());
  for (const [name, why] of Object.entries(UNSUPPORTED)) {
    if (root.child(name).present) root.errors.push(field.forbidden(root.child(name).path, why));
  }
  root.fields(
    ...Object.keys(UNSUPPORTED),
    'apiVersion',
    'kind',
    'delayCacheUntilActive',
    'extenders',
    'leaderElection',
    'percentageOfNodesToScore',
    'podInitialBackoffSeconds',
    'podMaxBackoffSeconds',
    'profiles',
  );
  if (value !== undefined) {
    root.child('apiVersion').requiredString();
    root.child('apiVersion').oneOf('kubescheduler.config.k8s.io/v1');
    root.child('kind').requiredString();
    root.child('kind').oneOf('KubeSchedulerConfiguration');
  }
  const podInitialBackoffSeconds =
    root.child('podInitialBackoffSeconds').integer(1, MAX_SECONDS, 'must be greater than 0') ?? 1;
  const max = root.child('podMaxBackoffSeconds');
  const podMaxBackoffSeconds = max.integer(-MAX_SECONDS, MAX_SECONDS) ?? 10;
  if (podMaxBackoffSeconds < podInitialBackoffSeconds) {
    root.errors.push(
      field.invalid(
        max.path,
        podMaxBackoffSeconds,
        'must be greater than or equal to PodInitialBackoffSeconds',
      ),
    );
  }
  const extenders = readExtenders(root.child('extenders'));
  const configuration: SchedulerConfiguration = {
    podInitialBackoffSeconds,
    podMaxBackoffSeconds,
    percentageOfNodesToScore:
      root.child('percentageOfNodesToScore').integer(0, 100, PERCENTAGE) ?? 0,
    leaderElection: readLeaderElection(root.child('leaderElection')),
    delayCacheUntilActive: root.child('delayCacheUntilActive').boolean() ?? false,
    profiles: readProfiles(root.child('profiles')).map((profile) =>
      withIgnoredResources(profile, extenders),
    ),
    extenders,
  };
  root.check('scheduler configuration');
  return configuration;
}

/**
 * Returns the profile without the resources that extenders manage: they are not counted here. The
 * profile's own setting is overridden.
 */
function withIgnoredResources(
  profile: ProfileConfiguration,
  extenders: readonly ExtenderConfiguration[],
): ProfileConfiguration {
  const ignored = extenders.flatMap(({ managedResources }) =>
    managedResources.filter((resource) => resource.ignoredByScheduler),
  );
  if (ignored.length === 0) return profile;
  const plugin = 'NodeResourcesFit';
  const given = profile.pluginConfig.get(plugin) ?? {
    value: {},
    path: `${profile.path}.pluginConfig`,
  };
  // The plugin rejects a value that is not an object.
  if (given.value !== undefined && !isPlainObject(given.value)) return profile;
  const value = { ...given.value, ignoredResources: ignored.map(({ name }) => name) };
  return {
    ...profile,
    pluginConfig: new Map([...profile.pluginConfig, [plugin, { ...given, value }]]),
  };
}

function readProfiles(reader: ConfigReader): readonly ProfileConfiguration[] {
  const items = reader.items();
  if (items.length === 0) {
    const path = reader.path.index(0).toString();
    return [
      {
        schedulerName: DEFAULT_SCHEDULER_NAME,
        path,
        percentageOfNodesToScore: undefined,
        plugins: {},
        pluginConfig: new Map(),
      },
    ];
  }
  const seen = new Set<string>();
  return items.map((item) => {
    item.fields('schedulerName', 'percentageOfNodesToScore', 'plugins', 'pluginConfig');
    const name = item.child('schedulerName');
    // A single profile may lack a name; of several, each needs its own.
    const schedulerName =
      items.length === 1 ? (name.string() ?? DEFAULT_SCHEDULER_NAME) : name.requiredString();
    if (seen.has(schedulerName)) item.errors.push(field.duplicate(name.path, schedulerName));
    seen.add(schedulerName);
    return {
      schedulerName,
      path: item.path.toString(),
      percentageOfNodesToScore: item.child('percentageOfNodesToScore').integer(0, 100, PERCENTAGE),
      plugins: readPlugins(item.child('plugins')),
      pluginConfig: readPluginConfig(item.child('pluginConfig')),
    };
  });
}

function readPlugins(reader: ConfigReader): PluginSelection {
  const points = [...(Object.keys(EXTENSION_POINTS) as ExtensionPoint[]), 'multiPoint'] as const;
  reader.fields(...points);
  const selection: Partial<Record<ExtensionPoint | 'multiPoint', PluginSet>> = {};
  for (const point of points) {
    const set = reader.child(point);
    if (!set.present) continue;
    set.fields('enabled', 'disabled');
    selection[point] = {
      enabled: set
        .child('enabled')
        .items()
        .map((item) => {
          item.fields('name', 'weight');
          const weight = item.child('weight');
          if (weight.present && point !== 'score' && point !== 'multiPoint') {
            item.errors.push(field.forbidden(weight.path, 'only scores have weights'));
          }
          return {
            name: item.child('name').requiredString(),
            weight: weight.integer(0, MAX_SECONDS) ?? 0,
          };
        }),
      disabled: set
        .child('disabled')
        .items()
        .map((item) => {
          item.fields('name');
          return item.child('name').requiredString();
        }),
    };
  }
  return selection;
}

function readPluginConfig(reader: ConfigReader): ReadonlyMap<string, PluginArgs> {
  const byName = new Map<string, PluginArgs>();
  for (const item of reader.items()) {
    item.fields('name', 'args');
    const name = item.child('name').requiredString();
    if (byName.has(name)) item.errors.push(field.duplicate(item.child('name').path, name));
    byName.set(name, { value: item.child('args').raw, path: item.child('args').path.toString() });
  }
  return byName;
}

function readLeaderElection(reader: ConfigReader): LeaderElectionConfiguration {
  reader.fields(
    'leaderElect',
    'leaseDuration',
    'renewDeadline',
    'retryPeriod',
    'resourceLock',
    'resourceName',
    'resourceNamespace',
  );
  reader.child('resourceLock').oneOf('leases');
  const election = {
    leaderElect: reader.child('leaderElect').boolean() ?? false,
    leaseDurationMs: readDuration(reader.child('leaseDuration')) ?? 15_000,
    renewDeadlineMs: readDuration(reader.child('renewDeadline')) ?? 10_000,
    retryPeriodMs: readDuration(reader.child('retryPeriod')) ?? 2_000,
    resourceNamespace: reader.child('resourceNamespace').string() ?? 'kube-system',
    resourceName: reader.child('resourceName').string() ?? 'kube-scheduler',
  };
  if (election.leaseDurationMs <= election.renewDeadlineMs) {
    const { path, raw } = reader.child('leaseDuration');
    reader.errors.push(
      field.invalid(path, raw, 'LeaseDuration must be greater than RenewDeadline'),
    );
  }
  if (election.renewDeadlineMs <= election.retryPeriodMs) {
    const { path, raw } = reader.child('renewDeadline');
    reader.errors.push(field.invalid(path, raw, 'RenewDeadline must be greater than RetryPeriod'));
  }
  for (const name of ['resourceNamespace', 'resourceName'] as const) {
    if (election[name] === '')
      reader.errors.push(field.required(reader.child(name).path, `${name} is required`));
  }
  return election;
}
