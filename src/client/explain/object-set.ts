// The objects that an explanation is made of, indexed. A set knows the difference between an object that does not
// exist and one that was not read: only the first is a cause.

import type { Event } from '#api/groups/core/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { ObjectRef } from './cause.ts';

export type Lookup =
  | { readonly state: 'found'; readonly object: KubeObject }
  | { readonly state: 'absent' }
  /** It was not read. `reason`: why, if it could not be. */
  | { readonly state: 'unknown'; readonly reason?: string };

export type EventObject = Immutable<Event>;

const NOTHING: readonly KubeObject[] = [];

export class ObjectSet {
  readonly #byKey = new Map<string, KubeObject>();
  readonly #byUid = new Map<string, KubeObject>();
  readonly #byKind = new Map<string, KubeObject[]>();
  readonly #byOwner = new Map<string, KubeObject[]>();
  readonly #events = new Map<string, EventObject[]>();
  readonly #absent = new Set<string>();
  /** The completely read lists: by kind, and '' or a namespace. */
  readonly #complete = new Set<string>();
  readonly #unreadable = new Map<string, string>();

  /** `object` has apiVersion and kind. One that is in the set already is left as it is. */
  add(object: KubeObject): void {
    const ref = refOf(object);
    const key = keyOf(ref);
    if (this.#byKey.has(key)) return;
    this.#byKey.set(key, object);
    const { uid, ownerReferences = [] } = object.metadata;
    if (uid) this.#byUid.set(uid, object);
    push(this.#byKind, kindKey(ref), object);
    for (const owner of ownerReferences) push(this.#byOwner, owner.uid, object);
  }

  addEvent(event: EventObject): void {
    push(this.#events, eventKey(event.involvedObject ?? {}), event);
  }

  /** Records that the object does not exist. */
  addAbsent(ref: ObjectRef): void {
    this.#absent.add(keyOf(ref));
  }

  /** Records that all objects of the kind in the namespace have been added ('': all namespaces, or cluster-scoped). */
  addComplete(kind: Pick<ObjectRef, 'group' | 'kind'>, namespace: string): void {
    this.#complete.add(`${kindKey(kind)} ${namespace}`);
  }

  /** Records that objects of the kind cannot be read. */
  addUnreadable(kind: Pick<ObjectRef, 'group' | 'kind'>, reason: string): void {
    this.#unreadable.set(kindKey(kind), reason);
  }

  /** Returns what could not be read: by 'kind.group', the reason. */
  get unreadable(): ReadonlyMap<string, string> {
    return this.#unreadable;
  }

  lookup(ref: ObjectRef): Lookup {
    const key = keyOf(ref);
    const object = this.#byKey.get(key);
    if (object !== undefined) return { state: 'found', object };
    if (this.#absent.has(key) || this.isComplete(ref, ref.namespace ?? ''))
      return { state: 'absent' };
    const reason = this.#unreadable.get(kindKey(ref));
    return { state: 'unknown', ...(reason !== undefined && { reason }) };
  }

  isComplete(kind: Pick<ObjectRef, 'group' | 'kind'>, namespace: string): boolean {
    const key = kindKey(kind);
    return this.#complete.has(`${key} ${namespace}`) || this.#complete.has(`${key} `);
  }

  byUid(uid: string): KubeObject | undefined {
    return this.#byUid.get(uid);
  }

  /** Returns the objects of a kind. `namespace` absent: of all namespaces. */
  ofKind<T extends KubeObject>(
    group: string,
    kind: string,
    namespace?: string,
  ): readonly Immutable<T>[] {
    const all = (this.#byKind.get(kindKey({ group, kind })) ?? NOTHING) as readonly Immutable<T>[];
    return namespace === undefined
      ? all
      : all.filter(({ metadata }) => metadata.namespace === namespace);
  }

  /** Returns the objects with an owner reference to this UID. */
  ownedBy(uid: string | undefined): readonly KubeObject[] {
    return uid === undefined ? NOTHING : (this.#byOwner.get(uid) ?? NOTHING);
  }

  /** Returns all events. */
  *events(): Iterable<EventObject> {
    for (const events of this.#events.values()) yield* events;
  }

  /** Returns the events about an object, the latest first. */
  eventsOf(object: KubeObject): readonly EventObject[] {
    const { kind, namespace, name } = refOf(object);
    const { uid } = object.metadata;
    const events = this.#events.get(eventKey({ kind, namespace, name })) ?? [];
    return events
      .filter(({ involvedObject }) => {
        const about = involvedObject?.uid;
        // Events about a node carry its name in place of its UID.
        return !about || !uid || about === uid || about === name;
      })
      .toSorted((a, b) => eventTime(b) - eventTime(a));
  }
}

/** Returns when the event happened last, in milliseconds; 0 if it does not say. */
export function eventTime(event: EventObject): number {
  const text =
    event.series?.lastObservedTime ??
    event.lastTimestamp ??
    event.eventTime ??
    event.metadata.creationTimestamp;
  return text ? Date.parse(text) || 0 : 0;
}

/** Returns the reference of an object that has apiVersion and kind. */
export function refOf(object: KubeObject): ObjectRef {
  const { namespace, name = '' } = object.metadata;
  return {
    group: groupOf(object.apiVersion ?? ''),
    kind: object.kind ?? '',
    ...(namespace && { namespace }),
    name,
  };
}

/** Returns the group of an apiVersion: 'apps' of 'apps/v1', '' of 'v1'. */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? '' : apiVersion.slice(0, slash);
}

const kindKey = ({ group, kind }: Pick<ObjectRef, 'group' | 'kind'>): string =>
  group === '' ? kind : `${kind}.${group}`;

const keyOf = (ref: ObjectRef): string => `${kindKey(ref)} ${ref.namespace ?? ''}/${ref.name}`;

interface Involved {
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
}

const eventKey = ({ kind = '', namespace = '', name = '' }: Involved): string =>
  `${kind} ${namespace}/${name}`;

function push<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}
