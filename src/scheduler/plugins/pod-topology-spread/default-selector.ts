// The default group among which a pod is spread: pods of the same services and the same controller.

import { replicationControllers, services } from '#api/groups/core/v1/index.ts';
import { replicaSets, type StatefulSet, statefulSets } from '#api/groups/apps/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Lister } from '#client/informers/index.ts';
import {
  labelSelectorAsSelector,
  type LabelSelector,
  type Selector,
  selectorFromSet,
} from '#machinery/selectors/labels.ts';
import type { Handle } from '#scheduler/framework/handle.ts';
import type { Pod } from '#scheduler/framework/objects.ts';

/** Returns the selector of the group; an empty selector if there is no such group. */
export type DefaultSelector = (pod: Pod) => Selector;

/**
 * Returns the function, and requests its informers. The informer of stateful sets is requested when
 * a pod of one is first seen: not every API server serves them, and scheduling waits for the first
 * list of every informer that is requested at the start. `atOnce`: request it now nevertheless.
 */
export function defaultSelectorFrom(
  { informers, startInformers }: Handle,
  atOnce: boolean,
): DefaultSelector {
  const serviceLister = informers.informerFor(services).lister;
  const controllerLister = informers.informerFor(replicationControllers).lister;
  const replicaSetLister = informers.informerFor(replicaSets).lister;
  let statefulSetLister: Lister<Immutable<StatefulSet>> | undefined;
  const askForStatefulSets = (): Lister<Immutable<StatefulSet>> => {
    statefulSetLister = informers.informerFor(statefulSets).lister;
    return statefulSetLister;
  };
  if (atOnce) askForStatefulSets();

  return ({ metadata }) => {
    const { namespace = '', labels = {}, ownerReferences = [] } = metadata;
    const wanted: Record<string, string> = {};
    for (const { spec } of serviceLister.list(namespace)) {
      const selector = Object.entries(spec.selector ?? {});
      if (selector.every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value))
        Object.assign(wanted, spec.selector);
    }
    const owner = ownerReferences.find((reference) => reference.controller === true);
    const narrowed = (selector: LabelSelector | undefined): Selector =>
      selectorFromSet(wanted).add(...(labelSelectorAsSelector(selector).requirements() ?? []));
    switch (owner === undefined ? '' : `${owner.apiVersion} ${owner.kind}`) {
      case 'v1 ReplicationController':
        Object.assign(wanted, controllerLister.get(namespace, owner?.name ?? '')?.spec.selector);
        return selectorFromSet(wanted);
      case 'apps/v1 ReplicaSet':
        return narrowed(replicaSetLister.get(namespace, owner?.name ?? '')?.spec.selector);
      case 'apps/v1 StatefulSet': {
        if (statefulSetLister === undefined) {
          askForStatefulSets();
          startInformers();
        }
        return narrowed(statefulSetLister?.get(namespace, owner?.name ?? '')?.spec.selector);
      }
      default:
        return selectorFromSet(wanted);
    }
  };
}
