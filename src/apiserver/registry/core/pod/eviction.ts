// Eviction: a deletion that a disruption budget may refuse. No budgets are served yet, so it is always allowed.

import type { KubeObject } from '../../../../client/client.ts';
import * as apierrors from '../../../../machinery/apierrors.ts';
import { FreshObject } from '../../encoded-object.ts';
import type { ResourceStore } from '../../resource-store.ts';
import type { DeleteOptions, Rest } from '../../rest.ts';
import type { Pod } from './strategy.ts';

interface Eviction extends KubeObject {
  readonly deleteOptions?: {
    readonly gracePeriodSeconds?: number;
    readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
    readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground';
    readonly dryRun?: readonly string[];
  };
}

export function evictionRest(store: ResourceStore<Pod>): Rest {
  return {
    async create(context, name, object, options) {
      const eviction = object as Eviction;
      if ((eviction.metadata.name ?? name) !== name)
        throw apierrors.badRequest('name in URL does not match name in Eviction object');
      await options.validate?.(eviction, undefined);
      const { gracePeriodSeconds, preconditions, propagationPolicy, dryRun } = eviction.deleteOptions ?? {};
      const deletion: DeleteOptions = {
        dryRun: options.dryRun || (dryRun ?? []).includes('All'),
        ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
        ...(preconditions !== undefined && { preconditions }),
        ...(propagationPolicy !== undefined && { propagationPolicy }),
      };
      await store.delete(context, name, deletion);
      return new FreshObject({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 });
    },
  };
}
