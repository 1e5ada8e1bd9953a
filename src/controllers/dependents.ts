// The objects of one type that the objects of another control, as the pods of a ReplicaSet: who
// owns one, which owners may adopt one, adoption and release, and which owner an event concerns.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import type { ControllerExpectations } from '#client/expectations.ts';
import { type EventHandler, type Lister, objectKey } from '#client/informers/index.ts';
import type { Selector } from '#machinery/selectors/labels.ts';
import { claim, claimantOf } from './claim.ts';
import { BY_CONTROLLER, controllerOf, orphansOf } from './controller-ref.ts';
import { BY_REQUIRED_LABEL, labelsOfOrphan } from './required-label.ts';
import type { OwnWrites } from './own-writes.ts';

export interface DependentsConfig<Owner extends KubeObject, T extends KubeObject> {
  readonly client: Client;
  readonly ownerType: ResourceType<Owner>;
  /** With a `selectorOf`: the lister must have the index `BY_REQUIRED_LABEL` of that function. */
  readonly owners: Lister<NoInfer<Immutable<Owner>>>;
  readonly type: ResourceType<T>;
  /** The dependents; the lister must have the index `BY_CONTROLLER`. */
  readonly dependents: Lister<Immutable<T>>;
  /**
   * The labels of an owner's dependents. Default: no event of an orphan wakes an owner, and `claim`
   * must not be called.
   */
  readonly selectorOf?: (owner: Immutable<Owner>) => Selector;
  /** A condition for adoption, in addition to labels. Default: none. */
  readonly mayAdopt?: (owner: Immutable<Owner>, dependent: Immutable<T>) => boolean;
}

export interface DependentEvents {
  /** Puts the key of an owner on a queue. */
  readonly enqueue: (key: string) => void;
  readonly writes?: OwnWrites;
  readonly expectations?: ControllerExpectations;
}

export class Dependents<Owner extends KubeObject, T extends KubeObject> {
  readonly lister: Lister<Immutable<T>>;
  readonly #config: DependentsConfig<Owner, T>;
  constructor(config: DependentsConfig<Owner, T>) {
    this.#config = config;
    this.lister = config.dependents;
  }

  /**
   * Returns the controller of the dependent if the cache has that very object; a namesake with
   * another UID does not count.
   */
  ownerOf(dependent: KubeObject): Immutable<Owner> | undefined {
    const reference = controllerOf(dependent);
    if (reference === undefined || reference.kind !== this.#config.ownerType.kind) return undefined;
    const owner = this.#config.owners.get(dependent.metadata.namespace ?? '', reference.name);
    return owner?.metadata.uid === reference.uid ? owner : undefined;
  }

  /** Returns the dependents that the owner controls. */
  controlledBy(owner: KubeObject): Immutable<T>[] {
    return this.lister.byIndex(BY_CONTROLLER, owner.metadata.uid);
  }

  /**
   * Returns the dependents that the owner controls, and the orphans in its namespace that it may
   * consider for adoption.
   */
  candidates(owner: Immutable<Owner>): Immutable<T>[] {
    const orphans = this.lister.byIndex(BY_CONTROLLER, orphansOf(owner.metadata.namespace ?? ''));
    const { mayAdopt } = this.#config;
    return [
      ...this.controlledBy(owner),
      ...(mayAdopt === undefined ? orphans : orphans.filter((orphan) => mayAdopt(owner, orphan))),
    ];
  }

  /**
   * Adopts the candidates that match the owner's selector and have no controller, and releases
   * those that no longer match. Returns the owner's dependents afterwards. Throws if the owner is
   * gone by now, or the first failure when every patch was tried.
   */
  claim(
    owner: Immutable<Owner>,
    signal: AbortSignal,
    candidates: readonly Immutable<T>[] = this.candidates(owner),
  ): Promise<readonly Immutable<T>[]> {
    const { ownerType, selectorOf } = this.#config;
    if (selectorOf === undefined) throw new Error(`${ownerType.kind} has no selector to claim by`);
    return claim<Owner, T>(
      this.#config,
      claimantOf(ownerType, owner),
      selectorOf(owner),
      candidates,
      signal,
    );
  }

  /**
   * Returns the handler that wakes owners. What it notes before it wakes an owner:
   *   - writes: the version that the cache shows, or that the object is gone - expectations: a
   *     creation for an object that is new; a deletion for one that is gone or has a
   *     deletionTimestamp. An object that is new and has a deletionTimestamp is not counted as a
   *     creation: after a restart it may be an old one.
   */
  eventHandler({ enqueue, writes, expectations }: DependentEvents): EventHandler<Immutable<T>> {
    const seen = (owner: Immutable<Owner>, object: Immutable<T>): void => {
      const key = objectKey(owner);
      writes?.seen(key, object);
      if (object.metadata.deletionTimestamp !== undefined)
        expectations?.deletionObserved(key, object.metadata.uid);
      enqueue(key);
    };
    const added = (object: Immutable<T>): void => {
      const owner = this.ownerOf(object);
      const isTerminating = object.metadata.deletionTimestamp !== undefined;
      if (owner !== undefined) {
        if (!isTerminating) expectations?.creationObserved(objectKey(owner));
        seen(owner, object);
      } else if (!isTerminating && controllerOf(object) === undefined)
        this.#wakeAdopters(object, enqueue);
    };
    const gone = (object: Immutable<T>): void => {
      const owner = this.ownerOf(object);
      if (owner === undefined) return;
      const key = objectKey(owner);
      writes?.gone(key, object);
      expectations?.deletionObserved(key, object.metadata.uid);
      enqueue(key);
    };
    const changed = (before: Immutable<T>, object: Immutable<T>): void => {
      if (before.metadata.uid !== object.metadata.uid) {
        gone(before);
        added(object);
        return;
      }
      const controller = controllerOf(object);
      const changedHands = controllerOf(before)?.uid !== controller?.uid;
      const previous = changedHands ? this.ownerOf(before) : undefined;
      if (previous !== undefined) seen(previous, object);
      if (controller !== undefined) {
        const owner = this.ownerOf(object);
        if (owner !== undefined) seen(owner, object);
        return;
      }
      if (object.metadata.deletionTimestamp !== undefined) return;
      if (changedHands || !sameLabels(before, object)) this.#wakeAdopters(object, enqueue);
    };
    return { onAdd: added, onUpdate: changed, onDelete: gone };
  }

  #wakeAdopters(orphan: Immutable<T>, enqueue: (key: string) => void): void {
    const { owners, selectorOf, mayAdopt } = this.#config;
    if (selectorOf === undefined) return;
    for (const value of labelsOfOrphan(orphan))
      for (const owner of owners.byIndex(BY_REQUIRED_LABEL, value))
        if (
          mayAdopt?.(owner, orphan) !== false &&
          selectorOf(owner).matches(orphan.metadata.labels)
        )
          enqueue(objectKey(owner));
  }
}

function sameLabels(a: KubeObject, b: KubeObject): boolean {
  return (
    a.metadata.labels === b.metadata.labels ||
    JSON.stringify(a.metadata.labels) === JSON.stringify(b.metadata.labels)
  );
}
