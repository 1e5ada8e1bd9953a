// The resource resourceclaimtemplates.

import { resourceClaimTemplates } from '#api/groups/resource/v1/index.ts';
import type * as resource from '#api/groups/resource/v1/index.ts';
import { validateResourceClaimTemplate, validateResourceClaimTemplateUpdate } from '#api/groups/resource/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { namedTable } from '#apiserver/printers/devices.ts';
import type { Find } from '#apiserver/catalog/find.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { authorizeAdminAccess, REQUESTS } from './admin-access.ts';

type ResourceClaimTemplate = Immutable<resource.ResourceClaimTemplate>;
const KIND = { group: 'resource.k8s.io', version: 'v1', kind: 'ResourceClaimTemplate' };

export const resourceClaimTemplateStrategy = (find: Find): ResourceStrategy<ResourceClaimTemplate> => ({
  checksNameOnUpdate: true,
  returnDeletedObject: true,
  reserveForCreate: (template) =>
    authorizeAdminAccess(
      find,
      KIND,
      template,
      (template.spec.spec.devices.requests ?? []).map(({ exactly }) => exactly),
      REQUESTS,
      () => validateResourceClaimTemplate(template),
    ),
  validate: (template) => validateResourceClaimTemplate(template),
  validateUpdate: (template, old) => [
    ...validateResourceClaimTemplate(template),
    ...validateResourceClaimTemplateUpdate(template, old),
  ],
});

export function resourceClaimTemplateResource(services: RegistryServices): Kind {
  const strategy = resourceClaimTemplateStrategy(services.find);
  return {
    type: resourceClaimTemplates,
    rest: new ResourceStore<ResourceClaimTemplate>({ ...services, type: resourceClaimTemplates, strategy }),
    table: namedTable,
  };
}
