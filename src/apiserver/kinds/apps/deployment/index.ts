// The resource deployments.

import { deployments } from '#api/groups/apps/v1/index.ts';
import { labelSelectorAsSelector } from '#machinery/selectors/labels.ts';
import { deploymentTable } from '#apiserver/printers/workloads.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import { scaleSubresource } from '#apiserver/kinds/scale.ts';
import type { RegistryServices } from '#apiserver/kinds/services.ts';
import { deploymentStatusStrategy, deploymentStrategy, type Deployment } from './strategy.ts';

export function deploymentResource(services: RegistryServices): Kind {
  const store = new ResourceStore<Deployment>({ ...services, type: deployments, strategy: deploymentStrategy });
  return {
    type: deployments,
    rest: store,
    table: deploymentTable,
    subresources: [
      { name: 'status', kind: { group: 'apps', version: 'v1', kind: 'Deployment' }, rest: store.view(deploymentStatusStrategy) },
      scaleSubresource(store, {
        specReplicas: (deployment) => deployment.spec.replicas,
        statusReplicas: (deployment) => deployment.status.replicas ?? 0,
        selector: (deployment) => labelSelectorAsSelector(deployment.spec.selector).toString(),
        withReplicas: (deployment, replicas) => ({ ...deployment, spec: { ...deployment.spec, replicas } }),
      }),
    ],
  };
}
