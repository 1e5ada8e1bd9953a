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

/** The pods that are nominated to a node: they wait there for room. */
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
   * To read what else the plugin needs; an informer asked for in the factory is started and synced
   * before the first pod.
   */
  readonly informers: SharedInformerFactory;
  /** Starts the informers that were requested since. Their first list is not awaited. */
  startInformers(): void;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Undefined: nothing is counted. */
  readonly metrics?: PluginMetrics;
  /** The nodes as of the present cycle. */
  readonly snapshot: SnapshotReader;
  readonly nominator: PodNominator;
  readonly waitingPods: WaitingPods;
  readonly extenders: PreemptionExtenders;
  /** Reports in the name of a profile's scheduler; undefined if there is no such profile. */
  recorderOf(profileName: string): Recorder | undefined;
  /** Tries these pods again now, whatever refused them. */
  activate(pods: readonly Pod[]): void;
  /**
   * Aborts when this time of scheduling is over: what a plugin has registered elsewhere has to go
   * then.
   */
  readonly ended: AbortSignal;
}

export interface PluginRegistration {
  readonly name: string;
  /**
   * `args`: the profile's pluginConfig for this plugin; undefined if there is none. Throws
   * ConfigurationError if they are wrong.
   */
  create(args: PluginArgs, handle: Handle): Plugin;
}

/** Arguments as they were given, and where, for the error message. */
export interface PluginArgs {
  readonly value: unknown;
  readonly path: string;
}
