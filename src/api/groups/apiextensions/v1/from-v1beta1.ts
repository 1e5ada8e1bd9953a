// Definitions in the form of v1beta1, which API servers before 1.22 stored and which nothing may have
// written since. It is read only, with upstream's defaults of that version.

import { isPlainObject } from '#machinery/deep.ts';

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields => (isPlainObject(value) ? value : {});
const listOf = (value: unknown): readonly Fields[] =>
  Array.isArray(value) ? value.map(fieldsOf) : [];
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Returns the fields of a definition in v1, without kind and apiVersion. */
export function definitionFromV1beta1({ metadata, spec, status }: Fields): Fields {
  const converted = specFrom(fieldsOf(spec));
  const storage = converted.versions.find((version) => version['storage'] === true);
  const { storedVersions } = fieldsOf(status);
  const hasStored = Array.isArray(storedVersions) && storedVersions.length > 0;
  return {
    metadata,
    spec: converted,
    status: {
      conditions: null,
      acceptedNames: { plural: '', kind: '' },
      ...fieldsOf(status),
      storedVersions: hasStored ? storedVersions : storage === undefined ? null : [storage['name']],
    },
  };
}

function specFrom(spec: Fields): Fields & { readonly versions: readonly Fields[] } {
  const { group, scope = 'Namespaced', preserveUnknownFields = true } = spec;
  const names = fieldsOf(spec['names']);
  const kind = textOf(names['kind']);
  return {
    group,
    names: {
      ...names,
      singular: textOf(names['singular']) || kind.toLowerCase(),
      listKind: textOf(names['listKind']) || `${kind}List`,
    },
    scope,
    versions: versionsFrom(spec),
    conversion: conversionFrom(fieldsOf(spec['conversion'])),
    ...(preserveUnknownFields === true && { preserveUnknownFields }),
  };
}

/** Fields of the specification hold for all versions. */
function versionsFrom(spec: Fields): readonly Fields[] {
  const { version, validation, subresources, selectableFields } = spec;
  const given = listOf(spec['versions']);
  const versions = given.length > 0 ? given : [{ name: version, served: true, storage: true }];
  return versions.map(({ additionalPrinterColumns, ...more }) => ({
    ...(validation !== undefined && { schema: validation }),
    ...(subresources !== undefined && { subresources }),
    ...(selectableFields !== undefined && { selectableFields }),
    ...columnsFrom(additionalPrinterColumns ?? spec['additionalPrinterColumns']),
    ...more,
  }));
}

function columnsFrom(columns: unknown): Fields {
  const converted = listOf(columns).map(({ JSONPath: jsonPath, ...column }) => ({
    ...column,
    jsonPath,
  }));
  return converted.length === 0 ? {} : { additionalPrinterColumns: converted };
}

function conversionFrom({
  strategy = 'None',
  webhookClientConfig: clientConfig,
  conversionReviewVersions = ['v1beta1'],
}: Fields): Fields {
  if (strategy !== 'Webhook') return { strategy };
  return {
    strategy,
    webhook: { ...(clientConfig !== undefined && { clientConfig }), conversionReviewVersions },
  };
}
