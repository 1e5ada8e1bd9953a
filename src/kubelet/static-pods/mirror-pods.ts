// Mirror pods: the API's copies of static pods. A mirror is created when the status of its pod is
// first written, and deleted with the manifest.

import { pods } from '#api/groups/core/v1/index.ts';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Logger } from '#machinery/log.ts';
import { podUid, type Pod } from '../types.ts';

const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';

export function isMirrorPod(pod: Pod): boolean {
  return pod.metadata.annotations?.[MIRROR_ANNOTATION] !== undefined;
}

export interface MirrorPodsConfig {
  readonly client: Client;
  readonly logger: Logger;
  readonly nodeName: string;
  /** Returns the UID of the Node: a mirror is deleted with it. Rejects while there is no Node. */
  readonly nodeUid: () => Promise<string>;
}

export class MirrorPods {
  readonly #config: MirrorPodsConfig;
  /** The mirrors that the API has, by 'namespace/name'. */
  readonly #mirrors = new Map<string, Pod>();

  constructor(config: MirrorPodsConfig) {
    this.#config = config;
  }

  /** Returns the mirrors of this node in the API. */
  all(): Iterable<Pod> {
    return this.#mirrors.values();
  }

  /** Records that the API has the mirror. */
  seen(mirror: Pod): void {
    this.#mirrors.set(fullName(mirror), mirror);
  }

  /** Records that the API no longer has the mirror. */
  gone(mirror: Pod): void {
    this.#mirrors.delete(fullName(mirror));
  }

  /**
   * Returns the mirror of a static pod, and creates it if it is missing. Rejects with the API's
   * error.
   */
  async get(pod: Pod): Promise<Pod> {
    const known = this.#mirrors.get(fullName(pod));
    if (known !== undefined && known.metadata.annotations?.[MIRROR_ANNOTATION] === podUid(pod))
      return known;
    const resource = this.#config.client.resource(pods).namespace(pod.metadata.namespace ?? '');
    // The mirror belongs to an earlier manifest.
    if (known !== undefined) await this.delete(known);
    const { name, namespace, labels, annotations } = pod.metadata;
    const node = {
      apiVersion: 'v1',
      kind: 'Node',
      name: this.#config.nodeName,
      uid: await this.#config.nodeUid(),
    };
    try {
      const made = await resource.create({
        metadata: {
          name,
          namespace,
          ...(labels !== undefined ? { labels } : {}),
          annotations: { ...annotations, [MIRROR_ANNOTATION]: podUid(pod) },
          ownerReferences: [{ ...node, controller: true }],
        },
        spec: pod.spec,
      });
      this.#mirrors.set(fullName(pod), made);
      return made;
    } catch (error) {
      if (!apierrors.isAlreadyExists(error)) throw error;
      const present = await resource.get(name);
      this.#mirrors.set(fullName(pod), present);
      return present;
    }
  }

  /**
   * Deletes the mirror of the static pod, or the mirror itself, if the API has it. Never rejects: a
   * failure is logged.
   */
  async delete(pod: Pod): Promise<void> {
    const mirror = this.#mirrors.get(fullName(pod));
    if (mirror === undefined) return;
    this.#mirrors.delete(fullName(pod));
    try {
      await this.#config.client
        .resource(pods)
        .namespace(mirror.metadata.namespace ?? '')
        .delete(mirror.metadata.name, {
          gracePeriodSeconds: 0,
          preconditions: { uid: podUid(mirror) },
        });
    } catch (error) {
      if (!apierrors.isNotFound(error))
        this.#config.logger.warn('mirror pod not deleted', { pod: fullName(pod), err: error });
    }
  }
}

/** Returns 'namespace/name'. */
export function fullName(pod: Pod): string {
  return `${pod.metadata.namespace ?? ''}/${pod.metadata.name}`;
}
