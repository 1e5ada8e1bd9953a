// Prepares an update of the image only. It creates a copy of the controller with another image, and
// a label that distinguishes the pods of the two controllers.

import { createHash } from 'node:crypto';
import type { Container, ReplicationController } from '#api/groups/core/v1/index.ts';
import type { Immutable, New } from '#api/machinery/meta/v1/index.ts';
import { stableStringify } from '#machinery/deep.ts';
import { ownValue } from '#machinery/collections/string-map.ts';
import type { NamespaceAccess } from './access.ts';
import type { Controller } from './types.ts';
import { NEXT_CONTROLLER } from './annotations.ts';
import { RollingUpdateError } from './errors.ts';

export interface ImageChange {
  readonly image: string;
  /** Required if a pod has several containers. */
  readonly container?: string;
  /** Required if the controller has this image already. */
  readonly imagePullPolicy?: string;
  /** The key of the label that distinguishes the controllers. */
  readonly deploymentLabelKey: string;
}

const HASH_LENGTH = 32;

/**
 * Returns a value for a label and for a name. It depends on the resource version, so that repeated
 * equal updates get different values.
 */
export function hashOf(object: unknown): string {
  return createHash('sha256').update(stableStringify(object)).digest('hex').slice(0, HASH_LENGTH);
}

/**
 * Returns the new controller. `name`: default is a name derived from the old one. Throws
 * RollingUpdateError.
 */
export function withImage(
  old: Controller,
  { image, container, imagePullPolicy, deploymentLabelKey }: ImageChange,
  name: string | undefined,
): New<ReplicationController> {
  const template = old.spec.template;
  const containers = template?.spec.containers ?? [];
  const index = containerIndex(containers, container);
  const [first] = containers;
  if (first?.image === image && imagePullPolicy === undefined)
    throw new RollingUpdateError(
      '--image-pull-policy (Always|Never|IfNotPresent) must be provided ' +
        'when --image is the same as existing container image',
    );
  const changed = containers.map((each, at) =>
    at === index
      ? { ...each, image, ...(imagePullPolicy !== undefined && { imagePullPolicy }) }
      : each,
  );
  const spec = {
    ...old.spec,
    template: { ...template, spec: { ...template?.spec, containers: changed } },
  };
  const hash = hashOf({ ...old, spec });
  const label = { [deploymentLabelKey]: hash };
  return {
    metadata: {
      name: name ?? `${old.metadata.name}-${hash}`,
      namespace: old.metadata.namespace,
      labels: old.metadata.labels,
      annotations: {},
    },
    spec: {
      ...spec,
      selector: { ...old.spec.selector, ...label },
      template: {
        ...spec.template,
        metadata: { ...template?.metadata, labels: { ...template?.metadata?.labels, ...label } },
      },
    } as New<ReplicationController>['spec'],
  };
}

function containerIndex(
  containers: readonly Immutable<Container>[],
  wanted: string | undefined,
): number {
  if (containers.length === 0) throw new RollingUpdateError('pod has no containers!');
  if (wanted !== undefined) {
    const index = containers.findIndex(({ name }) => name === wanted);
    if (index < 0) throw new RollingUpdateError(`container ${wanted} not found in pod`);
    return index;
  }
  if (containers.length > 1)
    throw new RollingUpdateError(
      'must specify container to update when updating a multi-container pod',
    );
  return 0;
}

/**
 * Adds the distinguishing label to the old controller and its pods, and records the name of the new
 * controller. Idempotent.
 */
export async function prepareOld(
  access: NamespaceAccess,
  old: Controller,
  nextName: string,
  deploymentLabelKey: string,
): Promise<Controller> {
  const { name } = old.metadata;
  if (ownValue(old.spec.selector, deploymentLabelKey) !== undefined)
    return access.annotate(name, { [NEXT_CONTROLLER]: nextName });
  const value = `${hashOf(old)}-orig`;
  const label = { [deploymentLabelKey]: value };
  // New pods get the label first, then existing pods. The selector requires it last, so that no pod
  // loses its controller.
  const labelled = await access.change(name, (controller) => ({
    ...controller,
    metadata: {
      ...controller.metadata,
      annotations: { ...controller.metadata.annotations, [NEXT_CONTROLLER]: nextName },
    },
    spec: {
      ...controller.spec,
      template: {
        ...controller.spec.template,
        metadata: {
          ...controller.spec.template?.metadata,
          labels: { ...controller.spec.template?.metadata?.labels, ...label },
        },
      },
    },
  }));
  for (const pod of await access.podsOf(labelled))
    await access.labelPod(pod.metadata.name, deploymentLabelKey, value);
  const selecting = await access.change(name, (controller) => ({
    ...controller,
    spec: { ...controller.spec, selector: { ...controller.spec.selector, ...label } },
  }));
  // Pods that were created from the old template meanwhile lack the label, and belong to no
  // controller.
  for (const pod of await access.podsOf(labelled))
    if (pod.metadata.labels?.[deploymentLabelKey] !== value)
      await access.deletePod(pod.metadata.name);
  return selecting;
}
