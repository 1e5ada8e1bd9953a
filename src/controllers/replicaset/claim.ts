// Which pods belong to a controller: adopt those that match and have no other, release those that no longer match, and never
// take one from somebody else. Decided here as a value; the replica manager carries it out.

import type { Pod } from '../../api/core/v1/index.ts';
import type { Immutable, OwnerReference } from '../../api/meta/v1/index.ts';
import type { KubeObject } from '../../client/client.ts';
import type { Selector } from '../../machinery/labels.ts';
import { controllerOf } from '../controller-ref.ts';

type ReadPod = Immutable<Pod>;

export interface Claims {
  /** Controlled and matching. */
  readonly owned: readonly ReadPod[];
  /** Matching, controlled by nobody. */
  readonly adopt: readonly ReadPod[];
  /** Controlled and no longer matching. */
  readonly release: readonly ReadPod[];
}

export function decideClaims(owner: KubeObject, selector: Selector, pods: readonly ReadPod[]): Claims {
  const owned: ReadPod[] = [];
  const adopt: ReadPod[] = [];
  const release: ReadPod[] = [];
  const ownerIsGoing = owner.metadata.deletionTimestamp !== undefined;
  for (const pod of pods) {
    const controller = controllerOf(pod);
    const matches = selector.matches(pod.metadata.labels);
    if (controller !== undefined) {
      if (controller.uid !== owner.metadata.uid) continue;
      if (matches) owned.push(pod);
      // Whoever is being deleted lets the garbage collector decide about its pods.
      else if (!ownerIsGoing) release.push(pod);
    } else if (matches && !ownerIsGoing && pod.metadata.deletionTimestamp === undefined) {
      adopt.push(pod);
    }
  }
  return { owned, adopt, release };
}

/** The pod's UID goes with the patch: a pod that was replaced under its name is not meant. */
export function adoptPatch(pod: ReadPod, controllerRef: OwnerReference): unknown {
  return { metadata: { ownerReferences: [controllerRef], uid: pod.metadata.uid } };
}

export function releasePatch(pod: ReadPod, ownerUid: string): unknown {
  return { metadata: { ownerReferences: [{ $patch: 'delete', uid: ownerUid }], uid: pod.metadata.uid } };
}
