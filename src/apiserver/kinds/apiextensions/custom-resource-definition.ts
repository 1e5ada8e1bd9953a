// The resource customresourcedefinitions.

import { customResourceDefinitions } from '#api/groups/apiextensions/v1/index.ts';
import type * as apiextensions from '#api/groups/apiextensions/v1/index.ts';
import {
  definitionName,
  validateDefinition,
  validateDefinitionUpdate,
  validateStatus,
} from '#api/groups/apiextensions/v1/validation/index.ts';
import { definitionFromV1beta1 } from '#api/groups/apiextensions/v1/from-v1beta1.ts';
import { definitionWarnings } from '#api/groups/apiextensions/v1/warnings.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { functionConverter } from '#apiserver/registry/object-converter.ts';
import { allSchemas } from '#api/all-schemas.ts';
import { decodeObject } from '#api/machinery/codec/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';
import { runSteps } from '#machinery/turn.ts';
import * as field from '#machinery/validation/field.ts';
import { withCleanupFinalizer } from './deletion.ts';

type CustomResourceDefinition = Immutable<apiextensions.CustomResourceDefinition>;

const NO_STATUS: CustomResourceDefinition['status'] = {
  conditions: null,
  acceptedNames: { plural: '', kind: '' },
  storedVersions: null,
};

/**
 * Returns the definition with its storage version recorded, because objects may be stored in it
 * from now on.
 */
function withStoredVersion(definition: CustomResourceDefinition): CustomResourceDefinition {
  const { spec, status } = definition;
  const stored = spec.versions.find(({ storage }) => storage);
  const recorded = status.storedVersions ?? [];
  if (stored === undefined || recorded.includes(stored.name)) return definition;
  return { ...definition, status: { ...status, storedVersions: [...recorded, stored.name] } };
}

const strategy: ResourceStrategy<CustomResourceDefinition> = {
  generation: true,
  allowUnconditionalUpdate: false,
  prepareForCreate: (definition) =>
    withStoredVersion(withoutEmptyWebhook({ ...definition, status: NO_STATUS })),
  anyFinalizer: true,
  validateName: definitionName,
  validate: (definition) => runSteps(validateDefinition(definition)),
  validateInSteps: (definition) => field.boundedSteps(validateDefinition(definition)),
  warningsOnCreate: (definition) => definitionWarnings(definition),
  prepareForUpdate: (definition, old) =>
    withStoredVersion(withoutEmptyWebhook({ ...definition, status: old.status })),
  validateUpdate: (definition, old) => runSteps(validateDefinitionUpdate(definition, old)),
  validateUpdateInSteps: (definition, old) =>
    field.boundedSteps(validateDefinitionUpdate(definition, old)),
  warningsOnUpdate: (definition, old) => definitionWarnings(definition, old),
  // The first request to delete a definition only starts its deletion.
  hasPendingFinalizers: ({ metadata }) => metadata.deletionTimestamp === undefined,
  prepareForDelete: withCleanupFinalizer,
};

/** As upstream, a webhook without configuration counts as none. */
function withoutEmptyWebhook(definition: CustomResourceDefinition): CustomResourceDefinition {
  const { conversion } = definition.spec;
  const webhook = conversion?.webhook;
  if (conversion === undefined || webhook === undefined) return definition;
  if (webhook.clientConfig !== undefined || webhook.conversionReviewVersions.length > 0)
    return definition;
  const { webhook: _empty, ...rest } = conversion;
  return { ...definition, spec: { ...definition.spec, conversion: rest } };
}

const statusStrategy: SubresourceStrategy<CustomResourceDefinition> = {
  allowUnconditionalUpdate: false,
  prepareForUpdate: (definition, old) => ({ ...definition, spec: old.spec }),
  validateUpdate: ({ status }) => validateStatus(status),
};

/** Reads the version that API servers before 1.22 stored; it is not served. */
const converter = functionConverter({
  'apiextensions.k8s.io/v1beta1': {
    'apiextensions.k8s.io/v1': (stored: object) => {
      const { group, version, kind } = customResourceDefinitions;
      const { message } = allSchemas.lookup({ group, version, kind })!;
      return decodeObject(message, definitionFromV1beta1({ ...stored })).object;
    },
  },
});

export const customResourceDefinitionKind = defineKind<CustomResourceDefinition>({
  type: customResourceDefinitions,
  converter,
  strategy,
  subresources: { status: { strategy: statusStrategy } },
});
