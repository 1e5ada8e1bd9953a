// The ConfigMaps and Secrets that pods on this node refer to. Each is watched as long as a pod
// refers to it: at the start of a pod the objects are often in memory already, and pods are
// notified of changes.

import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import { untilAborted } from './handlers/timeout.ts';
import type { ConfigMap, Pod, Secret } from './types.ts';

/**
 * Reads objects. Rejects with NotFound ('configmap "x" not found') if the object does not exist.
 */
export interface ObjectSource {
  configMap(namespace: string, name: string): Promise<ConfigMap>;
  secret(namespace: string, name: string): Promise<Secret>;
}

export type ObjectKind = 'configmap' | 'secret';

/** A running watch of one object. */
export interface ObjectWatch<T> {
  /**
   * Resolves when the object was read for the first time; rejects if the watch was stopped before.
   */
  readonly synced: Promise<void>;
  current(): T | undefined;
  stop(): void;
}

/** Watches one object; calls `onChange` after each creation, change or deletion. */
export type WatchObject = (
  kind: ObjectKind,
  namespace: string,
  name: string,
  onChange: () => void,
) => ObjectWatch<ConfigMap | Secret>;

export interface ObjectTrackerConfig {
  readonly clock: Clock;
  /** How long a read waits for the first list, in milliseconds. Default: 5,000. */
  readonly syncTimeoutMs?: number;
  readonly watch: WatchObject;
  /** Called with the UIDs of pods that refer to a changed object. */
  readonly onChange: (uids: readonly string[]) => void;
}

interface Tracked {
  readonly watch: ObjectWatch<ConfigMap | Secret>;
  readonly users: Set<string>;
}

/** An object that no registered pod refers to can be read, too, but is not watched. */
export class ObjectTracker implements ObjectSource {
  readonly #config: ObjectTrackerConfig;
  readonly #tracked = new Map<string, Tracked>();
  /** The references of each registered pod. */
  readonly #references = new Map<string, ReadonlySet<string>>();

  constructor(config: ObjectTrackerConfig) {
    this.#config = config;
  }

  /** Reports whether any object is watched. */
  get isFollowing(): boolean {
    return this.#tracked.size > 0;
  }

  /** Watches the objects that the pod refers to. Must be called again when the pod has changed. */
  register(pod: Pod): void {
    this.registerReferences(pod.metadata.uid, references(pod));
  }

  /** Watches objects for a user that is not a pod, under an ID of its own. */
  registerReferences(uid: string, keys: Iterable<string>): void {
    const wanted = new Set(keys);
    const before = this.#references.get(uid) ?? new Set();
    for (const key of wanted) if (!before.has(key)) this.#follow(key).users.add(uid);
    for (const key of before) if (!wanted.has(key)) this.#unfollow(key, uid);
    if (wanted.size > 0) this.#references.set(uid, wanted);
    else this.#references.delete(uid);
  }

  unregister(uid: string): void {
    for (const key of this.#references.get(uid) ?? []) this.#unfollow(key, uid);
    this.#references.delete(uid);
  }

  configMap(namespace: string, name: string): Promise<ConfigMap> {
    return this.#get('configmap', namespace, name);
  }

  secret(namespace: string, name: string): Promise<Secret> {
    return this.#get('secret', namespace, name);
  }

  stop(): void {
    for (const tracked of this.#tracked.values()) tracked.watch.stop();
    this.#tracked.clear();
    this.#references.clear();
  }

  async #get(kind: ObjectKind, namespace: string, name: string): Promise<ConfigMap | Secret> {
    const key = keyOf(kind, namespace, name);
    const known = this.#tracked.get(key);
    const watch = known?.watch ?? this.#config.watch(kind, namespace, name, () => undefined);
    try {
      await this.#synced(watch, kind);
      const object = watch.current();
      if (object === undefined) throw apierrors.notFound({ group: '', resource: kind }, name);
      return object;
    } finally {
      if (known === undefined) watch.stop();
    }
  }

  /**
   * Waits for the first list. Rejects if the API does not respond in time, or the node may not read
   * the object.
   */
  async #synced(watch: ObjectWatch<ConfigMap | Secret>, kind: ObjectKind): Promise<void> {
    const { clock, syncTimeoutMs = 5000 } = this.#config;
    await new Promise<void>((resolve, reject) => {
      const timer = clock.setTimer(syncTimeoutMs, () =>
        reject(new Error(`failed to sync ${kind} cache: timed out waiting for the condition`)),
      );
      watch.synced.then(resolve, reject).finally(() => timer.cancel());
    });
  }

  #follow(key: string): Tracked {
    let tracked = this.#tracked.get(key);
    if (tracked === undefined) {
      const [kind, namespace, name] = key.split('/') as [ObjectKind, string, string];
      const users = new Set<string>();
      tracked = {
        watch: this.#config.watch(kind, namespace, name, () => this.#config.onChange([...users])),
        users,
      };
      // Callers that wait get the failure. There may be none.
      tracked.watch.synced.catch(() => undefined);
      this.#tracked.set(key, tracked);
    }
    return tracked;
  }

  #unfollow(key: string, uid: string): void {
    const tracked = this.#tracked.get(key);
    if (tracked === undefined) return;
    tracked.users.delete(uid);
    if (tracked.users.size > 0) return;
    tracked.watch.stop();
    this.#tracked.delete(key);
  }
}

function keyOf(kind: ObjectKind, namespace: string, name: string): string {
  return `${kind}/${namespace}/${name}`;
}

/** Returns the keys of the ConfigMaps and Secrets in the pod's env, volumes and pull secrets. */
export function references(pod: Pod): readonly string[] {
  const namespace = pod.metadata.namespace ?? '';
  const keys: string[] = [];
  const add = (kind: ObjectKind, name: string | undefined): void => {
    if (name !== undefined && name !== '') keys.push(keyOf(kind, namespace, name));
  };
  for (const container of [
    ...pod.spec.containers,
    ...(pod.spec.initContainers ?? []),
    ...(pod.spec.ephemeralContainers ?? []),
  ]) {
    for (const source of container.envFrom ?? []) {
      add('configmap', source.configMapRef?.name);
      add('secret', source.secretRef?.name);
    }
    for (const variable of container.env ?? []) {
      add('configmap', variable.valueFrom?.configMapKeyRef?.name);
      add('secret', variable.valueFrom?.secretKeyRef?.name);
    }
  }
  for (const volume of pod.spec.volumes ?? []) {
    add('configmap', volume.configMap?.name);
    add('secret', volume.secret?.secretName);
    for (const source of volume.projected?.sources ?? []) {
      add('configmap', source.configMap?.name);
      add('secret', source.secret?.name);
    }
  }
  for (const secret of pod.spec.imagePullSecrets ?? []) add('secret', secret.name);
  return keys;
}

/** Returns the same objects for a caller that stops waiting when the signal aborts. */
export function untilAbortedObjects(objects: ObjectSource, signal: AbortSignal): ObjectSource {
  return {
    configMap: (namespace, name) => untilAborted(objects.configMap(namespace, name), signal),
    secret: (namespace, name) => untilAborted(objects.secret(namespace, name), signal),
  };
}
