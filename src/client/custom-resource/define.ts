// Defines a custom resource from a schema literal. One description defines the TypeScript type, the
// resource for clients, and the CustomResourceDefinition for the server.

import type {
  CustomResourceColumnDefinition,
  CustomResourceDefinition,
  CustomResourceSubresourceScale,
} from '#api/groups/apiextensions/v1/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { KubeObject, New } from '#api/machinery/meta/v1/index.ts';
import { defineResource } from '../define-resource.ts';
import type { ObjectSchema, Schema, ValueOf } from './schema.ts';

export interface CustomResourceDescription {
  /** The API group, such as 'example.com'. */
  readonly group: string;
  /** The only version, such as 'v1', which is served and stored. */
  readonly version: string;
  readonly kind: string;
  /** The plural in lower case. Default: the kind in lower case with an 's'. */
  readonly resource?: string;
  /** Default: true. */
  readonly namespaced?: boolean;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  /**
   * The fields of an object in addition to apiVersion, kind and metadata. With `status` the
   * resource has a status subresource.
   */
  readonly schema: {
    readonly spec?: Schema;
    readonly status?: Schema;
    readonly [field: string]: Schema | undefined;
  };
  /** The fields of `schema` that every object must have. */
  readonly required?: readonly string[];
  readonly columns?: readonly Readonly<CustomResourceColumnDefinition>[];
  readonly scale?: Readonly<CustomResourceSubresourceScale>;
}

/** A custom resource, for clients, controllers and `cluster.install`. */
export interface CustomResourceType<T extends KubeObject> extends ResourceType<T> {
  /** The definition that makes a server serve the resource. */
  readonly definition: New<CustomResourceDefinition>;
}

/** The type of the objects that a description describes. */
export type ObjectOf<D extends CustomResourceDescription> = KubeObject &
  ValueOf<{
    readonly type: 'object';
    readonly properties: D['schema'];
    readonly required: D extends { readonly required: infer R } ? R : readonly [];
  }>;

/** The type of the objects of a resource: `type Tenant = KindOf<typeof tenants>`. */
export type KindOf<R> = R extends ResourceType<infer T> ? T : never;

/**
 * Returns a custom resource whose objects have the type of the schema. Throws TypeError for invalid
 * names. The schema is validated by the server only.
 */
export function defineCustomResource<const D extends CustomResourceDescription>(
  description: D,
): CustomResourceType<ObjectOf<D>> {
  const { group, version, kind, namespaced = true, shortNames = [], categories = [] } = description;
  const { resource = `${kind.toLowerCase()}s` } = description;
  if (group === '') throw new TypeError('a custom resource needs a group, such as example.com');
  const type = defineResource<ObjectOf<D>>({ group, version, kind, resource, namespaced });
  return {
    ...type,
    shortNames: [...shortNames],
    categories: [...categories],
    definition: definitionOf(description, type),
  };
}

function definitionOf(
  description: CustomResourceDescription,
  { group, version, kind, resource, singular, namespaced }: ResourceType,
): New<CustomResourceDefinition> {
  const { schema, required, shortNames, categories, columns, scale } = description;
  const subresources = {
    ...(schema.status !== undefined && { status: {} }),
    ...(scale !== undefined && { scale }),
  };
  const root: ObjectSchema = {
    type: 'object',
    properties: schema as ObjectSchema['properties'] & object,
    ...(required !== undefined && { required }),
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${resource}.${group}` },
    spec: {
      group,
      scope: namespaced ? 'Namespaced' : 'Cluster',
      names: {
        plural: resource,
        singular,
        kind,
        ...(shortNames !== undefined && { shortNames }),
        ...(categories !== undefined && { categories }),
      },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: root },
          ...(Object.keys(subresources).length > 0 && { subresources }),
          ...(columns !== undefined && { additionalPrinterColumns: columns }),
        },
      ],
    },
  };
}
