// The two formats of an OpenAPI v2 document, JSON and protobuf. Each is written in pieces: the
// entries of its two large maps, one after the other, and the frame around them.

import type { OpenApiSchema } from '#api/machinery/openapi/index.ts';
import type { DocumentInfo } from '../documents.ts';
import { definitionEntry, type EntryLengths, pathEntry, protobufFrame } from './protobuf.ts';

/** The parts of a document besides paths and definitions. */
export interface DocumentFrame {
  readonly info: DocumentInfo;
  /** Parameters that several operations share. Absent: there are none. */
  readonly parameters?: OpenApiSchema;
}

export interface V2Format {
  /** Returns an encoded entry of the paths. `isFirst`: it is the first one of its map. */
  path(path: string, item: OpenApiSchema, isFirst: boolean): Uint8Array;
  definition(name: string, schema: OpenApiSchema, isFirst: boolean): Uint8Array;
  /**
   * Returns the bytes before the paths, between paths and definitions, and after the definitions.
   */
  frame(
    frame: DocumentFrame,
    lengths: EntryLengths,
  ): readonly [before: Uint8Array, between: Uint8Array, behind: Uint8Array];
}

const SWAGGER = '2.0';
const SECURITY_DEFINITIONS = {
  BearerToken: {
    description: 'A bearer token.',
    type: 'apiKey',
    name: 'authorization',
    in: 'header',
  },
};
const SECURITY = [{ BearerToken: [] }];

const text = (value: string): Uint8Array => Buffer.from(value, 'utf8');

const jsonEntry = (key: string, value: OpenApiSchema, isFirst: boolean): Uint8Array =>
  text(`${isFirst ? '' : ','}${JSON.stringify(key)}:${JSON.stringify(value)}`);

export const JSON_FORMAT: V2Format = {
  path: jsonEntry,
  definition: jsonEntry,
  frame: ({ info, parameters }) => {
    const rest = {
      ...(parameters !== undefined && { parameters }),
      securityDefinitions: SECURITY_DEFINITIONS,
      security: SECURITY,
    };
    return [
      text(`{"swagger":"${SWAGGER}","info":${JSON.stringify(info)},"paths":{`),
      text('},"definitions":{'),
      text(`},${JSON.stringify(rest).slice(1)}`),
    ];
  },
};

export const PROTOBUF_FORMAT: V2Format = {
  path: pathEntry,
  definition: definitionEntry,
  frame: ({ info, parameters }, lengths) =>
    protobufFrame(
      {
        swagger: SWAGGER,
        info,
        security: SECURITY,
        securityDefinitions: SECURITY_DEFINITIONS,
        ...(parameters !== undefined && { parameters }),
      },
      lengths,
    ),
};
