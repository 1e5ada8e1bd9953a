// The resources of the group resource.k8s.io.

import type { ServedResource } from '../rest.ts';
import type { RegistryServices } from '../services.ts';
import { deviceClassResource } from './device-class/index.ts';
import { resourceClaimTemplateResource } from './resource-claim-template/index.ts';
import { resourceClaimResource } from './resource-claim/index.ts';
import { resourceSliceResource } from './resource-slice/index.ts';

export function deviceResources(services: RegistryServices): readonly ServedResource[] {
  return [
    deviceClassResource(services),
    resourceClaimResource(services),
    resourceClaimTemplateResource(services),
    resourceSliceResource(services),
  ];
}
