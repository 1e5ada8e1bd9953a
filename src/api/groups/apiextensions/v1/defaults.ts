// Defaults of CustomResourceDefinitions.

import type { Defaulters } from '#api/machinery/scheme.ts';
import type { CustomResourceDefinition } from './types.ts';

const HTTPS_PORT = 443;

/**
 * Sets the names that follow from the kind, the conversion strategy, the port of a webhook's
 * service, and the stored versions.
 */
function setCustomResourceDefinitionDefaults(definition: CustomResourceDefinition): void {
  const { spec } = definition;
  const { names } = spec;
  if ((names.singular ?? '') === '') names.singular = names.kind.toLowerCase();
  if ((names.listKind ?? '') === '' && names.kind !== '') names.listKind = `${names.kind}List`;
  spec.conversion ??= { strategy: 'None' };
  const service = spec.conversion.webhook?.clientConfig?.service;
  if (service !== undefined) service.port ??= HTTPS_PORT;
  const { status } = definition;
  if ((status.storedVersions ?? []).length > 0) return;
  const stored = spec.versions.find(({ storage }) => storage);
  if (stored !== undefined) status.storedVersions = [stored.name];
}

/** Defaulters by kind. Kinds without defaults have no entry. */
export const defaulters: Defaulters = {
  CustomResourceDefinition: setCustomResourceDefinitionDefaults,
};
