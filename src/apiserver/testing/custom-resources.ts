// Custom resources for tests: short definitions, which are created and established.

import {
  type CustomResourceDefinition,
  customResourceDefinitions,
  type CustomResourceDefinitionVersion,
} from '#api/groups/apiextensions/v1/index.ts';
import { isConditionTrue } from '#api/groups/apiextensions/v1/conditions.ts';
import type { Client } from '#client/client.ts';

export interface DefinitionOptions {
  readonly group?: string;
  readonly plural?: string;
  readonly kind?: string;
  readonly scope?: 'Namespaced' | 'Cluster';
  readonly names?: Partial<CustomResourceDefinition['spec']['names']>;
  readonly conversion?: CustomResourceDefinition['spec']['conversion'];
}

/**
 * Returns a version of a definition: served, stored, and with a schema that allows any field.
 * `more` overrides that.
 */
export function definitionVersion(
  name = 'v1',
  more: Partial<CustomResourceDefinitionVersion> = {},
): CustomResourceDefinitionVersion {
  const openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  return { name, served: true, storage: true, schema: { openAPIV3Schema }, ...more };
}

/** Returns a definition of Widgets in example.com. The options override that. */
export function definitionOf(
  versions: readonly CustomResourceDefinitionVersion[] = [definitionVersion()],
  options: DefinitionOptions = {},
): CustomResourceDefinition {
  const {
    group = 'example.com',
    plural = 'widgets',
    kind = 'Widget',
    scope = 'Namespaced',
    names = {},
    conversion,
  } = options;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { plural, kind, ...names },
      versions: [...versions],
      ...(conversion !== undefined && { conversion }),
    },
  } as CustomResourceDefinition;
}

/** Creates the definition, and resolves once it is established. */
export async function define(
  client: Client,
  definition: CustomResourceDefinition,
): Promise<CustomResourceDefinition> {
  const definitions = client.resource<CustomResourceDefinition>(customResourceDefinitions);
  const created = await definitions.create(definition);
  return await established(client, created.metadata.name);
}

/** Resolves with the definition once it is established. */
export async function established(client: Client, name: string): Promise<CustomResourceDefinition> {
  const definitions = client.resource<CustomResourceDefinition>(customResourceDefinitions);
  const stream = await definitions.watch({ fieldSelector: `metadata.name=${name}` });
  try {
    for await (const { object } of stream)
      if (isConditionTrue(object.status, 'Established')) return object as CustomResourceDefinition;
  } finally {
    stream.stop();
  }
  throw new Error(`the watch of ${name} ended`);
}
