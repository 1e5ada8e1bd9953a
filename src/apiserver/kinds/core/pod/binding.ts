// Binding a pod to a node, the only way to set spec.nodeName after creation.

import type * as core from '#api/groups/core/v1/index.ts';
import { validateBinding } from '#api/groups/core/v1/validation/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { mergedMap } from '#machinery/collections/string-map.ts';
import * as field from '#machinery/validation/field.ts';
import { FreshObject } from '#apiserver/registry/encoded-object.ts';
import type { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { CreateOptions, Rest } from '#apiserver/registry/rest.ts';
import type { RequestContext } from '#apiserver/registry/strategy.ts';
import { withCondition } from './conditions.ts';
import type { Pod } from './pod.ts';

type Binding = Immutable<core.Binding>;

const PODS = { group: '', resource: 'pods' } as const;
const BINDINGS = { group: '', resource: 'pods/binding' } as const;

/**
 * Serves pods/NAME/binding, and the older resource bindings, which have the pod's name in the
 * object.
 */
export function bindingRest(store: ResourceStore<Pod>, now: () => number): Rest {
  // A binding has its own rules (see bind), since the rules of pod updates do not allow setting the
  // node.
  const pods = store.view({ validateUpdate: () => [] });
  return {
    async create(
      context: RequestContext,
      parent: string,
      object: KubeObject,
      options: CreateOptions,
    ) {
      const binding = object as Binding;
      const name = parent === '' ? (binding.metadata.name ?? '') : parent;
      if ((binding.metadata.name ?? '') !== name) {
        throw apierrors.badRequest('name in URL does not match name in Binding object');
      }
      const problems = field.toAggregate(validateBinding(binding));
      // Kubernetes also reports this as a server error with the same text, not as Invalid.
      if (problems !== undefined) throw apierrors.badRequest(problems.message);
      await options.validate?.(binding, undefined);
      await pods.update(
        context,
        name,
        { apply: (pod) => bind(pod as Pod, binding, name, now()) },
        { dryRun: options.dryRun, fieldManager: options.fieldManager },
      );
      return new FreshObject({
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Success',
        code: 201,
      });
    },
  };
}

function bind(pod: Pod, binding: Binding, name: string, now: number): Pod {
  const conflict = (message: string, resource: apierrors.GroupResource = BINDINGS) =>
    apierrors.conflict(resource, name, new Error(message));
  const { uid, resourceVersion } = binding.metadata;
  // Upstream's storage checks these, which knows pods only.
  const broken = (message: string) => conflict(message, PODS);
  if ((uid ?? '') !== '' && uid !== pod.metadata.uid) {
    throw broken(
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${pod.metadata.uid}`,
    );
  }
  if ((resourceVersion ?? '') !== '' && resourceVersion !== pod.metadata.resourceVersion) {
    throw broken(
      `Precondition failed: ResourceVersion in precondition: ${resourceVersion}, ` +
        `ResourceVersion in object meta: ${pod.metadata.resourceVersion}`,
    );
  }
  if (pod.metadata.deletionTimestamp !== undefined)
    throw conflict(`pod ${name} is being deleted, cannot be assigned to a host`);
  if (pod.spec.nodeName !== undefined)
    throw conflict(`pod ${name} is already assigned to node "${pod.spec.nodeName}"`);
  if ((pod.spec.schedulingGates ?? []).length > 0)
    throw conflict(`pod ${name} has non-empty .spec.schedulingGates`);
  const { annotations, labels } = binding.metadata;
  const { nominatedNodeName: _, ...status } = pod.status;
  const conditions = withCondition(
    status.conditions,
    { type: 'PodScheduled', status: 'True' },
    now,
  );
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      ...(annotations !== undefined && {
        annotations: mergedMap(pod.metadata.annotations, annotations),
      }),
      ...(labels !== undefined && { labels: mergedMap(pod.metadata.labels, labels) }),
    },
    spec: { ...pod.spec, nodeName: binding.target.name },
    status: { ...status, conditions },
  };
}
