// Eviction: a deletion that a disruption budget may refuse. No budgets are served yet, so it is always allowed.

import type { KubeObject } from '../../../../client/client.ts';
import * as apierrors from '../../../../machinery/apierrors.ts';
import { FreshObject } from '../../encoded-object.ts';
import type { ResourceStore } from '../../resource-store.ts';
import type { DeleteOptions, Rest } from '../../rest.ts';
import { withCondition } from './conditions.ts';
import { podStatusStrategy } from './strategy.ts';
import type { Pod } from './strategy.ts';

interface Eviction extends KubeObject {
  readonly deleteOptions?: Omit<DeleteOptions, 'dryRun'> & { readonly dryRun?: readonly string[] };
}

const EVICTED = {
  type: 'DisruptionTarget',
  status: 'True',
  reason: 'EvictionByEvictionAPI',
  message: 'Eviction API: evicting',
} as const;

export function evictionRest(store: ResourceStore<Pod>, now: () => number): Rest {
  const status = store.view(podStatusStrategy);
  return {
    async create(context, name, object, options) {
      const eviction = object as Eviction;
      if ((eviction.metadata.name ?? '') !== name) {
        throw apierrors.badRequest('name in URL does not match name in Eviction object');
      }
      await options.validate?.(eviction, undefined);
      const { gracePeriodSeconds, propagationPolicy, orphanDependents, dryRun: requested = [] } = eviction.deleteOptions ?? {};
      const dryRun = options.dryRun || requested.includes('All');
      let { preconditions } = eviction.deleteOptions ?? {};
      if (!dryRun) {
        // Why it goes is to be seen on the pod, so it is written first.
        const { object: marked } = await status.update(
          context,
          name,
          { apply: (pod) => markEvicted(pod as Pod, preconditions, now()) },
          { dryRun, fieldManager: options.fieldManager },
        );
        const { resourceVersion = '' } = (marked.object() as Pod).metadata;
        if ((preconditions?.resourceVersion ?? '') !== '') preconditions = { ...preconditions, resourceVersion };
      }
      await store.delete(context, name, {
        dryRun,
        ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
        ...(preconditions !== undefined && { preconditions }),
        ...(propagationPolicy !== undefined && { propagationPolicy }),
        ...(orphanDependents !== undefined && { orphanDependents }),
      });
      return new FreshObject({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 });
    },
  };
}

function markEvicted(pod: Pod, preconditions: DeleteOptions['preconditions'], now: number): Pod {
  const { uid, resourceVersion } = pod.metadata;
  const { uid: wantedUid = uid, resourceVersion: wantedVersion = resourceVersion } = preconditions ?? {};
  const conflict = (what: string, wanted: string, found: string | undefined, why: string): Error =>
    apierrors.conflict(
      { group: '', resource: 'Pod' },
      pod.metadata.name,
      `the ${what} in the precondition (${wanted}) does not match the ${what} in record (${found}). ${why}`,
    );
  if (wantedUid !== '' && wantedUid !== uid) {
    throw conflict('UID', wantedUid, uid, 'The object might have been deleted and then recreated');
  }
  if (wantedVersion !== '' && wantedVersion !== resourceVersion) {
    throw conflict('ResourceVersion', wantedVersion, resourceVersion, 'The object might have been modified');
  }
  const condition = { ...EVICTED, ...(pod.metadata.generation !== undefined && { observedGeneration: pod.metadata.generation }) };
  return { ...pod, status: { ...pod.status, conditions: withCondition(pod.status.conditions, condition, now) } };
}
