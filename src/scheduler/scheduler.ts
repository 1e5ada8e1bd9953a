// The scheduler: chooses a node for every pod without one, and binds the pod to it.

import { nodes, pods } from '#api/groups/core/v1/index.ts';
import type { Client } from '#client/client.ts';
import { EventRecorder, type Recorder } from '#client/events/index.ts';
import type { SharedInformer, SharedInformerFactory } from '#client/informers/index.ts';
import { LeaderElector } from '#client/leader-election.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import { readConfiguration, type SchedulerConfiguration } from './config/configuration.ts';
import type { DecisionLog } from './decisions.ts';
import type { PluginRegistration } from './framework/handle.ts';
import type { Node, Pod } from './framework/objects.ts';
import { podResourcesText } from './metrics/pod-resources.ts';
import { SchedulerMetrics } from './metrics/scheduler-metrics.ts';
import { inTreeRegistry, type Registry } from './plugins/registry.ts';
import { Session } from './session.ts';

export interface SchedulerConfig {
  readonly client: Client;
  /** The informers; may be shared with other components. The scheduler reads all pods and nodes. */
  readonly informers: SharedInformerFactory;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /**
   * A KubeSchedulerConfiguration (v1), parsed from YAML; see config/configuration.ts. Default: one
   * profile with all defaults.
   */
  readonly configuration?: unknown;
  /** Additional plugins that profiles can name. */
  readonly plugins?: readonly PluginRegistration[];
  /** The metrics continue from one scheduler to the next. Default: new ones. */
  readonly metrics?: SchedulerMetrics;
  /** Keeps the last decisions. Default: they are not kept. */
  readonly decisions?: DecisionLog;
  /** The identity in leader election. Default: a random one. */
  readonly identity?: string;
  /** Returns the recorder of events for a profile. Default: events are sent to the API server. */
  readonly recorder?: (profileName: string) => Recorder;
  /**
   * The number of concurrent bindings. With this many in flight, no further pod is scheduled.
   * Default: 128.
   */
  readonly bindingConcurrency?: number;
  /** See SchedulerCacheConfig. Default: 0, assumed pods do not expire. */
  readonly assumedPodTtlMs?: number;
  /** Default: true. See SchedulingQueueConfig. */
  readonly popFromBackoff?: boolean;
}

/** The maximum number of events that wait to be sent: enough for a large ReplicaSet. */
const EVENT_QUEUE_LIMIT = 20_000;
/** How long sending the last events may take when scheduling ends, in milliseconds. */
const LAST_EVENTS_MS = 1000;

export class Scheduler {
  readonly #config: SchedulerConfig;
  readonly #configuration: SchedulerConfiguration;
  readonly #registry: Registry;
  /** Shared by all sessions. */
  readonly #metrics: SchedulerMetrics;
  readonly #podInformer: SharedInformer<Pod>;
  readonly #nodeInformer: SharedInformer<Node>;
  /**
   * The next session, created in advance; each term of leadership begins without remembered state.
   */
  #session: Session | undefined;
  /** The metrics source: the running session. */
  readonly #recorders: EventRecorder[] = [];
  /** Set during a run: informers stop when it aborts. */
  #running: AbortSignal | undefined;

  /** Creates the scheduler. Throws ConfigurationError if the configuration is invalid. */
  constructor(config: SchedulerConfig) {
    this.#config = config;
    this.#configuration = readConfiguration(config.configuration);
    this.#metrics = config.metrics ?? new SchedulerMetrics({ clock: config.clock });
    this.#registry = new Map([
      ...inTreeRegistry,
      ...(config.plugins ?? []).map((plugin) => [plugin.name, plugin] as const),
    ]);
    this.#podInformer = config.informers.informerFor(pods);
    this.#nodeInformer = config.informers.informerFor(nodes);
    this.#session = this.#newSession();
  }

  /**
   * Schedules until the signal aborts; only as the leader if the configuration requires leader
   * election. Resolves when nothing is in flight. Starts the informers if they do not run.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, client, random, logger, informers } = this.#config;
    this.#running = signal;
    if (!this.#configuration.delayCacheUntilActive) informers.start(signal);
    const { leaderElect, resourceName, resourceNamespace, ...durations } =
      this.#configuration.leaderElection;
    if (!leaderElect) {
      await this.#lead(signal);
      return;
    }
    const elector = new LeaderElector({
      client,
      clock,
      random,
      logger,
      namespace: resourceNamespace,
      name: resourceName,
      identity: this.#config.identity ?? `scheduler_${random.uuid()}`,
      ...durations,
      onStartedLeading: (leading) => this.#lead(leading),
    });
    // After losing the lease, the scheduler stands for election again.
    while (!signal.aborted) await elector.run(signal);
  }

  /** Returns the metrics in Prometheus' text format, with kube-scheduler's names. */
  metricsText(): string {
    return this.#metrics.text();
  }

  /** Returns requests and limits of the pods in the cache, in Prometheus' text format. */
  podResourcesText(): string {
    return podResourcesText(this.#podInformer.lister.list());
  }

  async #lead(signal: AbortSignal): Promise<void> {
    const session = this.#session ?? this.#newSession();
    this.#session = undefined;
    // The informers outlive this term of leadership.
    if (this.#running !== undefined) this.#config.informers.start(this.#running);
    await session.run(signal);
    await this.#sendLastEvents();
  }

  async #sendLastEvents(): Promise<void> {
    const recorders = this.#recorders.splice(0);
    const enough = new AbortController();
    const grace = this.#config.clock.sleep(LAST_EVENTS_MS, enough.signal).catch(() => undefined);
    await Promise.race([Promise.all(recorders.map((recorder) => recorder.flush())), grace]);
    enough.abort();
    for (const recorder of recorders) recorder.stop();
  }

  #newSession(): Session {
    const config = this.#config;
    return new Session({
      client: config.client,
      informers: config.informers,
      startInformers: () => {
        if (this.#running !== undefined) config.informers.start(this.#running);
      },
      clock: config.clock,
      random: config.random,
      logger: config.logger,
      metrics: this.#metrics,
      ...(config.decisions !== undefined && { decisions: config.decisions }),
      configuration: this.#configuration,
      registry: this.#registry,
      podInformer: this.#podInformer,
      nodeInformer: this.#nodeInformer,
      recorder: config.recorder ?? ((component) => this.#newRecorder(component)),
      bindingConcurrency: config.bindingConcurrency ?? 128,
      assumedPodTtlMs: config.assumedPodTtlMs ?? 0,
      popFromBackoff: config.popFromBackoff ?? true,
    });
  }

  #newRecorder(component: string): Recorder {
    const { client, clock, random, logger } = this.#config;
    const recorder = new EventRecorder({
      client,
      clock,
      random,
      logger,
      component,
      queueLimit: EVENT_QUEUE_LIMIT,
    });
    this.#recorders.push(recorder);
    return recorder;
  }
}
