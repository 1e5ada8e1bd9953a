// In which form does the client want its answer? JSON, YAML or protobuf, and for objects and lists: as they are, as a Table, or as
// metadata only. https://kubernetes.io/docs/reference/using-api/api-concepts/#alternate-representations-of-resources

import type { ObjectCodec } from '#api/machinery/codec/object-codec.ts';
import { PROTOBUF_CONTENT_TYPE } from '#api/machinery/codec/protobuf/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { type AcceptClause, parseAccept, wantsPretty } from '#machinery/serving/accept.ts';
import type { ApiRequest, ResponseFormat } from '../request.ts';

export type Representation = 'object' | 'table' | 'partialMetadata';

export interface Negotiated {
  readonly format: ResponseFormat;
  readonly as: Representation;
  /** The form was asked for by the name of a list, or of one object, which the answer then has to be. */
  readonly named?: 'PartialObjectMetadata' | 'PartialObjectMetadataList';
  /** The version of meta.k8s.io that a Table or metadata is asked for in. Both have the same fields. Default: 'v1'. */
  readonly metaVersion?: MetaVersion;
}

export type MetaVersion = 'v1' | 'v1beta1';

const JSON_TYPE = 'application/json';
const YAML_TYPE = 'application/yaml';
/** The media types of responses. The first is the default. */
const SERVED = [JSON_TYPE, YAML_TYPE, PROTOBUF_CONTENT_TYPE] as const;
/** The additional media types of collections, for watches. */
const SERVED_OF_COLLECTIONS = [
  ...SERVED,
  `${JSON_TYPE};stream=watch`,
  `${PROTOBUF_CONTENT_TYPE};stream=watch`,
];
/** What is served of watches, as it is told to those who accept none of it: an event in YAML would have no end. */
const SERVED_STREAMS = [`${JSON_TYPE};stream=watch`, `${PROTOBUF_CONTENT_TYPE};stream=watch`];

const PLAIN: Negotiated = { format: { mediaType: JSON_TYPE }, as: 'object' };
const PRETTY: Negotiated = { format: { mediaType: JSON_TYPE, pretty: true }, as: 'object' };

export interface NegotiationOptions {
  /** Whether the answer can be a Table or metadata only. */
  readonly transforms: boolean;
  /** Whether it can be a Table. Default: as `transforms`. What can only be created (reviews, bindings, evictions) has no columns. */
  readonly tables?: boolean;
  /** A watch has no pretty form, and none in YAML. */
  readonly watch?: boolean;
  /** The path is that of a collection. */
  readonly collection?: boolean;
  /**
   * Of the objects of the response. A kind without protobuf has no whole objects in that form; metadata alone and errors have it.
   * Default: the response has objects of common kinds only.
   */
  readonly codec?: Pick<ObjectCodec, 'protobuf' | 'isUntyped'>;
}

/** Throws StatusError (406). */
export function negotiate(
  request: Pick<ApiRequest, 'headers' | 'query'>,
  options: NegotiationOptions,
): Negotiated {
  const accept = request.headers['accept'];
  const pretty = options.watch !== true && wantsPretty(request);
  if (accept === undefined || accept === '' || accept === JSON_TYPE || accept === '*/*')
    return pretty ? PRETTY : PLAIN;
  const clauses = parseAccept(accept);
  const { codec } = options;
  // Upstream has no routes of their own for kinds without protobuf, all of which are custom resources: they have the later error only.
  const hasRoute = codec === undefined || codec.protobuf !== undefined;
  if (
    hasRoute &&
    !clauses.some(({ type }) => SERVED.some((mediaType) => covers(type, mediaType)))
  ) {
    throw apierrors.noRepresentation(options.collection === true ? SERVED_OF_COLLECTIONS : SERVED);
  }
  for (const clause of clauses) {
    for (const mediaType of SERVED) {
      if (!covers(clause.type, mediaType)) continue;
      const as = representationOf(clause, mediaType, options);
      if (as === undefined) continue;
      // Who would rather have YAML is not asked for what comes next.
      if (options.watch === true && mediaType === YAML_TYPE)
        throw apierrors.notAcceptable(SERVED_STREAMS);
      const named = clause.parameters.get('as');
      const oldMeta = as !== 'object' && clause.parameters.get('v') === 'v1beta1';
      return {
        format: {
          mediaType,
          pretty: pretty || clause.parameters.get('pretty') === '1',
          ...(mediaType === PROTOBUF_CONTENT_TYPE &&
            codec?.protobuf !== undefined && { protobuf: codec.protobuf }),
        },
        as,
        ...(oldMeta && { metaVersion: 'v1beta1' as const }),
        ...(as === 'partialMetadata' && {
          named: named as 'PartialObjectMetadata' | 'PartialObjectMetadataList',
        }),
      };
    }
  }
  throw apierrors.notAcceptable(
    options.watch === true && codec?.isUntyped !== true ? SERVED_STREAMS : SERVED,
  );
}

/** Returns the form of an error: the requested one if a Status has it, otherwise JSON. */
export function negotiateStatus(request: Pick<ApiRequest, 'headers' | 'query'>): ResponseFormat {
  try {
    return negotiate(request, { transforms: false }).format;
  } catch (error) {
    // What went wrong is more important than that it cannot be told as asked.
    // As upstream, it is indented JSON then.
    if (error instanceof apierrors.StatusError) return PRETTY.format;
    throw error;
  }
}

/** Whether a document that has one media type only may be sent. */
export function acceptsType({ headers }: Pick<ApiRequest, 'headers'>, mediaType: string): boolean {
  const accept = headers['accept'] ?? '';
  return accept === '' || parseAccept(accept).some(({ type }) => covers(type, mediaType));
}

function covers(type: string, mediaType: string): boolean {
  return type === mediaType || type === '*/*' || type === '*' || type === 'application/*';
}

/** Undefined: not to be had. */
function representationOf(
  { parameters }: AcceptClause,
  mediaType: ResponseFormat['mediaType'],
  { transforms, tables = transforms, codec }: NegotiationOptions,
): Representation | undefined {
  const stream = parameters.get('stream') ?? '';
  if (stream !== '' && (stream !== 'watch' || mediaType === YAML_TYPE)) return undefined;
  const as = parameters.get('as');
  if (as === undefined && !parameters.has('g') && !parameters.has('v')) {
    return mediaType === PROTOBUF_CONTENT_TYPE &&
      codec !== undefined &&
      codec.protobuf === undefined
      ? undefined
      : 'object';
  }
  if (!transforms || parameters.get('g') !== 'meta.k8s.io') return undefined;
  const version = parameters.get('v');
  if (version !== 'v1' && version !== 'v1beta1') return undefined;
  // Its cells are of any type, which protobuf has no form for.
  if (as === 'Table') return !tables || mediaType === PROTOBUF_CONTENT_TYPE ? undefined : 'table';
  if (as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList')
    return 'partialMetadata';
  return undefined;
}
