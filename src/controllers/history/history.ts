// Keeps the ControllerRevisions of an owner in the API server.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { controllerRevisions } from '#api/groups/apps/v1/index.ts';
import type { ControllerRevision } from '#api/groups/apps/v1/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { Client } from '#client/client.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Selector } from '#machinery/selectors/labels.ts';
import { claim } from '../claim.ts';
import type { Claimant } from '../claim.ts';
import { BY_CONTROLLER, byController, isControlledBy, orphansOf } from '../controller-ref.ts';
import { byRevision, newRevision, nextRevision, sameData } from './revisions.ts';
import type { ReadRevision, RevisionData } from './revisions.ts';

export interface HistoryConfig<Owner extends KubeObject> {
  readonly client: Client;
  readonly ownerType: ResourceType<Owner>;
  readonly informer: SharedInformer<ReadRevision>;
  /** The label of revisions that gets the hash. Default: 'controller.kubernetes.io/hash'. */
  readonly hashLabel?: string;
  /** Is told each revision that is written, as the server has it now. */
  readonly wrote: (owner: Claimant, revision: ReadRevision) => void;
}

export interface Update {
  /** That of the data. */
  readonly revision: ReadRevision;
  /** All of the owner, oldest first, with that one. */
  readonly revisions: readonly ReadRevision[];
  /** Names that were found taken by something else, since the owner exists. */
  readonly collisionCount: number;
}

export class History<Owner extends KubeObject> {
  readonly #config: HistoryConfig<Owner>;

  constructor(config: HistoryConfig<Owner>) {
    this.#config = config;
    config.informer.addIndexers({ [BY_CONTROLLER]: byController });
  }

  /** Those of the owner, oldest first, with what it adopts; what it does not select any more is released. */
  async claim(owner: Claimant, selector: Selector, signal: AbortSignal): Promise<readonly ReadRevision[]> {
    const { client, ownerType, informer } = this.#config;
    const { uid, namespace = '' } = owner.metadata;
    const near = [
      ...informer.lister.byIndex(BY_CONTROLLER, uid),
      ...informer.lister.byIndex(BY_CONTROLLER, orphansOf(namespace)),
    ];
    const claims = { client, ownerType, type: controllerRevisions };
    const owned = await claim<Owner, ControllerRevision>(claims, owner, selector, near, signal);
    return owned.toSorted(byRevision);
  }

  /**
   * Makes the data the latest revision: the present one, an earlier one again, or a new one.
   * `labels`: those of the template. `revisions`: as `claim` answers them.
   */
  async update(
    owner: Claimant,
    labels: Readonly<Record<string, string>>,
    data: RevisionData,
    revisions: readonly ReadRevision[],
    collisionCount: number,
    signal: AbortSignal,
  ): Promise<Update> {
    const next = nextRevision(revisions, data);
    if (next.kind === 'present') return { revision: next.revision, revisions, collisionCount };
    if (next.kind === 'again') {
      const { client, wrote } = this.#config;
      const changed = { ...next.revision, revision: next.number };
      const revision = await client.resource(controllerRevisions).update(changed, { signal });
      wrote(owner, revision);
      return { revision, revisions: [...revisions.filter((each) => each !== next.revision), revision], collisionCount };
    }
    for (let collisions = collisionCount; ; collisions++) {
      const { hashLabel } = this.#config;
      const wanted = newRevision({
        owner,
        labels,
        data,
        revision: next.number,
        collisionCount: collisions,
        ...(hashLabel !== undefined && { hashLabel }),
      });
      const revision = await this.#create(owner, wanted, signal);
      if (revision !== undefined) {
        return { revision, revisions: [...revisions, revision].toSorted(byRevision), collisionCount: collisions };
      }
    }
  }

  /** Not found is as good. */
  async delete({ metadata: { name, namespace = '', uid } }: ReadRevision, signal: AbortSignal): Promise<void> {
    const namespaced = this.#config.client.resource(controllerRevisions).namespace(namespace);
    try {
      await namespaced.delete(name, { preconditions: { uid }, signal });
    } catch (err) {
      if (!apierrors.isNotFound(err)) throw err;
    }
  }

  /** undefined if its name is taken by something else. */
  async #create(owner: Claimant, wanted: ReturnType<typeof newRevision>, signal: AbortSignal): Promise<ReadRevision | undefined> {
    const { client, wrote } = this.#config;
    const { name, namespace } = wanted.metadata;
    try {
      const created = await client.resource(controllerRevisions).create(wanted, { signal });
      wrote(owner, created);
      return created;
    } catch (err) {
      if (!apierrors.isAlreadyExists(err)) throw err;
    }
    // It may be our own, which the cache does not have yet.
    const taken = await client.resource(controllerRevisions).namespace(namespace).get(name, { signal });
    return isControlledBy(taken, owner) && sameData(taken, wanted) ? taken : undefined;
  }
}
