// Writes the status of pods to the API, and deletes ended pods.

import { pods } from '#api/groups/core/v1/index.ts';
import type { Client } from '#client/client.ts';
import type { MirrorPods } from './static-pods/mirror-pods.ts';
import { isStaticPod } from './static-pods/static-pods.ts';
import type { PodWriter } from './status/status-manager.ts';
import { podUid, type Pod } from './types.ts';

export class ApiPodWriter implements PodWriter {
  readonly #client: Client;
  readonly #mirrors: MirrorPods | undefined;

  /** Creates a writer. `mirrors`: undefined without static pods. */
  constructor(client: Client, mirrors: MirrorPods | undefined) {
    this.#client = client;
    this.#mirrors = mirrors;
  }

  async patchStatus(
    pod: Pod,
    patch: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<Pod> {
    // The API has a mirror of a static pod, with its own UID.
    const target = isStaticPod(pod) ? await this.#mirrors?.get(pod) : pod;
    if (target === undefined) throw new Error('a static pod without a directory of static pods');
    return await this.#client
      .resource(pods)
      .namespace(target.metadata.namespace ?? '')
      .patch(
        target.metadata.name,
        'application/strategic-merge-patch+json',
        { metadata: { uid: podUid(target) }, status: patch },
        { subresource: 'status', signal },
      );
  }

  async remove(pod: Pod, signal: AbortSignal): Promise<void> {
    await this.#client
      .resource(pods)
      .namespace(pod.metadata.namespace ?? '')
      .delete(pod.metadata.name, {
        gracePeriodSeconds: 0,
        preconditions: { uid: podUid(pod) },
        signal,
      });
  }
}
