// Composes the scheduler for one term of leadership, and runs its loop. State of an earlier leader
// is stale, so each session begins with the API server's state.

import { sharedByMany } from '#client/abort.ts';
import type { Client } from '#client/client.ts';
import type { Recorder } from '#client/events/index.ts';
import type { SharedInformer, SharedInformerFactory } from '#client/informers/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import { SchedulerCache } from './cache/cache.ts';
import { Snapshot } from './cache/snapshot.ts';
import type { SchedulerConfiguration } from './config/configuration.ts';
import { resolveProfile } from './profile.ts';
import { ConfigurationError } from './config/reader.ts';
import { BindingCycles } from './binding-cycle.ts';
import type { DecisionLog } from './decisions.ts';
import { addEventHandlers } from './event-handlers.ts';
import { FailureHandler } from './failure-handler.ts';
import { nodeAdd } from './framework/events.ts';
import { EXTENDERS, type Extender } from './framework/extender.ts';
import { Extenders } from './extenders/extenders.ts';
import { httpExtender } from './extenders/http-extender.ts';
import { postOver } from './extenders/post.ts';
import { EVERY_EVENT, Framework } from './framework/framework.ts';
import type { Handle } from './framework/handle.ts';
import type { Node, Pod } from './framework/objects.ts';
import { WaitingPods } from './framework/waiting-pods.ts';
import * as field from '#machinery/validation/field.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { addPluginEventHandlers } from './plugin-informers.ts';
import type { Gauges, SchedulerMetrics } from './metrics/scheduler-metrics.ts';
import type { Registry } from './plugins/registry.ts';
import { PodEvents } from './pod-events.ts';
import { PodStatusWriter } from './pod-status.ts';
import { Nominator } from './queue/nominator.ts';
import { SchedulingQueue } from './queue/scheduling-queue.ts';
import { NO_NODES, PodScheduler } from './schedule-one.ts';
import { SchedulingAlgorithm } from './scheduling-algorithm.ts';

export interface SessionConfig {
  readonly client: Client;
  readonly informers: SharedInformerFactory;
  /** Starts informers that do not run yet; they outlive this session. */
  readonly startInformers: () => void;
  readonly podInformer: SharedInformer<Pod>;
  readonly nodeInformer: SharedInformer<Node>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: SchedulerMetrics;
  /** See SchedulerConfig. */
  readonly decisions?: DecisionLog;
  readonly configuration: SchedulerConfiguration;
  readonly registry: Registry;
  readonly recorder: (profileName: string) => Recorder;
  readonly bindingConcurrency: number;
  readonly assumedPodTtlMs: number;
  readonly popFromBackoff: boolean;
}

/** The maximum time and number of pods before scheduling yields to the rest of the process. */
const SLICE_MS = 5;
const SLICE_PODS = 100;
/** The period of checking for expired assumed pods. */
const EXPIRY_INTERVAL_MS = 1000;
/** How long bindings in flight may continue when scheduling ends, in milliseconds. */
const STOP_GRACE_MS = 2000;

export class Session {
  readonly #config: SessionConfig;
  readonly #cache: SchedulerCache;
  readonly #queue: SchedulingQueue;
  readonly #waitingPods = new WaitingPods();
  readonly #podStatus: PodStatusWriter;
  readonly #frameworks: ReadonlyMap<string, Framework>;
  readonly #bindings: BindingCycles;
  readonly #failures: FailureHandler;
  readonly #podScheduler: PodScheduler;
  /** Aborts requests that exceed the grace period at the end. */
  readonly #requests = new AbortController();
  /** Aborts when this session has ended. */
  readonly #ended = new AbortController();

  /** Creates the session. Throws ConfigurationError if a profile is invalid. */
  constructor(config: SessionConfig) {
    this.#config = config;
    const { client, clock, random, configuration } = config;
    const logger = config.logger.with({ component: 'scheduler' });
    const snapshot = new Snapshot();
    const nominator = new Nominator((node) => snapshot.nominationsChanged(node));
    this.#cache = new SchedulerCache({ clock, logger, assumedPodTtlMs: config.assumedPodTtlMs });
    const extenders = new Extenders({
      extenders: makeExtenders(configuration, clock),
      logger,
      signal: this.#requests.signal,
    });
    const recorders = new Map(
      configuration.profiles.map(
        ({ schedulerName: name }) => [name, config.recorder(name)] as const,
      ),
    );
    this.#frameworks = makeFrameworks(config, {
      client,
      informers: config.informers,
      startInformers: config.startInformers,
      clock,
      random,
      logger,
      metrics: config.metrics,
      snapshot,
      nominator,
      waitingPods: this.#waitingPods,
      extenders,
      // The queue needs the profiles' order, so it is created after them. No plugin activates pods
      // before the first cycle.
      activate: (pods) => this.#queue.activate(pods),
      recorderOf: (profileName) => recorders.get(profileName),
      ended: sharedByMany(this.#ended.signal),
    });
    this.#queue = makeQueue(config, logger, this.#frameworks, nominator);
    // Requested now, so that these informers start with those of pods and nodes. The handlers run
    // after the plugins' own, so that hints see the plugins' state.
    const clusterEvents = Array.from(this.#frameworks.values(), (framework) =>
      [...framework.eventRegistrations().values()].flat(),
    );
    const registrations = addPluginEventHandlers(
      clusterEvents.flat(),
      config.informers,
      this.#queue,
    );
    this.#ended.signal.addEventListener('abort', () =>
      registrations.forEach((registration) => registration.remove()),
    );
    this.#podStatus = new PodStatusWriter({ client, clock, logger });
    const events = new PodEvents(recorders);
    const podLister = config.podInformer.lister;
    const { metrics, decisions } = config;
    this.#failures = new FailureHandler({
      queue: this.#queue,
      podLister,
      podStatus: this.#podStatus,
      events,
      metrics,
      logger,
    });
    this.#bindings = new BindingCycles({
      client,
      clock,
      random,
      logger,
      cache: this.#cache,
      queue: this.#queue,
      extenders,
      podLister,
      podStatus: this.#podStatus,
      events,
      failures: this.#failures,
      metrics,
      signal: this.#requests.signal,
    });
    this.#podScheduler = new PodScheduler({
      logger,
      cache: this.#cache,
      snapshot,
      queue: this.#queue,
      algorithm: new SchedulingAlgorithm({
        snapshot,
        random,
        percentageOfNodesToScore: configuration.percentageOfNodesToScore,
        ...(decisions !== undefined && { wantsScores: () => decisions.wantsScores }),
      }),
      extenders,
      bindings: this.#bindings,
      failures: this.#failures,
      events,
      metrics,
      ...(decisions !== undefined && { decisions }),
      frameworks: this.#frameworks,
    });
  }

  /**
   * Runs the session; may be called once. Resolves when the signal has aborted and nothing is in
   * flight.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, informers, podInformer, nodeInformer } = this.#config;
    const registrations = addEventHandlers(
      {
        cache: this.#cache,
        queue: this.#queue,
        waitingPods: this.#waitingPods,
        schedules: (name) => this.#frameworks.has(name),
        metrics: this.#config.metrics,
      },
      podInformer,
      nodeInformer,
    );
    this.#queue.run(signal);
    this.#config.metrics.watch(() => this.#gauges());
    signal.addEventListener('abort', () => this.#stopCycles(), { once: true });
    const expires = this.#config.assumedPodTtlMs > 0;
    const expiry = expires
      ? clock.setInterval(EXPIRY_INTERVAL_MS, () => this.#cache.expireAssumedPods())
      : undefined;
    try {
      // Plugins may have requested more informers. Before all pods are listed, a node may seem less
      // allocated than it is.
      informers.start(signal);
      await informers.waitForCacheSync(signal);
      await this.#loop(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      expiry?.cancel();
      this.#config.metrics.watch(undefined);
      for (const registration of registrations) registration.remove();
      await this.#end();
    }
  }

  /** Stops handling failures: the pods are left to the next scheduler. */
  #stopCycles(): void {
    this.#failures.stop();
    this.#bindings.stop();
  }

  #gauges(): Gauges {
    const { active, backoff, unschedulable, gated } = this.#queue.counts();
    const refused = new Map<string, { plugin: string; profile: string; count: number }>();
    for (const { info, unschedulablePlugins, pendingPlugins } of this.#queue.waiting()) {
      const profile = info.pod.spec.schedulerName ?? '';
      for (const plugin of [...unschedulablePlugins, ...pendingPlugins]) {
        const key = `${profile} ${plugin}`;
        const known = refused.get(key) ?? { plugin, profile, count: 0 };
        known.count++;
        refused.set(key, known);
      }
    }
    return {
      pendingPods: { active, backoff, unschedulable, gated },
      cacheSize: {
        nodes: this.#cache.nodeCount,
        pods: this.#cache.podCount,
        assumed_pods: this.#cache.assumedPodCount,
      },
      bindings: this.#bindings.count,
      inFlightEvents: this.#queue.inFlightEvents(),
      unschedulable: refused.values(),
    };
  }

  async #loop(signal: AbortSignal): Promise<void> {
    const { clock, bindingConcurrency } = this.#config;
    let sliceEnd = clock.monotonic() + SLICE_MS;
    let left = SLICE_PODS;
    while (!signal.aborted) {
      await this.#bindings.untilFewerThan(bindingConcurrency);
      if (--left <= 0 || clock.monotonic() >= sliceEnd) {
        await clock.sleep(0);
        sliceEnd = clock.monotonic() + SLICE_MS;
        left = SLICE_PODS;
      }
      const pod = await this.#queue.pop(signal);
      if (pod === undefined) return;
      await this.#podScheduler.scheduleOne(pod);
    }
  }

  async #end(): Promise<void> {
    const { clock } = this.#config;
    this.#podStatus.stop();
    for (const pod of this.#waitingPods.values()) pod.reject('', 'the scheduler stops');
    const overdue = clock.setTimer(STOP_GRACE_MS, () =>
      this.#requests.abort(new Error('the scheduler stops')),
    );
    await this.#bindings.settled();
    overdue.cancel();
    this.#ended.abort();
  }
}

function makeExtenders({ extenders }: SchedulerConfiguration, clock: Clock): readonly Extender[] {
  return extenders.map((extender) => {
    try {
      return httpExtender(extender, postOver(extender, clock));
    } catch (error_) {
      const why = errorMessage(error_);
      const error = field.invalid(field.path('extenders'), extender.urlPrefix, why);
      throw new ConfigurationError('scheduler configuration', [error]);
    }
  });
}

function makeFrameworks(config: SessionConfig, handle: Handle): ReadonlyMap<string, Framework> {
  const { profiles } = config.configuration;
  const frameworks = new Map<string, Framework>();
  for (const profile of profiles) {
    const framework = new Framework({
      profileName: profile.schedulerName,
      plugins: resolveProfile(profile, config.registry, handle),
      percentageOfNodesToScore: profile.percentageOfNodesToScore,
      clock: handle.clock,
      nominator: handle.nominator,
      waitingPods: handle.waitingPods,
      metrics: config.metrics,
    });
    frameworks.set(profile.schedulerName, framework);
  }
  // There is one queue, so all profiles need the same order.
  const orders = Array.from(frameworks.values(), ({ plugins }) => plugins.queueSort.name);
  const errors = orders.flatMap((order, i) => {
    const at = field.path(profiles[i]?.path ?? 'profiles').child('plugins', 'queueSort');
    return order === orders[0]
      ? []
      : [field.invalid(at, order, 'queueSort must be the same for all profiles.')];
  });
  if (errors.length > 0) throw new ConfigurationError('scheduler configuration', errors);
  return frameworks;
}

function makeQueue(
  config: SessionConfig,
  logger: Logger,
  frameworks: ReadonlyMap<string, Framework>,
  nominator: Nominator,
): SchedulingQueue {
  const { clock, configuration, popFromBackoff } = config;
  const [first] = frameworks.values();
  if (first === undefined) throw new Error('a scheduler has at least one profile');
  return new SchedulingQueue({
    clock,
    logger,
    less: first.plugins.queueSort.less.bind(first.plugins.queueSort),
    preEnqueue: new Map(
      Array.from(frameworks, ([name, { plugins }]) => [name, plugins.preEnqueue]),
    ),
    registrations: new Map(
      Array.from(frameworks, ([name, framework]) => [
        name,
        new Map([
          ...framework.eventRegistrations(),
          [NO_NODES, [{ event: nodeAdd }]],
          [EXTENDERS, EVERY_EVENT],
        ]),
      ]),
    ),
    initialBackoffMs: configuration.podInitialBackoffSeconds * 1000,
    maxBackoffMs: configuration.podMaxBackoffSeconds * 1000,
    popFromBackoff,
    nominator,
    metrics: config.metrics,
  });
}
