// Creates and deletes pods on behalf of a controller, and records both in events of the owner.

import { type Pod, pods, type PodTemplateSpec } from '#api/groups/core/v1/index.ts';
import type { Immutable, New, ObjectMeta, OwnerReference } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import type { Recorder } from '#client/events/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { DNS1123_SUBDOMAIN_MAX_LENGTH } from '#machinery/validation/validation.ts';
import type { TypeName } from './controller-ref.ts';

export interface PodControlConfig {
  readonly client: Client;
  readonly recorder: Recorder;
}

/** The owner of the pods, with its type, which objects in a list do not carry. */
export interface PodOwner extends TypeName {
  readonly metadata: Immutable<ObjectMeta>;
}

export class PodControl {
  readonly #client: Client;
  readonly #recorder: Recorder;

  constructor(config: PodControlConfig) {
    this.#client = config.client;
    this.#recorder = config.recorder;
  }

  /** Creates a pod. `baseName`: the prefix of its generated name. Default: the owner's name. */
  async create(
    owner: PodOwner,
    template: Immutable<PodTemplateSpec>,
    controllerRef: OwnerReference,
    signal: AbortSignal,
    baseName: string = owner.metadata.name,
  ): Promise<Immutable<Pod>> {
    const namespace = owner.metadata.namespace ?? '';
    let created: Immutable<Pod>;
    try {
      const pod = podFromTemplate(template, baseName, controllerRef);
      created = await this.#client.resource(pods).namespace(namespace).create(pod, { signal });
    } catch (error) {
      // In a terminating namespace the failure is expected, so there is no event.
      if (!isNamespaceTerminating(error) && !signal.aborted) {
        this.#recorder.event(
          owner,
          'Warning',
          'FailedCreate',
          `Error creating: ${errorMessage(error)}`,
        );
      }
      throw error;
    }
    this.#recorder.event(
      owner,
      'Normal',
      'SuccessfulCreate',
      `Created pod: ${created.metadata.name}`,
    );
    return created;
  }

  /**
   * Deletes the pod with this UID. Throws NotFound if it is gone, Conflict if another pod has its
   * name.
   */
  async delete(owner: PodOwner, pod: Immutable<Pod>, signal: AbortSignal): Promise<void> {
    const { name, namespace = '', uid } = pod.metadata;
    try {
      await this.#client
        .resource(pods)
        .namespace(namespace)
        .delete(name, { preconditions: { uid }, signal });
    } catch (error) {
      if (!apierrors.isNotFound(error) && !signal.aborted) {
        this.#recorder.event(
          owner,
          'Warning',
          'FailedDelete',
          `Error deleting: ${errorMessage(error)}`,
        );
      }
      throw error;
    }
    this.#recorder.event(owner, 'Normal', 'SuccessfulDelete', `Deleted pod: ${name}`);
  }
}

/** Returns the pod of a template; its name is generated from the owner's. */
function podFromTemplate(
  template: Immutable<PodTemplateSpec>,
  ownerName: string,
  controllerRef: OwnerReference,
): New<Pod> {
  const { labels, annotations, finalizers } = template.metadata;
  return {
    metadata: {
      generateName: namePrefix(ownerName),
      ...(labels !== undefined && { labels }),
      ...(annotations !== undefined && { annotations }),
      ...(finalizers !== undefined && { finalizers }),
      ownerReferences: [controllerRef],
    },
    spec: template.spec,
  };
}

export function isNamespaceTerminating(err: unknown): boolean {
  return apierrors.statusCause(err, 'NamespaceTerminating') !== undefined;
}

/** Returns the name with a dash, unless it is too long for one. */
function namePrefix(ownerName: string): string {
  return ownerName.length < DNS1123_SUBDOMAIN_MAX_LENGTH ? `${ownerName}-` : ownerName;
}
