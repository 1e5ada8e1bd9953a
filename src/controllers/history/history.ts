// Keeps the ControllerRevisions of an owner in the API server.

import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import { type ControllerRevision, controllerRevisions } from '#api/groups/apps/v1/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { Client } from '#client/client.ts';
import { objectKey } from '#client/informers/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { claimantOf } from '../claim.ts';
import { isControlledBy } from '../controller-ref.ts';
import type { Dependents } from '../dependents.ts';
import type { OwnWrites } from '../own-writes.ts';
import {
  byRevision,
  newRevision,
  nextRevision,
  type ReadRevision,
  type RevisionData,
  sameData,
} from './revisions.ts';

export interface HistoryConfig<Owner extends KubeObject> {
  readonly client: Client;
  readonly ownerType: ResourceType<Owner>;
  readonly revisions: Dependents<Owner, ControllerRevision>;
  /** The label of revisions that holds the hash. Default: 'controller.kubernetes.io/hash'. */
  readonly hashLabel?: string;
  /** Notes each revision that is written, under the owner's key. */
  readonly writes: OwnWrites;
}

export interface Update {
  /** The revision of this data. */
  readonly revision: ReadRevision;
  /** All revisions of the owner, oldest first, including that revision. */
  readonly revisions: readonly ReadRevision[];
  /** The number of name collisions since the owner was created. */
  readonly collisionCount: number;
}

export class History<Owner extends KubeObject> {
  readonly #config: HistoryConfig<Owner>;

  constructor(config: HistoryConfig<Owner>) {
    this.#config = config;
  }

  /** Adopts and releases revisions, and returns the owner's revisions, oldest first. */
  async claim(owner: Immutable<Owner>, signal: AbortSignal): Promise<readonly ReadRevision[]> {
    const owned = await this.#config.revisions.claim(owner, signal);
    return owned.toSorted(byRevision);
  }

  /**
   * Makes the data the latest revision: the present one, an earlier one again, or a new one.
   * `labels`: the labels of the template. `revisions`: as `claim` returns them.
   */
  async update(
    owner: Immutable<Owner>,
    labels: Readonly<Record<string, string>>,
    data: RevisionData,
    revisions: readonly ReadRevision[],
    collisionCount: number,
    signal: AbortSignal,
  ): Promise<Update> {
    const next = nextRevision(revisions, data);
    if (next.kind === 'present') return { revision: next.revision, revisions, collisionCount };
    if (next.kind === 'again') {
      const { client } = this.#config;
      const changed = { ...next.revision, revision: next.number };
      const revision = await client.resource(controllerRevisions).update(changed, { signal });
      this.#wrote(owner, revision);
      return {
        revision,
        revisions: [...revisions.filter((each) => each !== next.revision), revision],
        collisionCount,
      };
    }
    const { hashLabel, ownerType } = this.#config;
    const claimant = claimantOf(ownerType, owner);
    for (let collisions = collisionCount; ; collisions++) {
      const wanted = newRevision({
        owner: claimant,
        labels,
        data,
        revision: next.number,
        collisionCount: collisions,
        ...(hashLabel !== undefined && { hashLabel }),
      });
      const revision = await this.#create(owner, wanted, signal);
      if (revision !== undefined) {
        return {
          revision,
          revisions: [...revisions, revision].toSorted(byRevision),
          collisionCount: collisions,
        };
      }
    }
  }

  /** Deletes the revision. A revision that is gone already is not an error. */
  async delete(
    { metadata: { name, namespace = '', uid } }: ReadRevision,
    signal: AbortSignal,
  ): Promise<void> {
    const namespaced = this.#config.client.resource(controllerRevisions).namespace(namespace);
    try {
      await namespaced.delete(name, { preconditions: { uid }, signal });
    } catch (error) {
      if (!apierrors.isNotFound(error)) throw error;
    }
  }

  /** Creates the revision. Returns undefined if another object has its name. */
  async #create(
    owner: Immutable<Owner>,
    wanted: ReturnType<typeof newRevision>,
    signal: AbortSignal,
  ): Promise<ReadRevision | undefined> {
    const { client } = this.#config;
    const { name, namespace } = wanted.metadata;
    try {
      const created = await client.resource(controllerRevisions).create(wanted, { signal });
      this.#wrote(owner, created);
      return created;
    } catch (error) {
      if (!apierrors.isAlreadyExists(error)) throw error;
    }
    // The cache may lack a revision that this controller created.
    const taken = await client
      .resource(controllerRevisions)
      .namespace(namespace)
      .get(name, { signal });
    return isControlledBy(taken, owner) && sameData(taken, wanted) ? taken : undefined;
  }

  #wrote(owner: Immutable<Owner>, revision: ReadRevision): void {
    const { revisions, writes } = this.#config;
    writes.wrote(objectKey(owner), revision, revisions.lister.getByKey(objectKey(revision)));
  }
}
