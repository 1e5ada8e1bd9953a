// Builds the OpenAPI v3 document of a group version, and the parts that v2 and v3 share. Documents
// are built in steps, since those of large custom kinds have many megabytes.

import type { OpenApiType } from '#api/machinery/codec/object-codec.ts';
import {
  OpenApiDefinitions,
  type OpenApiSchema,
  PATCH_DEFINITION,
} from '#api/machinery/openapi/index.ts';
import type { Steps } from '#machinery/turn.ts';
import type { Operation, Parameter } from './operations.ts';

export interface DocumentInfo {
  readonly title: string;
  /** The version of the API, without the patch release: 1.36. */
  readonly version: string;
}

interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

export const STATUS_TEXT: Readonly<Record<number, string>> = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  401: 'Unauthorized',
};

/** The number of operations that are described, or rendered, in one step. */
const [DEFINED_PER_STEP, RENDERED_PER_STEP] = [8, 200];

/**
 * Returns the definitions of all types in the operations. `groupVersions`: those of the kinds that
 * belong to all of them.
 */
export function* definitionsOf(
  operations: readonly Operation[],
  version: 2 | 3,
  groupVersions: readonly GroupVersion[] = groupVersionsOf(operations),
): Steps<Record<string, OpenApiSchema>> {
  const definitions = new OpenApiDefinitions(version, { groupVersions });
  for (const [index, { body, answer }] of operations.entries()) {
    if (index % DEFINED_PER_STEP === DEFINED_PER_STEP - 1) yield;
    if (body === 'patch') definitions.addPatch();
    else body?.define(definitions);
    answer?.define(definitions);
  }
  return definitions.schemas();
}

/**
 * Returns the group versions sorted by name, since documents must not depend on the order in which
 * kinds were installed.
 */
function groupVersionsOf(operations: readonly Operation[]): readonly GroupVersion[] {
  const keys = new Map<string, GroupVersion>();
  for (const { gvk } of operations)
    if (gvk !== undefined)
      keys.set(`${gvk.group}/${gvk.version}`, { group: gvk.group, version: gvk.version });
  return [...keys].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, groupVersion]) => groupVersion);
}

/** Returns the operations by path and method, with sorted paths. */
export function* byPath(
  operations: readonly Operation[],
  render: (operation: Operation) => unknown,
): Steps<Record<string, Record<string, unknown>>> {
  const paths: Record<string, Record<string, unknown>> = {};
  const sorted = operations.toSorted((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  for (const [index, operation] of sorted.entries()) {
    if (index % RENDERED_PER_STEP === RENDERED_PER_STEP - 1) yield;
    const item = (paths[operation.path] ??= {});
    item[operation.method] = render(operation);
  }
  return paths;
}

export function kindOf({ action, gvk }: Operation): OpenApiSchema {
  return gvk === undefined
    ? {}
    : { 'x-kubernetes-action': action, 'x-kubernetes-group-version-kind': gvk };
}

export const schemaNameOf = (body: OpenApiType | 'patch'): string =>
  body === 'patch' ? PATCH_DEFINITION : body.name;

export interface V3Options {
  /** Absent: the document is that of custom kinds, which has upstream's own title and version. */
  readonly info?: DocumentInfo;
  /** See definitionsOf. */
  readonly groupVersions?: readonly GroupVersion[];
}

const CUSTOM_INFO: DocumentInfo = { title: 'Kubernetes CRD Swagger', version: 'v0.1.0' };
const SECURITY_SCHEMES = {
  BearerToken: {
    type: 'apiKey',
    description: 'A bearer token.',
    name: 'authorization',
    in: 'header',
  },
};

export function* documentV3(
  operations: readonly Operation[],
  { info, groupVersions }: V3Options,
): Steps<OpenApiSchema> {
  const schemas = yield* definitionsOf(operations, 3, groupVersions);
  const parameter = ({ name, in: place, type, description }: Parameter): unknown => ({
    name,
    in: place,
    description,
    schema: { type, uniqueItems: true },
    ...(place === 'path' && { required: true }),
  });
  const content = (type: OpenApiType | 'patch' | undefined, types: readonly string[]): unknown => {
    const schema =
      type === undefined
        ? { type: 'string' }
        : { $ref: `#/components/schemas/${schemaNameOf(type)}` };
    return Object.fromEntries(types.map((mediaType) => [mediaType, { schema }]));
  };
  return {
    openapi: '3.0.0',
    info: info ?? CUSTOM_INFO,
    paths: yield* byPath(operations, (operation) => ({
      tags: [operation.tag],
      description: operation.description,
      operationId: operation.operationId,
      ...(operation.parameters.length > 0 && { parameters: operation.parameters.map(parameter) }),
      ...(operation.body !== undefined && {
        requestBody: {
          content: content(operation.body, operation.consumes),
          ...(operation.method !== 'delete' && { required: true }),
        },
      }),
      responses: Object.fromEntries([
        ...operation.codes.map((code) => [
          String(code),
          {
            description: STATUS_TEXT[code],
            content: content(operation.answer, operation.produces),
          },
        ]),
        ['401', { description: STATUS_TEXT[401] }],
      ]),
      ...kindOf(operation),
    })),
    components: {
      ...(Object.keys(schemas).length > 0 && { schemas }),
      ...(info !== undefined && { securitySchemes: SECURITY_SCHEMES }),
    },
  };
}
