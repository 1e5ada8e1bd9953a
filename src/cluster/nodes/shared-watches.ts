// Watches of single objects that several users share: a thousand nodes whose pods refer to one
// ConfigMap need one watch of it.

import type { ObjectKind, ObjectWatch, WatchObject } from '#kubelet/objects.ts';
import type { ConfigMap, Secret } from '#kubelet/types.ts';
import { withResolvers } from '#machinery/with-resolvers.ts';

interface Shared {
  readonly watch: ObjectWatch<ConfigMap | Secret>;
  /** One for each user. */
  readonly listeners: Set<() => void>;
}

/**
 * Returns a function that watches objects with one watch of `watch` for all users of an object, from
 * the first one to the last.
 */
export function sharedWatches(watch: WatchObject): WatchObject {
  const watches = new Map<string, Shared>();
  const begin = (kind: ObjectKind, namespace: string, name: string): Shared => {
    const listeners = new Set<() => void>();
    const onChange = (): void => {
      for (const listener of listeners) listener();
    };
    return { watch: watch(kind, namespace, name, onChange), listeners };
  };
  return (kind, namespace, name, onChange) => {
    const key = `${kind}/${namespace}/${name}`;
    const shared = watches.get(key) ?? begin(kind, namespace, name);
    watches.set(key, shared);
    // Another user may have the same function.
    const listener = (): void => onChange();
    shared.listeners.add(listener);
    const { promise: synced, resolve, reject } = withResolvers();
    shared.watch.synced.then(resolve, reject);
    return {
      synced,
      current: () => shared.watch.current(),
      stop: () => {
        if (!shared.listeners.delete(listener)) return;
        reject(new Error(`the watch of ${key} is not needed any more`));
        if (shared.listeners.size > 0) return;
        watches.delete(key);
        shared.watch.stop();
      },
    };
  };
}
