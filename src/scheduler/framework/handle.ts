// What a plugin is given when it is made.

import type { Client } from '#client/client.ts';
import type { Recorder } from '#client/events/index.ts';
import type { SharedInformerFactory } from '#client/informers/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import type { SnapshotReader } from '../cache/snapshot.ts';
import type { SchedulerMetrics } from '../metrics/scheduler-metrics.ts';
import type { Extenders } from '../extenders/extenders.ts';
import type { Plugin } from './plugin.ts';
import type { PodInfo } from './pod-info.ts';
import type { Pod } from './objects.ts';
import type { WaitingPods } from './waiting-pods.ts';

/** Pods that wait for room on a node that was promised to them. */
export interface PodNominator {
  nominatedPodsForNode(node: string): readonly PodInfo[];
  /** Nobody was promised anything. */
  isEmpty(): boolean;
  /** The node that the pod of this UID was promised. */
  nominatedNode(uid: string): string | undefined;
}

export interface Handle {
  readonly client: Client;
  /** To read what else the plugin needs; an informer asked for in the factory is started and synced before the first pod. */
  readonly informers: SharedInformerFactory;
  /** Starts the informers that were asked for since: nobody waits for their first list. */
  startInformers(): void;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Undefined: nothing is counted. */
  readonly metrics?: SchedulerMetrics;
  /** The nodes as of the present cycle. */
  readonly snapshot: SnapshotReader;
  readonly nominator: PodNominator;
  readonly waitingPods: WaitingPods;
  readonly extenders: Extenders;
  /** Reports in the name of a profile's scheduler; undefined if there is no such profile. */
  recorderOf(profileName: string): Recorder | undefined;
  /** Tries these pods again now, whatever refused them. */
  activate(pods: readonly Pod[]): void;
  /** Aborts when this time of scheduling is over: what a plugin has registered elsewhere has to go then. */
  readonly ended: AbortSignal;
}

export interface PluginRegistration {
  readonly name: string;
  /** `args`: the profile's pluginConfig for this plugin; undefined if there is none. Throws ConfigurationError if they are wrong. */
  create(args: PluginArgs, handle: Handle): Plugin;
}

/** Arguments as they were given, and where, for the error message. */
export interface PluginArgs {
  readonly value: unknown;
  readonly path: string;
}
