// The options of rolling updates.

import type { ReplicationController } from '#api/groups/core/v1/index.ts';
import type { Immutable, New } from '#api/machinery/meta/v1/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Client } from '../client.ts';

export type Controller = Immutable<ReplicationController>;

export interface Timing {
  readonly clock: Clock;
  readonly signal?: AbortSignal;
  readonly pollIntervalMs: number;
  readonly timeoutMs: number;
}

export interface RollingUpdateOptions
  extends Partial<Pick<Timing, 'pollIntervalMs' | 'timeoutMs' | 'signal'>>, Pick<Timing, 'clock'> {
  readonly client: Client;
  readonly namespace: string;
  /** The controller that is replaced. */
  readonly oldName: string;
  /**
   * The name of the new controller. Default: that of `controller`; with `image`, the new controller
   * gets the old name in the end.
   */
  readonly newName?: string;
  /**
   * The new controller. Its selector has another value for a key of the old one's. Without replicas
   * it gets as many as the old one.
   */
  readonly controller?: New<ReplicationController>;
  /** In place of `controller`: the image of a copy of the old one. */
  readonly image?: string;
  readonly container?: string;
  readonly imagePullPolicy?: string;
  /** Default: 'deployment'. */
  readonly deploymentLabelKey?: string;
  /** Goes back from the new controller to the old one, and deletes the new one. */
  readonly rollback?: boolean;
  /** The time between two steps. Default: a minute. */
  readonly updatePeriodMs?: number;
  /** Default: 1. */
  readonly maxSurge?: number;
  /** Default: 0. */
  readonly maxUnavailable?: number;
  /** Called with each line of progress. */
  readonly onProgress?: (line: string) => void;
}

export interface RollingUpdateResult {
  readonly controller: Controller;
  /** The new controller has the name of the old one. */
  readonly renamed: boolean;
}

export interface RecreateOptions extends Pick<
  RollingUpdateOptions,
  | 'client'
  | 'namespace'
  | 'clock'
  | 'signal'
  | 'updatePeriodMs'
  | 'pollIntervalMs'
  | 'timeoutMs'
  | 'onProgress'
> {
  /** The ReplicationController. */
  readonly name: string;
  /**
   * Sets the image of the template first. The template has one container. Default: the template
   * stays as it is.
   */
  readonly image?: string;
}
