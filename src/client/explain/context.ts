// The context that the explainers of kinds share: the objects, the time, and a way down to other objects.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Cause, ObjectRef } from './cause.ts';
import type { ObjectSet } from './object-set.ts';
import type { SchedulingVerdict } from './scheduling.ts';

export interface World {
  readonly objects: ObjectSet;
  /** Wall-clock milliseconds. */
  readonly now: number;
  /** By UID of the pod: the scheduler's dry run. */
  readonly scheduling?: ReadonlyMap<string, SchedulingVerdict>;
}

export interface Context extends World {
  /**
   * Explains another object, one level deeper. An object that is being explained already, or is too deep, has no
   * causes of its own. `text`: how the object is connected, such as 'owned by'.
   */
  readonly descend: (object: KubeObject, text: string) => Cause;
}

/** Returns the causes of one object's state; those of its owners are added by the caller. */
export type Explainer = (object: KubeObject, context: Context) => readonly Cause[];

export type KindRef = Pick<ObjectRef, 'group' | 'kind'>;
