// Heartbeats of nodes on a lazy virtual clock: hands them over from kubelets to the store, which
// computes them when the clock stops. A kubelet makes two of a kind itself. The store goes on with
// them only if it can derive the second from the first, and only while nothing has a say in these
// writes (webhooks, admission policies).

import { nodes } from '#api/groups/core/v1/index.ts';
import { leases } from '#api/groups/coordination/v1/index.ts';
import { storagePrefix } from '#apiserver/registry/storage-prefix.ts';
import type { Heartbeat, HeartbeatKeeper } from '#kubelet/node/heartbeats.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Storage, StorageBeats, StorageNow } from '#storage/interface.ts';

const LEASES = `${storagePrefix(leases)}kube-node-lease/`;
const NODES = storagePrefix(nodes);

/** Objects that take part in writes of others. */
const ADMISSION = [
  'mutatingwebhookconfigurations',
  'validatingwebhookconfigurations',
  'mutatingadmissionpolicybindings',
  'validatingadmissionpolicybindings',
].map((resource) => storagePrefix({ group: 'admissionregistration.k8s.io', resource }));

interface Written {
  readonly value: Uint8Array;
  readonly at: number;
  readonly revision: number;
}

export interface NodeHeartbeats extends HeartbeatKeeper {
  /**
   * Reports whether the store renews the node's Lease, so that the node cannot fall silent before
   * something stirs.
   */
  isKept(nodeName: string): boolean;
}

/** Returns undefined if the storage makes no heartbeats. */
export function nodeHeartbeats({ beats, now }: Storage, clock: Clock): NodeHeartbeats | undefined {
  return beats === undefined || now === undefined
    ? undefined
    : new StoredHeartbeats(beats, now, clock);
}

class StoredHeartbeats implements NodeHeartbeats {
  readonly #beats: StorageBeats;
  readonly #now: StorageNow;
  readonly #clock: Clock;
  /** By key: the last write of a kubelet. */
  readonly #last = new Map<string, Written>();
  readonly #kept = new Set<string>();

  constructor(beats: StorageBeats, now: StorageNow, clock: Clock) {
    this.#beats = beats;
    this.#now = now;
    this.#clock = clock;
  }

  takeOver(
    { kind, nodeName, nextDue, periodMs }: Heartbeat,
    onReleased: (nextDue: number) => void,
  ): (() => void) | undefined {
    const key = (kind === 'lease' ? LEASES : NODES) + nodeName;
    const current = this.#now.get(key);
    if (current === undefined) return undefined;
    const at = this.#clock.now();
    const latest = { value: current.value, at, revision: current.modRevision };
    const previous = this.#last.get(key);
    this.#last.set(key, latest);
    if (previous === undefined || this.#admissionTakesPart()) return undefined;
    const end = this.#beats.takeOver({
      key,
      previous,
      latest,
      nextDue,
      periodMs,
      onReleased: (next) => {
        this.#kept.delete(key);
        // Whatever has released it may have changed the value.
        this.#last.delete(key);
        onReleased(next);
      },
    });
    if (end !== undefined) this.#kept.add(key);
    return end;
  }

  isKept(nodeName: string): boolean {
    return this.#kept.has(LEASES + nodeName);
  }

  #admissionTakesPart(): boolean {
    return ADMISSION.some((prefix) => this.#now.list(prefix).length > 0);
  }
}
