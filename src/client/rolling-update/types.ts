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
  /** The name of the old controller, which is replaced. */
  readonly oldName: string;
  /**
   * The name of the new controller. Default: the name in `controller`. With `image`, the default is
   * a temporary name, and the new controller finally gets the old name.
   */
  readonly newName?: string;
  /**
   * The new controller. Its selector must differ from the old one in the value of a key. Default
   * for its replicas: those of the old controller.
   */
  readonly controller?: New<ReplicationController>;
  /** The image of a copy of the old controller, instead of `controller`. */
  readonly image?: string;
  readonly container?: string;
  readonly imagePullPolicy?: string;
  /** Default: 'deployment'. */
  readonly deploymentLabelKey?: string;
  /** Roll back: scale the old controller up again, and delete the new one. */
  readonly rollback?: boolean;
  /** The time between two steps in milliseconds. Default: a minute. */
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
  /** The new controller has got the name of the old one. */
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
   * The new image of the template's only container, which is set first. Default: the template is
   * unchanged.
   */
  readonly image?: string;
}
