// The resources of the group resource.k8s.io.

import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import { deviceClassResource } from './device-class.ts';
import { resourceClaimTemplateResource } from './resource-claim-template.ts';
import { resourceClaimResource } from './resource-claim.ts';
import { resourceSliceResource } from './resource-slice.ts';

export function deviceResources(services: RegistryServices): readonly Kind[] {
  return [
    deviceClassResource(services),
    resourceClaimResource(services),
    resourceClaimTemplateResource(services),
    resourceSliceResource(services),
  ];
}
