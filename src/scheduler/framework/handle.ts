// The handle and the arguments that a plugin gets when it is created.

import type { Client } from '#client/client.ts';
import type { Recorder } from '#client/events/index.ts';
import type { SharedInformerFactory } from '#client/informers/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import type { SnapshotReader } from './snapshot.ts';
import type { PreemptionExtenders } from './extender.ts';
import type { PluginMetrics } from './metrics.ts';
import type { Plugin } from './plugin.ts';
import type { PodInfo } from './pod-info.ts';
import type { Pod } from './objects.ts';
import type { WaitingPods } from './waiting-pods.ts';

/** The pods that are nominated to a node, where they wait for room. */
export interface PodNominator {
  nominatedPodsForNode(node: string): readonly PodInfo[];
  /** Reports whether no pod is nominated to any node. */
  isEmpty(): boolean;
  /** Returns the node that the pod with this UID is nominated to. */
  nominatedNode(uid: string): string | undefined;
}

export interface Handle {
  readonly client: Client;
  /**
   * The informers for the plugin's data; an informer that is requested from the factory is started
   * and synced before the first pod.
   */
  readonly informers: SharedInformerFactory;
  /** Starts the informers that were requested since. Their first list is not awaited. */
  startInformers(): void;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Undefined: no metrics are counted. */
  readonly metrics?: PluginMetrics;
  /** The nodes as of the present cycle. */
  readonly snapshot: SnapshotReader;
  readonly nominator: PodNominator;
  readonly waitingPods: WaitingPods;
  readonly extenders: PreemptionExtenders;
  /**
   * Returns a recorder in the name of a profile's scheduler; undefined if the profile does not
   * exist.
   */
  recorderOf(profileName: string): Recorder | undefined;
  /** Queues these pods now, whichever plugins rejected them. */
  activate(pods: readonly Pod[]): void;
  /**
   * Aborts when this term of scheduling is over: everything that a plugin has registered elsewhere
   * must then be removed.
   */
  readonly ended: AbortSignal;
}

export interface PluginRegistration {
  readonly name: string;
  /**
   * Creates the plugin. `args`: the profile's pluginConfig for it; undefined without one. Throws
   * ConfigurationError if they are invalid.
   */
  create(args: PluginArgs, handle: Handle): Plugin;
}

/** The arguments as given, with their path for error messages. */
export interface PluginArgs {
  readonly value: unknown;
  readonly path: string;
}
