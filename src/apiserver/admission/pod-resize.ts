// The plugins that validate resizes of pods share these checks.

import type { Node } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { andThen, type Awaitable } from '#machinery/awaitable.ts';
import type { AdmissionAttributes, AdmissionTarget } from './plugin.ts';
import type { ImmutablePod } from './pod-defaults.ts';
import type { AdmissionServices } from './services.ts';

export function isPodResize({ operation, resource, subresource }: AdmissionTarget): boolean {
  return (
    operation === 'UPDATE' &&
    resource.group === '' &&
    resource.resource === 'pods' &&
    subresource === 'resize'
  );
}

/** Reports whether a resize changes a pod that has a node. */
export function changesBoundPod({ object, oldObject }: AdmissionAttributes): boolean {
  const pod = object as ImmutablePod;
  return (
    pod.spec.nodeName !== undefined && oldObject?.metadata.generation !== pod.metadata.generation
  );
}

/** Calls `check` with the node of the pod. Throws or rejects with Forbidden if it does not exist. */
export function withNodeOf(
  attributes: AdmissionAttributes,
  find: AdmissionServices['find'],
  check: (node: Immutable<Node>) => void,
): Awaitable<void> {
  const { nodeName = '' } = (attributes.object as ImmutablePod).spec;
  return andThen(find<Immutable<Node>>('', 'nodes', '', nodeName), (node) => {
    if (node === undefined) throw refusal(attributes, `node ${JSON.stringify(nodeName)} not found`);
    check(node);
  });
}

export function refusal(
  { resource, name }: AdmissionAttributes,
  why: string,
): apierrors.StatusError {
  return apierrors.forbidden(resource, name, why);
}
