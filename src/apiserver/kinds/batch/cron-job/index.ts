// The resource cronjobs.

import { cronJobs } from '#api/groups/batch/v1/index.ts';
import { cronJobTable } from '#apiserver/printers/batch.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '#apiserver/kinds/services.ts';
import { cronJobStatusStrategy, cronJobStrategy, type CronJob } from './strategy.ts';

export function cronJobResource(services: RegistryServices): Kind {
  const store = new ResourceStore<CronJob>({ ...services, type: cronJobs, strategy: cronJobStrategy });
  return {
    type: cronJobs,
    rest: store,
    table: cronJobTable,
    subresources: [
      { name: 'status', kind: { group: 'batch', version: 'v1', kind: 'CronJob' }, rest: store.view(cronJobStatusStrategy) },
    ],
  };
}
