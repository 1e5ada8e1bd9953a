// OpenAPI v2 and v3 documents of what is served: one v2 document for all, one v3 document per group and version.

import type { MessageDescriptor } from '#api/machinery/descriptor.ts';
import { definitionsV2, type OpenApiSchema, PATCH_DEFINITION, schemasV3 } from '#api/machinery/openapi/index.ts';
import type { Operation, Parameter } from './operations.ts';

export interface DocumentInfo {
  readonly title: string;
  /** The version of the API: v1.36.3. */
  readonly version: string;
}

const STATUS_TEXT: Readonly<Record<number, string>> = { 200: 'OK', 201: 'Created', 202: 'Accepted', 401: 'Unauthorized' };

/** Everything that the operations send and answer. */
function messagesOf(operations: readonly Operation[]): MessageDescriptor[] {
  const messages = new Set<MessageDescriptor>();
  for (const { body, answer } of operations) {
    if (body !== undefined && body !== 'patch') messages.add(body);
    if (answer !== undefined) messages.add(answer);
  }
  return [...messages];
}

function groupVersionsOf(operations: readonly Operation[]): { group: string; version: string }[] {
  const keys = new Map<string, { group: string; version: string }>();
  for (const { gvk } of operations)
    if (gvk !== undefined) keys.set(`${gvk.group}/${gvk.version}`, { group: gvk.group, version: gvk.version });
  return [...keys.values()];
}

function byPath(
  operations: readonly Operation[],
  render: (operation: Operation) => unknown,
): Record<string, Record<string, unknown>> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of operations.toSorted((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0))) {
    const item = (paths[operation.path] ??= {});
    item[operation.method] = render(operation);
  }
  return paths;
}

function kindOf({ action, gvk }: Operation): OpenApiSchema {
  return gvk === undefined ? {} : { 'x-kubernetes-action': action, 'x-kubernetes-group-version-kind': gvk };
}

const schemaNameOf = (body: MessageDescriptor | 'patch'): string => (body === 'patch' ? PATCH_DEFINITION : body.name);

export function documentV2(operations: readonly Operation[], info: DocumentInfo): OpenApiSchema {
  const parameter = ({ name, in: place, type, description }: Parameter): unknown => ({
    uniqueItems: true,
    type,
    description,
    name,
    in: place,
    ...(place === 'path' && { required: true }),
  });
  const reference = (message: MessageDescriptor | 'patch'): unknown => ({ $ref: `#/definitions/${schemaNameOf(message)}` });
  const parametersOf = ({ parameters, body, method }: Operation): OpenApiSchema => {
    const list = parameters.map(parameter);
    if (body !== undefined) {
      list.push({ name: 'body', in: 'body', ...(method !== 'delete' && { required: true }), schema: reference(body) });
    }
    return list.length === 0 ? {} : { parameters: list };
  };
  return {
    swagger: '2.0',
    info,
    paths: byPath(operations, (operation) => ({
      description: operation.description,
      consumes: operation.consumes,
      produces: operation.produces,
      schemes: ['https'],
      tags: [operation.tag],
      operationId: operation.operationId,
      ...parametersOf(operation),
      responses: Object.fromEntries([
        ...operation.codes.map((code) => [
          String(code),
          {
            description: STATUS_TEXT[code],
            schema: operation.answer === undefined ? { type: 'string' } : reference(operation.answer),
          },
        ]),
        ['401', { description: STATUS_TEXT[401] }],
      ]),
      ...kindOf(operation),
    })),
    definitions: definitionsV2(messagesOf(operations), { groupVersions: groupVersionsOf(operations) }),
    securityDefinitions: { BearerToken: { description: 'A bearer token.', type: 'apiKey', name: 'authorization', in: 'header' } },
    security: [{ BearerToken: [] }],
  };
}

export function documentV3(operations: readonly Operation[], info: DocumentInfo): OpenApiSchema {
  const parameter = ({ name, in: place, type, description }: Parameter): unknown => ({
    name,
    in: place,
    description,
    schema: { type, uniqueItems: true },
    ...(place === 'path' && { required: true }),
  });
  const content = (message: MessageDescriptor | 'patch' | undefined, types: readonly string[]): unknown => {
    const schema = message === undefined ? { type: 'string' } : { $ref: `#/components/schemas/${schemaNameOf(message)}` };
    return Object.fromEntries(types.map((type) => [type, { schema }]));
  };
  return {
    openapi: '3.0.0',
    info,
    paths: byPath(operations, (operation) => ({
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
      schemas: schemasV3(messagesOf(operations), { groupVersions: groupVersionsOf(operations) }),
      securitySchemes: { BearerToken: { type: 'apiKey', description: 'A bearer token.', name: 'authorization', in: 'header' } },
    },
  };
}
