// Groups of persistent volumes: an annotation of a volume names the group that may write to it, and
// the processes of its pods are members of that group.

import { podUid, type Pod } from '../types.ts';
import type { PersistentVolume } from './claims.ts';

/** Upstream's annotation: VolumeGidAnnotationKey in pkg/volume/util. */
const ANNOTATION = 'pv.beta.kubernetes.io/gid';

export class VolumeGroups {
  /** By the pod's UID and the name of the volume in the pod. */
  readonly #groups = new Map<string, Map<string, number>>();

  /** Records the group of a mounted volume. A value that is no whole number is ignored, as upstream. */
  mounted(uid: string, name: string, { metadata }: PersistentVolume): void {
    const value = metadata.annotations?.[ANNOTATION] ?? '';
    if (!/^[+-]?\d+$/.test(value)) return;
    const groups = this.#groups.get(uid) ?? new Map<string, number>();
    this.#groups.set(uid, groups.set(name, Number(value)));
  }

  /** Returns the groups of the pod's mounted volumes, each once. */
  of(pod: Pod): readonly number[] {
    return [...new Set(this.#groups.get(podUid(pod))?.values())];
  }

  /** Drops the groups of a pod whose volumes are unmounted. */
  forget(uid: string): void {
    this.#groups.delete(uid);
  }
}
