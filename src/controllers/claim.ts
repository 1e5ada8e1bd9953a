// Decides which objects belong to an owner. The owner adopts objects that match its selector and
// have no controller, and releases objects that it controls and that no longer match. It never
// takes an object from another controller. `decideClaims` decides as a value, `claim` writes.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import { apiVersionOf } from '#api/machinery/scheme.ts';
import type {
  Immutable,
  KubeObject,
  LabelSelector,
  ObjectMeta,
} from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';
import * as labels from '#machinery/selectors/labels.ts';
import type { Selector } from '#machinery/selectors/labels.ts';
import { controllerOf, newControllerRef, type TypeName } from './controller-ref.ts';

/** An object with its type, which objects in a list do not carry. */
export interface Claimant extends TypeName {
  readonly metadata: Immutable<ObjectMeta>;
}

/** Returns the object with its type. */
export function claimantOf(
  type: ResourceType,
  { metadata }: { readonly metadata: Immutable<ObjectMeta> },
): Claimant {
  return { apiVersion: apiVersionOf(type), kind: type.kind, metadata };
}

/** The fields that an owner with a selector has. */
export interface Selecting {
  readonly spec: { readonly selector?: Immutable<LabelSelector> | undefined };
}

export function selectorOf({ spec }: Selecting): Selector {
  return labels.labelSelectorAsSelector(spec.selector);
}

/** Reports whether the selector is empty, so that it matches every object of its namespace. */
export function selectsEverything({ spec: { selector = {} } }: Selecting): boolean {
  return (
    Object.keys(selector.matchLabels ?? {}).length === 0 &&
    (selector.matchExpressions ?? []).length === 0
  );
}

export interface Claims<T> {
  /** Objects that the owner controls and that match. */
  readonly owned: readonly T[];
  /** Matching objects without a controller. */
  readonly adopt: readonly T[];
  /** Objects that the owner controls and that no longer match. */
  readonly release: readonly T[];
}

export function decideClaims<T extends KubeObject>(
  owner: KubeObject,
  selector: Selector,
  candidates: readonly T[],
): Claims<T> {
  const owned: T[] = [];
  const adopt: T[] = [];
  const release: T[] = [];
  const ownerIsGoing = owner.metadata.deletionTimestamp !== undefined;
  for (const candidate of candidates) {
    const controller = controllerOf(candidate);
    const matches = selector.matches(candidate.metadata.labels);
    if (controller !== undefined) {
      if (controller.uid !== owner.metadata.uid) continue;
      if (matches) owned.push(candidate);
      // An owner that is being deleted leaves its dependents to the garbage collector.
      else if (!ownerIsGoing) release.push(candidate);
    } else if (matches && !ownerIsGoing && candidate.metadata.deletionTimestamp === undefined) {
      adopt.push(candidate);
    }
  }
  return { owned, adopt, release };
}

export interface ClaimConfig<Owner extends KubeObject, T extends KubeObject> {
  readonly client: Client;
  readonly ownerType: ResourceType<Owner>;
  /** The type of the claimed objects. */
  readonly type: ResourceType<T>;
}

/**
 * Adopts and releases as decided, and returns the objects that the owner controls afterwards.
 * Throws if the owner is gone by now, or the first failure when every patch was tried.
 */
export async function claim<Owner extends KubeObject, T extends KubeObject>(
  config: ClaimConfig<Owner, T>,
  owner: Claimant,
  selector: Selector,
  candidates: readonly Immutable<T>[],
  signal: AbortSignal,
): Promise<readonly Immutable<T>[]> {
  const { owned, adopt, release } = decideClaims<Immutable<T> & KubeObject>(
    owner,
    selector,
    candidates,
  );
  if (adopt.length === 0 && release.length === 0) return owned;
  const namespaced = config.client.resource(config.type).namespace(owner.metadata.namespace ?? '');
  // The patch names the UID: a namesake that replaced the object is left alone.
  const patch = (
    { metadata: { name, uid } }: KubeObject,
    ownerReference: object,
  ): Promise<Immutable<T>> => {
    const body = { metadata: { ownerReferences: [ownerReference], uid } };
    return namespaced.patch(name, 'application/strategic-merge-patch+json', body, { signal });
  };
  const adopted: Immutable<T>[] = [];
  const failures: unknown[] = [];
  if (adopt.length > 0) {
    // The cache may not show yet that the owner is gone.
    await checkStillThere(config, owner, signal);
    const reference = newControllerRef(owner.metadata, owner);
    for (const object of adopt) {
      try {
        adopted.push(await patch(object, reference));
      } catch (error) {
        // The object is gone, or a namesake replaced it.
        if (!apierrors.isNotFound(error) && !apierrors.isConflict(error)) failures.push(error);
      }
    }
  }
  for (const object of release) {
    try {
      await patch(object, { $patch: 'delete', uid: owner.metadata.uid });
    } catch (error) {
      // The object is gone, or a namesake replaced it, or it was released meanwhile.
      if (
        !apierrors.isNotFound(error) &&
        !apierrors.isConflict(error) &&
        !apierrors.isInvalid(error)
      )
        failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return [...owned, ...adopted];
}

async function checkStillThere<Owner extends KubeObject, T extends KubeObject>(
  { client, ownerType }: ClaimConfig<Owner, T>,
  owner: Claimant,
  signal: AbortSignal,
): Promise<void> {
  const { name, namespace = '', uid } = owner.metadata;
  const what = `${owner.kind} ${namespace}/${name}`;
  const fresh = await client.resource(ownerType).namespace(namespace).get(name, { signal });
  if (fresh.metadata.uid !== uid)
    throw new Error(`original ${what} is gone: got uid ${fresh.metadata.uid}, wanted ${uid}`);
  if (fresh.metadata.deletionTimestamp !== undefined) {
    throw new Error(`${what} has just been deleted at ${fresh.metadata.deletionTimestamp}`);
  }
}
