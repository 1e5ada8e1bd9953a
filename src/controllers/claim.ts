// Which objects belong to a controller's object: it adopts those that match and have no other controller, releases those that no
// longer match, and never takes one from somebody else. Decided as a value first, then carried out.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { Immutable, KubeObject, ObjectMeta } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Selector } from '#machinery/selectors/labels.ts';
import { controllerOf, newControllerRef } from './controller-ref.ts';
import type { TypeName } from './controller-ref.ts';

/** An object with its type, which objects in a list do not carry. */
export interface Claimant extends TypeName {
  readonly metadata: Immutable<ObjectMeta>;
}

export interface Claims<T> {
  /** Controlled and matching. */
  readonly owned: readonly T[];
  /** Matching, controlled by nobody. */
  readonly adopt: readonly T[];
  /** Controlled and no longer matching. */
  readonly release: readonly T[];
}

export function decideClaims<T extends KubeObject>(owner: KubeObject, selector: Selector, candidates: readonly T[]): Claims<T> {
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
      // Whoever is being deleted lets the garbage collector decide about what it has.
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
  /** Of what is claimed. */
  readonly type: ResourceType<T>;
}

/**
 * Adopts and releases as decided; answers what is the owner's afterwards. Throws if the owner is gone by now, or with the first
 * thing that went wrong when everything has been tried.
 */
export async function claim<Owner extends KubeObject, T extends KubeObject>(
  config: ClaimConfig<Owner, T>,
  owner: Claimant,
  selector: Selector,
  candidates: readonly Immutable<T>[],
  signal: AbortSignal,
): Promise<readonly Immutable<T>[]> {
  const { owned, adopt, release } = decideClaims<Immutable<T> & KubeObject>(owner, selector, candidates);
  if (adopt.length === 0 && release.length === 0) return owned;
  const namespaced = config.client.resource(config.type).namespace(owner.metadata.namespace ?? '');
  // The UID goes with the patch: an object that was replaced under its name is not meant.
  const patch = ({ metadata: { name, uid } }: KubeObject, ownerReference: object): Promise<Immutable<T>> => {
    const body = { metadata: { ownerReferences: [ownerReference], uid } };
    return namespaced.patch(name, 'application/strategic-merge-patch+json', body, { signal });
  };
  const adopted: Immutable<T>[] = [];
  const failures: unknown[] = [];
  if (adopt.length > 0) {
    // The cache may not show yet that the owner is gone, and nothing must be given to the dead.
    await checkStillThere(config, owner, signal);
    const reference = newControllerRef(owner.metadata, owner);
    for (const object of adopt) {
      try {
        adopted.push(await patch(object, reference));
      } catch (err) {
        // Gone, or replaced: not this owner's any more.
        if (!apierrors.isNotFound(err) && !apierrors.isConflict(err)) failures.push(err);
      }
    }
  }
  for (const object of release) {
    try {
      await patch(object, { $patch: 'delete', uid: owner.metadata.uid });
    } catch (err) {
      // Gone, or replaced, or released by somebody else meanwhile.
      if (!apierrors.isNotFound(err) && !apierrors.isConflict(err) && !apierrors.isInvalid(err)) failures.push(err);
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
  if (fresh.metadata.uid !== uid) throw new Error(`original ${what} is gone: got uid ${fresh.metadata.uid}, wanted ${uid}`);
  if (fresh.metadata.deletionTimestamp !== undefined) {
    throw new Error(`${what} has just been deleted at ${fresh.metadata.deletionTimestamp}`);
  }
}
