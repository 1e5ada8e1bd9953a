// Renders operations as path items of OpenAPI v2.

import type { OpenApiType } from '#api/machinery/codec/object-codec.ts';
import type { OpenApiSchema } from '#api/machinery/openapi/index.ts';
import type { Steps } from '#machinery/turn.ts';
import { byPath, kindOf, schemaNameOf, STATUS_TEXT } from '../documents.ts';
import type { Operation, Parameter } from '../operations.ts';

/** Returns the path items by path, with sorted paths. */
export function pathItemsOf(
  operations: readonly Operation[],
): Steps<Record<string, OpenApiSchema>> {
  return byPath(operations, renderOperation);
}

function renderOperation(operation: Operation): OpenApiSchema {
  const { answer } = operation;
  const responses = operation.codes.map((code) => [
    String(code),
    {
      description: STATUS_TEXT[code],
      schema: answer === undefined ? { type: 'string' } : reference(answer),
    },
  ]);
  return {
    description: operation.description,
    ...(operation.consumes.length > 0 && { consumes: operation.consumes }),
    produces: operation.produces,
    schemes: ['https'],
    tags: [operation.tag],
    operationId: operation.operationId,
    ...parametersOf(operation),
    responses: Object.fromEntries([
      ...responses,
      ['401', { description: STATUS_TEXT[401] }],
    ]) as unknown,
    ...kindOf(operation),
  };
}

function parametersOf({ parameters, body, method }: Operation): OpenApiSchema {
  const list: unknown[] = parameters.map(renderParameter);
  if (body !== undefined) {
    list.push({
      name: 'body',
      in: 'body',
      ...(method !== 'delete' && { required: true }),
      schema: reference(body),
    });
  }
  return list.length === 0 ? {} : { parameters: list };
}

function renderParameter({ name, in: place, type, description }: Parameter): unknown {
  return {
    uniqueItems: true,
    type,
    description,
    name,
    in: place,
    ...(place === 'path' && { required: true }),
  };
}

function reference(type: OpenApiType | 'patch'): unknown {
  return { $ref: `#/definitions/${schemaNameOf(type)}` };
}
