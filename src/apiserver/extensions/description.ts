// A custom resource as its definition describes it, without schemas. This is what stays in memory
// for each definition; schemas are read from the definition's bytes when they are needed.

import type * as apiextensions from '#api/groups/apiextensions/v1/index.ts';
import { isConditionTrue } from '#api/groups/apiextensions/v1/conditions.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';

export type CustomResourceDefinition = Immutable<apiextensions.CustomResourceDefinition>;
export type Conversion = Immutable<apiextensions.CustomResourceConversion>;
export type PrinterColumn = Immutable<apiextensions.CustomResourceColumnDefinition>;
export type ScalePaths = Immutable<apiextensions.CustomResourceSubresourceScale>;

export interface CustomVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly deprecated: boolean;
  /** The text that replaces the standard deprecation warning. */
  readonly deprecationWarning?: string;
  readonly hasSchema: boolean;
  /** The version has the subresource status. */
  readonly hasStatus: boolean;
  /** The paths of the subresource scale. Absent: the version has none. */
  readonly scale?: ScalePaths;
  readonly columns: readonly PrinterColumn[];
  /** JSONPaths such as '.spec.color'. */
  readonly selectableFields: readonly string[];
}

export interface CustomResource {
  /** The name of the definition, such as 'widgets.example.com'. */
  readonly name: string;
  readonly group: string;
  readonly namespaced: boolean;
  /**
   * The accepted names, from the definition's status, which are served. Requested names may be in
   * conflict with another definition.
   */
  readonly names: {
    readonly plural: string;
    readonly singular: string;
    readonly kind: string;
    readonly listKind: string;
    readonly shortNames: readonly string[];
    readonly categories: readonly string[];
  };
  /** The requested kind. */
  readonly requestedKind: string;
  readonly versions: readonly CustomVersion[];
  readonly conversion: Conversion;
}

/**
 * Returns the description of a definition's resource. Undefined: its names are not accepted, so
 * nothing is served. The result does not refer to the definition itself.
 */
export function describeResource(definition: CustomResourceDefinition): CustomResource | undefined {
  const { metadata, spec, status } = definition;
  const {
    plural,
    singular = '',
    kind,
    listKind = '',
    shortNames = [],
    categories = [],
  } = status.acceptedNames;
  if (plural === '' || singular === '' || kind === '' || listKind === '') return undefined;
  return {
    name: metadata.name,
    group: spec.group,
    namespaced: spec.scope === 'Namespaced',
    names: { plural, singular, kind, listKind, shortNames, categories },
    requestedKind: spec.names.kind,
    versions: spec.versions.map(describeVersion),
    conversion: spec.conversion ?? { strategy: 'None' },
  };
}

function describeVersion(
  version: CustomResourceDefinition['spec']['versions'][number],
): CustomVersion {
  const {
    name,
    served,
    storage,
    deprecated = false,
    deprecationWarning,
    schema,
    subresources,
  } = version;
  return {
    name,
    served,
    storage,
    deprecated,
    ...(deprecationWarning !== undefined && { deprecationWarning }),
    hasSchema: schema?.openAPIV3Schema !== undefined,
    hasStatus: subresources?.status !== undefined,
    ...(subresources?.scale !== undefined && { scale: subresources.scale }),
    columns: version.additionalPrinterColumns ?? [],
    selectableFields: (version.selectableFields ?? []).map(({ jsonPath }) => jsonPath),
  };
}

/** Which requests a definition's resource serves. */
export interface ServingState {
  /** The resource can be requested. */
  readonly served: boolean;
  /** Discovery and OpenAPI describe it. */
  readonly established: boolean;
  /** The definition is being deleted, so no objects are created. */
  readonly terminating: boolean;
}

export function servingState({ status }: CustomResourceDefinition): ServingState {
  const established = isConditionTrue(status, 'Established');
  return {
    served: established || isConditionTrue(status, 'NamesAccepted'),
    established,
    terminating: isConditionTrue(status, 'Terminating'),
  };
}
