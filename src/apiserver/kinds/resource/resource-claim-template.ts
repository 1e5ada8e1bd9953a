// The resource resourceclaimtemplates.

import { resourceClaimTemplates } from '#api/groups/resource/v1/index.ts';
import type * as resource from '#api/groups/resource/v1/index.ts';
import {
  validateResourceClaimTemplate,
  validateResourceClaimTemplateUpdate,
} from '#api/groups/resource/v1/validation/index.ts';
import { resourceClaimTemplateConversions } from '#api/groups/resource/v1beta1/conversion.ts';
import { resourceClaimTemplates as first } from '#api/groups/resource/v1beta1/index.ts';
import { resourceClaimTemplates as second } from '#api/groups/resource/v1beta2/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind, type KindConfig } from '#apiserver/catalog/define-kind.ts';
import { functionConverter } from '#apiserver/registry/object-converter.ts';
import type { Find } from '#apiserver/catalog/internal-client.ts';
import type { StoreServices } from '#apiserver/registry/resource-store.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { namedTable } from '#apiserver/tables/named.ts';
import { REQUESTS, authorizeAdminAccess } from './admin-access.ts';
import { betaKinds } from './beta.ts';

type ResourceClaimTemplate = Immutable<resource.ResourceClaimTemplate>;
const KIND = { group: 'resource.k8s.io', version: 'v1', kind: 'ResourceClaimTemplate' };

const resourceClaimTemplateStrategy = (find: Find): ResourceStrategy<ResourceClaimTemplate> => ({
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

const BETA = [second, first];

const config: KindConfig<ResourceClaimTemplate, StoreServices & { readonly find: Find }> = {
  type: resourceClaimTemplates,
  converter: functionConverter(resourceClaimTemplateConversions),
  otherVersions: BETA,
  strategy: ({ find }) => resourceClaimTemplateStrategy(find),
  table: namedTable,
};

export const resourceClaimTemplateKind = defineKind(config);
export const betaResourceClaimTemplateKinds = betaKinds(
  config,
  BETA,
  resourceClaimTemplateConversions,
);
