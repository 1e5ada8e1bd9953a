// The resource jobs.

import { jobs } from '#api/groups/batch/v1/index.ts';
import { jobTable } from '#apiserver/printers/batch.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '#apiserver/kinds/services.ts';
import { jobStatusStrategy, jobStrategy, type Job } from './strategy.ts';

export function jobResource(services: RegistryServices): Kind {
  const store = new ResourceStore<Job>({ ...services, type: jobs, strategy: jobStrategy });
  return {
    type: jobs,
    rest: store,
    table: jobTable,
    subresources: [{ name: 'status', kind: { group: 'batch', version: 'v1', kind: 'Job' }, rest: store.view(jobStatusStrategy) }],
  };
}
