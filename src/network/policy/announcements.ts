// The kubelet's announcements of this node's pods: it has their addresses before the API does.

import type { Pod } from './model.ts';
import type { Announcement } from './rules/pod-facts.ts';

export interface AnnouncedPod extends Announcement {
  readonly pod: Pod;
}

export class Announcements {
  readonly #byKey = new Map<string, AnnouncedPod>();
  readonly #keys = new Map<string, string>();
  #sequence = 0;

  /**
   * Adds an announcement. Returns the pod's key, and whether its addresses are new. A later
   * announcement for the same name replaces an earlier one.
   */
  add(pod: Pod, addresses: readonly string[]): { readonly key: string; readonly isNew: boolean } {
    const key = `${pod.metadata.namespace ?? ''}/${pod.metadata.name}`;
    const previous = this.#byKey.get(key);
    if (previous !== undefined) this.#keys.delete(uidOf(previous.pod));
    const isSame =
      previous !== undefined &&
      uidOf(previous.pod) === uidOf(pod) &&
      sameItems(previous.addresses, addresses);
    const sequence = isSame ? previous.sequence : ++this.#sequence;
    this.#byKey.set(key, { pod, addresses, sequence });
    this.#keys.set(uidOf(pod), key);
    return { key, isNew: !isSame };
  }

  get(key: string): AnnouncedPod | undefined {
    return this.#byKey.get(key);
  }

  /** Removes the pod. Returns its key; undefined for an unknown pod. */
  forget(uid: string): string | undefined {
    const key = this.#keys.get(uid);
    if (key === undefined) return undefined;
    this.#keys.delete(uid);
    this.#byKey.delete(key);
    return key;
  }

  keys(): Iterable<string> {
    return this.#byKey.keys();
  }
}

const uidOf = ({ metadata }: Pod): string => metadata.uid ?? '';

const sameItems = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((item, index) => item === b[index]);
