// The published definitions of the cases' kinds, in the form in which upstream's documents are
// recorded.

import type { MessageDescriptor } from '../../../descriptor.ts';
import type { OpenApiSchema } from '../../../openapi/index.ts';
import type { OpenApiDocument, OpenApiVersion } from '../openapi.ts';
import { StructuralCodec } from '../structural-codec.ts';
import { GROUP } from './answers.ts';
import { cases, type SchemaCase, wholeSchema } from './cases.ts';

/** The definitions of a kind and of its list. */
export interface PublishedAnswer {
  readonly v2: readonly unknown[];
  readonly v3: readonly unknown[];
}

/** The cases with distinct documents: all formats are published in the same way. */
export const publishedCases: readonly SchemaCase[] = cases.filter(
  ({ name, objects, updates }) => (objects ?? updates) !== undefined && !name.startsWith('format'),
);

/** Collects definitions. Definitions of messages are represented by their names. */
class TestDocument implements OpenApiDocument {
  readonly version: OpenApiVersion;
  readonly schemas = new Map<string, OpenApiSchema>();

  constructor(version: OpenApiVersion) {
    this.version = version;
  }

  add(name: string, make: () => OpenApiSchema): void {
    this.schemas.set(name, make());
  }

  addMessage(message: MessageDescriptor): string {
    return message.name;
  }

  reference(name: string): OpenApiSchema {
    return { $ref: `#/${this.version === 2 ? 'definitions' : 'components/schemas'}/${name}` };
  }
}

export function published(given: SchemaCase): PublishedAnswer {
  const names = {
    group: GROUP,
    version: 'v1',
    kind: 'Thing',
    listKind: 'ThingList',
    plural: 'things',
    selectableFields: [],
  };
  const codec = new StructuralCodec({ ...names, schema: wholeSchema(given) });
  const definitions = (version: OpenApiVersion): unknown[] => {
    const document = new TestDocument(version);
    codec.openApiList.define(document);
    return [codec.openApi, codec.openApiList].map(({ name }) =>
      withoutDescriptions(document.schemas.get(name)),
    );
  };
  return { v2: definitions(2), v3: definitions(3) };
}

/** Removes descriptions, which are our own for shared fields. */
export function withoutDescriptions(schema: unknown): unknown {
  const text = JSON.stringify(schema, (name, value: unknown) => {
    return name === 'description' && typeof value === 'string' ? undefined : value;
  });
  return JSON.parse(text) as unknown;
}
